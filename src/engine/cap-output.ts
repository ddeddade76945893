import type { ToolResultContent } from "../contract/messages.ts";
import type { EngineDeps } from "./deps.ts";

const encoder = new TextEncoder();

/**
 * Keeps a tool's text within the cap (T-7): beginning and end stay, the whole goes to a file of the workspace that Read
 * can open, and the text says where. Without a lasting workspace the rest is dropped, and the text says that.
 */
export async function capOutput(
  content: ToolResultContent,
  callId: string,
  deps: EngineDeps,
): Promise<ToolResultContent> {
  if (typeof content !== "string") {
    const parts = await Promise.all(
      content.map(async (part, i) =>
        part.type === "text" ? { ...part, text: await capText(part.text, `${callId}-${i}`, deps) } : part,
      ),
    );
    return parts;
  }
  return capText(content, callId, deps);
}

async function capText(text: string, name: string, deps: EngineDeps): Promise<string> {
  const max = deps.limits.toolOutputMaxBytes;
  // A UTF-16 unit is at most three bytes: most texts need no encoding to be told short enough.
  if (text.length * 3 <= max) return text;
  const bytes = encoder.encode(text);
  if (bytes.length <= max) return text;
  const note = await keepWhole(bytes, name, deps);
  const room = max - encoder.encode(note).length - 2;
  const head = cut(bytes, 0, Math.floor(room * 0.75));
  const tail = cut(bytes, bytes.length - Math.floor(room * 0.25), bytes.length);
  return `${head}\n${note}\n${tail}`;
}

async function keepWhole(bytes: Uint8Array, name: string, deps: EngineDeps): Promise<string> {
  const size = `${bytes.length} bytes in all`;
  if (!deps.spill) return `[… output cut here: ${size}; the rest is not kept …]`;
  const path = `${deps.sandbox.root}/.flyto/tool-output/${name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 120)}.txt`;
  const written = await deps.sandbox.files.writeFile(path, bytes);
  if (!written.ok) return `[… output cut here: ${size}; the rest could not be kept: ${written.error.message} …]`;
  return `[… output cut here: ${size}; the whole is in ${path}, read it with Read and an offset …]`;
}

/** Decodes a slice, leaving out a character that is cut in two at either end. */
function cut(bytes: Uint8Array, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && start > 0 && isContinuation(bytes[start])) start++;
  while (end > start && end < bytes.length && isContinuation(bytes[end])) end--;
  return new TextDecoder().decode(bytes.subarray(start, end));
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
