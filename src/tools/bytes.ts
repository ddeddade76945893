/** SHA-256 in hex: how the session names a content it has seen. */
export async function sha256Hex(bytes: Uint8Array): Promise<string> {
  // Copied into a plain ArrayBuffer view: the platform's digest takes no shared memory.
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(bytes));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Base64 in slices, because spreading a whole image into arguments overflows the stack. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(binary);
}

/** A NUL byte near the start marks what is no text (the rule of git and grep). */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 8_000).includes(0);
}

/** UTF-8 with its byte order mark kept, so that writing it back changes nothing; undefined when it is no UTF-8. */
export function decodeExactly(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** UTF-8 for reading: the byte order mark is dropped, a bad byte becomes U+FFFD. */
export function decodeLeniently(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** The kind of an image by its first bytes; a file's name proves nothing. */
export function imageType(bytes: Uint8Array): ImageType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (head.startsWith("GIF87a") || head.startsWith("GIF89a")) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8) === "WEBP") return "image/webp";
  return undefined;
}
