import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { ImageBlock, type TextBlock } from "../contract/messages.ts";
import type { ToolOutcome } from "../contract/tools.ts";

/** Base64 characters of one picture (about 5 MB, what providers take), and pictures of one result. */
const MAX_IMAGE = 7_000_000;
const MAX_IMAGES = 20;

/** A server's result as the model reads it: text and pictures as they are, everything else by name. */
export function present(result: CallToolResult): ToolOutcome {
  const parts = partsOf(result.content);
  const structured = result.structuredContent;
  const hasText = result.content.some((block) => block.type === "text");
  if (structured !== undefined && !hasText) parts.unshift({ type: "text", text: JSON.stringify(structured) });
  const isError = result.isError === true;
  if (parts.length === 0)
    return { content: isError ? "error: the tool failed without a word" : "(no output)", isError };
  if (!parts.every((part) => part.type === "text")) return { content: parts, isError };
  return { content: parts.map((part) => (part.type === "text" ? part.text : "")).join("\n"), isError };
}

type Part = TextBlock | ImageBlock;

function partsOf(blocks: readonly ContentBlock[]): Part[] {
  let images = 0;
  return blocks.map((block): Part => {
    if (block.type !== "image") return { type: "text", text: textOf(block) };
    const image = ImageBlock.safeParse({ type: "image", media_type: block.mimeType, data: block.data });
    const usable = image.success && block.data.length <= MAX_IMAGE && ++images <= MAX_IMAGES;
    return usable ? image.data : named(`image ${block.mimeType}`, block.data);
  });
}

function textOf(block: Exclude<ContentBlock, { type: "image" }>): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "audio":
      return named(`audio ${block.mimeType}`, block.data).text;
    case "resource_link":
      return `[resource ${block.name}: ${block.uri}]`;
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return `[resource ${resource.uri}]\n${resource.text}`;
      return named(`resource ${resource.uri} ${resource.mimeType ?? ""}`.trimEnd(), resource.blob).text;
    }
    default:
      return block satisfies never;
  }
}

function named(what: string, base64: string): TextBlock {
  return { type: "text", text: `[${what}, ${Math.floor((base64.length * 3) / 4)} bytes, not shown]` };
}
