import { toBase64 } from "../../shared/base64.ts";
import { toHex } from "../../shared/digest.ts";

const encoder = new TextEncoder();

/** Shorter pieces appear in text by chance. */
const MIN_PIECE = 8;
/** Bytes. Longer values are keys, which nobody prints letter by letter. */
const MAX_SPELLED_OUT = 128;

export type Form = {
  readonly name: string;
  readonly text: string;
  /** Programs print this form in lines of a fixed width. */
  readonly wraps: boolean;
};

/** A value in every form in which it usually leaves a program (S-5). */
export function formsOf(name: string, value: string): Form[] {
  const texts = new Set<string>([value]);
  const bytes = encoder.encode(value);
  const hex = toHex(bytes);
  const wrapping = new Set([hex, hex.toUpperCase(), ...base64Forms(bytes)]);
  for (const text of [
    ...jsonForms(value),
    ...urlForms(value),
    ...markupForms(value),
    ...codeForms(value, bytes),
    ...(bytes.length <= MAX_SPELLED_OUT ? spelledOut(value, bytes) : []),
    ...wrapping,
  ]) {
    texts.add(text);
  }
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

/** JSON strings as writers differ in them: slashes, markup and letters beyond ASCII escaped or not, and once more inside. */
function jsonForms(value: string): string[] {
  const json = jsonBody(value);
  const ascii = escapeUnits(json, /[\u007f-\uffff]/g);
  const markup = escapeUnits(json, /[<>&]/g);
  const plain = [json, ascii, markup, escapeUnits(markup, /['\u007f-\uffff]/g), json.replaceAll("/", "\\/")];
  const once = [...plain, ...plain.map(upperUnits)];
  const twice = [json, ascii, upperUnits(ascii)].map(jsonBody);
  return [...once, ...twice, ...twice.map(jsonBody)];
}

/** Form and path encodings, in capitals and small letters, and an encoding of the encoding. */
function urlForms(value: string): string[] {
  const url = encodeURIComponent(value);
  const strict = url.replace(/[!'()*]/g, (char) => percent(char));
  const once = [url, strict].flatMap((text) => [text, text.replaceAll("%20", "+"), text.replaceAll("%2F", "/")]);
  const both = [...once, ...once.map(lowerPercents)];
  return [...both, ...[strict, lowerPercents(strict)].map((text) => text.replaceAll("%", "%25"))];
}

/** HTML and XML, whose writers differ in the quotes. */
function markupForms(value: string): string[] {
  const text = value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const quoted = (double: string, single: string) => text.replaceAll('"', double).replaceAll("'", single);
  return [
    text,
    quoted("&quot;", "'"),
    quoted("&quot;", "&#39;"),
    quoted("&quot;", "&#x27;"),
    quoted("&quot;", "&apos;"),
    quoted("&#34;", "&#39;"),
  ];
}

/** Text inside quotes of a shell, and bytes as Python prints them. */
function codeForms(value: string, bytes: Uint8Array): string[] {
  const printed = Array.from(bytes, (byte) => {
    const known = PYTHON[byte];
    if (known !== undefined) return known;
    return byte < 32 || byte > 126 ? `\\x${byte.toString(16).padStart(2, "0")}` : String.fromCharCode(byte);
  }).join("");
  return [value.replaceAll("'", "'\\''"), value.replace(/["\\$`]/g, "\\$&"), printed, printed.replaceAll("'", "\\'")];
}

const PYTHON: Readonly<Record<number, string>> = { 9: "\\t", 10: "\\n", 13: "\\r", 92: "\\\\" };

/** Every letter escaped, which makes a value several times as long. */
function spelledOut(value: string, bytes: Uint8Array): string[] {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
  const percents = `%${hex.join("%")}`;
  return [
    escapeUnits(value, /[\s\S]/g),
    percents,
    percents.toUpperCase(),
    `\\x${hex.join("\\x")}`,
    hex.join(":"),
    hex.join(" "),
    toBase64(encoder.encode(toBase64(bytes))),
  ];
}

function jsonBody(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
}

function lowerPercents(text: string): string {
  return text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

function escapeUnits(text: string, units: RegExp): string {
  return text.replace(units, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function upperUnits(text: string): string {
  return text.replace(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`);
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
