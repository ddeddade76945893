const encoder = new TextEncoder();

/** Bytes as lower-case hex. */
export function toHex(bytes: Iterable<number>): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** SHA-256 of a text (as UTF-8) or of bytes, in hex. */
export async function sha256Hex(content: string | Uint8Array): Promise<string> {
  // Bytes are copied into a plain ArrayBuffer view: the platform's digest takes no shared memory.
  const bytes = typeof content === "string" ? encoder.encode(content) : new Uint8Array(content);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
