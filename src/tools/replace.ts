import { err, ok, type Result } from "../contract/result.ts";

export type Replacement = { readonly content: string; readonly count: number; readonly at: number };

/**
 * Replaces a text that must stand exactly once, or everywhere with `all`. The new text is taken literally. A file whose
 * lines end in CRLF keeps them: the model sees and writes lines that end in LF.
 */
export function replaceText(content: string, before: string, after: string, all: boolean): Result<Replacement, string> {
  const [find, put] = inFileEndings(content, before, after);
  const at = content.indexOf(find);
  if (at < 0) return err("old_string was not found; it must match the file exactly, with its white space");
  if (all) {
    const pieces = content.split(find);
    return ok({ content: pieces.join(put), count: pieces.length - 1, at });
  }
  // From the next character on, so that overlapping places count: "aa" is not unique in "aaa".
  if (content.indexOf(find, at + 1) >= 0) {
    const places = content.split(find).length - 1;
    const where = places > 1 ? `${places} times` : "more than once, overlapping";
    return err(`old_string stands ${where} in the file; add lines around it to make it unique, or set replace_all`);
  }
  return ok({ content: content.slice(0, at) + put + content.slice(at + find.length), count: 1, at });
}

function inFileEndings(content: string, before: string, after: string): readonly [string, string] {
  const allCrlf = content.includes("\r\n") && !/(^|[^\r])\n/.test(content);
  const converted = [toCrlf(before), toCrlf(after)] as const;
  if (allCrlf) return converted;
  // Mixed endings: as given first, then as the CRLF part of the file has it.
  return content.includes(before) || !content.includes(converted[0]) ? [before, after] : converted;
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}
