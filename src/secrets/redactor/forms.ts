import { toBase64 } from "../../shared/base64.ts";
import { toHex } from "../../shared/digest.ts";

const encoder = new TextEncoder();

/** Shorter pieces appear in text by chance. */
const MIN_PIECE = 8;

export type Form = {
  readonly name: string;
  readonly text: string;
  /** Programs print this form in lines of a fixed width. */
  readonly wraps: boolean;
};

/** A value in every form in which it usually leaves a program (S-5). */
export function formsOf(name: string, value: string): Form[] {
  const texts = new Set<string>([value]);
  const json = jsonBody(value);
  const url = encodeURIComponent(value);
  const strict = url.replace(/[!'()*]/g, (char) => percent(char));
  const bytes = encoder.encode(value);
  const hex = toHex(bytes);
  const wrapping = new Set([hex, hex.toUpperCase(), ...base64Forms(bytes)]);
  for (const text of [
    json,
    json.replaceAll("/", "\\/"),
    jsonBody(json),
    escapeNonAscii(json),
    escapeNonAscii(json).replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
    url,
    strict,
    url.replaceAll("%20", "+"),
    strict.replaceAll("%20", "+"),
    value.replace(/[&<>"']/g, (char) => HTML[char] ?? char),
    ...wrapping,
  ]) {
    texts.add(text);
  }
  for (const text of [url, strict]) texts.add(text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
  // Tools number or indent the lines of a value, so each line counts for itself.
  if (value.includes("\n")) {
    for (const line of value.split(/\r?\n/)) {
      const bare = line.trim();
      if (encoder.encode(bare).length >= MIN_PIECE && !/^-----(BEGIN|END) /.test(bare)) texts.add(bare);
    }
  }
  return [...texts]
    .filter((text) => text.length >= MIN_PIECE || text === value)
    .map((text) => ({ name, text, wraps: wrapping.has(text) }));
}

const HTML: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function jsonBody(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
}

function escapeNonAscii(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * The letters of base64 that depend on the value alone, for each of the three places a value can start at, and the whole
 * encoding with and without padding. In both alphabets.
 */
function base64Forms(bytes: Uint8Array): string[] {
  const forms = [toBase64(bytes), toBase64(bytes).replace(/=+$/, "")];
  for (const shift of [0, 1, 2]) {
    const shifted = new Uint8Array(shift + bytes.length);
    shifted.set(bytes, shift);
    const text = toBase64(shifted).replace(/=+$/, "");
    const from = Math.ceil((shift * 8) / 6);
    const to = Math.floor((shifted.length * 8) / 6);
    forms.push(text.slice(from, to));
  }
  return forms.flatMap((text) => [text, text.replaceAll("+", "-").replaceAll("/", "_")]);
}
