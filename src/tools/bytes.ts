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
