import type { z } from "zod";
import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import { describeIssue } from "./issues.ts";

/** Storage clones values structurally, which overflows the stack on deep ones; no request needs more. */
const MAX_DEPTH = 64;

/** How long a refusal waits for the rest of a body. */
const LINGER_MS = 2_000;

type BodyReader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Takes what is left of a refused body and throws it away: who is still sending when the connection closes sees a broken
 * pipe instead of the answer. Bounded in bytes and time, since the sender may never stop.
 */
async function linger(reader: BodyReader | undefined, maxBytes: number): Promise<void> {
  if (!reader) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), LINGER_MS);
  });
  try {
    for (let left = maxBytes; left > 0; ) {
      const part = await Promise.race([reader.read(), late]);
      if (part === "late" || part.done) break;
      left -= part.value.byteLength;
    }
  } catch {
    // The sender went away; nobody waits for the answer.
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

/** The request's bytes, counted as they come: a length header is a hint that may be missing or wrong (H-9). */
export async function readBytes(request: Request, max: number): Promise<Answer<Uint8Array>> {
  const encoding = request.headers.get("content-encoding");
  if (encoding !== null && encoding.trim().toLowerCase() !== "identity") {
    return refuse("invalid_request_error", "Content-Encoding is not supported: send the body as it is");
  }
  const tooLarge = refuse("invalid_request_error", `request body must be at most ${max} bytes`);
  const reader: BodyReader | undefined = request.body?.getReader();
  if (Number(request.headers.get("content-length") ?? 0) > max) {
    await linger(reader, 2 * max);
    return tooLarge;
  }
  if (!reader) return ok(new Uint8Array());
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return ok(join(parts, size));
    size += value.byteLength;
    if (size > max) {
      await linger(reader, max);
      return tooLarge;
    }
    parts.push(value);
  }
}

function join(parts: readonly Uint8Array[], size: number): Uint8Array {
  const only = parts[0];
  if (parts.length === 1 && only) return only;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** `application/json` in any case and with any parameters; a cross-site form cannot send it without asking first. */
function isJson(request: Request): boolean {
  const type = request.headers.get("content-type") ?? "";
  return type.split(";", 1)[0]?.trim().toLowerCase() === "application/json";
}

function tooDeep(root: unknown): boolean {
  // Level by level, not recursive: the value may be nested a million times.
  let level: object[] = typeof root === "object" && root !== null ? [root] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    const next: object[] = [];
    for (const value of level) {
      for (const child of Array.isArray(value) ? value : Object.values(value)) {
        if (typeof child === "object" && child !== null) next.push(child);
      }
    }
    level = next;
  }
  return false;
}

function parse(bytes: Uint8Array): Answer<unknown> {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return refuse("invalid_request_error", "request body is not valid UTF-8");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold a secret.
    return refuse("invalid_request_error", "request body is not valid JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse("invalid_request_error", "request body must be a JSON object");
  }
  if (tooDeep(value)) {
    return refuse("invalid_request_error", `request body is nested deeper than ${MAX_DEPTH} levels`);
  }
  return ok(value);
}

/**
 * Reads, bounds, decodes and validates a JSON body (H-9). With `emptyIsFine` no bytes mean `{}`, whatever the type header
 * says. Unknown fields are dropped by the schema, `__proto__` among them.
 */
export async function readJson<S extends z.ZodType>(
  request: Request,
  schema: S,
  options: { readonly max: number; readonly emptyIsFine?: boolean },
): Promise<Answer<z.infer<S>>> {
  const wrongType = refuse("invalid_request_error", "Content-Type must be application/json");
  if (options.emptyIsFine !== true && !isJson(request)) return wrongType;
  const bytes = await readBytes(request, options.max);
  if (!bytes.ok) return bytes;
  const empty = bytes.value.byteLength === 0 && options.emptyIsFine === true;
  if (!empty && !isJson(request)) return wrongType;
  const value = empty ? ok({}) : parse(bytes.value);
  if (!value.ok) return value;
  const parsed = schema.safeParse(value.value);
  return parsed.success ? ok(parsed.data) : refuse("invalid_request_error", describeIssue(parsed.error));
}
