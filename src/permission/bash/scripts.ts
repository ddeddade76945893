/** Little languages inside arguments: text that is known to read only. Everything else is refused, not understood. */

/** sed: printing, deleting, substituting, jumps and hold space; no `w`, `r`, `e`, no files. */
export function isReadonlySed(script: string): boolean {
  let rest = script;
  const eat = (pattern: RegExp): boolean => {
    const match = pattern.exec(rest);
    if (match === null) return false;
    rest = rest.slice(match[0].length);
    return true;
  };
  let steps = 0;
  while (rest !== "" && steps < 500) {
    steps += 1;
    if (eat(/^[\s;]+/) || eat(/^\}/) || eat(/^#[^\n]*(\n|$)/)) continue;
    if (eatAddress(eat) && eat(/^\s*,\s*/) && !eat(/^[+~]\d+/) && !eatAddress(eat)) return false;
    eat(/^[\s!]*/);
    if (eat(/^\{/)) continue;
    if (eat(/^[sy]/)) {
      const delimiter = rest.charAt(0);
      if (!/^[^\w\s\\;]$/.test(delimiter)) return false;
      const parts = splitDelimited(rest.slice(1), delimiter);
      if (parts === undefined || hasOpenBracket(parts.pattern)) return false;
      rest = parts.rest;
      eat(/^[gpiImM0-9]*/);
    } else if (!eat(/^:[ \t]*\w+/) && !eat(/^[btT]([ \t]*\w+)?/) && !eat(/^[pdPDnNgGhHxlFz=]/) && !eat(/^[qQ]\d*/))
      return false;
    if (!/^\s*($|[;}\n#])/.test(rest)) return false;
  }
  return rest === "" && script.trim() !== "";
}

function eatAddress(eat: (pattern: RegExp) => boolean): boolean {
  return eat(/^(\d+(~\d+)?|\$)/) || eat(/^\/(?:[^/\\\n[]|\\[^\n]|\[[^\]/\\\n]+\])+\/[IM]*/);
}

/** The pattern and what follows the replacement of `/pattern/replacement/rest`. */
function splitDelimited(text: string, delimiter: string): { pattern: string; rest: string } | undefined {
  const cuts: number[] = [];
  for (let index = 0; index < text.length && cuts.length < 2; index += 1) {
    if (text[index] === "\\") index += 1;
    else if (text[index] === delimiter) cuts.push(index);
  }
  const [first, second] = cuts;
  if (first === undefined || second === undefined) return undefined;
  return { pattern: text.slice(0, first), rest: text.slice(second + 1) };
}

/** Dialects differ on a delimiter inside brackets: such a pattern is not understood. */
function hasOpenBracket(pattern: string): boolean {
  const rest = pattern.replace(/\\./g, "").replace(/\[\^?\]?[^\]]*\]/g, "");
  return rest.includes("[");
}

/** awk: no commands, no pipes, no files but the operands, no environment. */
export function isReadonlyAwk(script: string): boolean {
  // A slash may start a regular expression with a quote in it; strings are only taken away where none can.
  const code = script.includes("/") ? script : script.replace(/"(?:[^"\\\n]|\\.)*"/g, '""');
  if (/system|getline|close|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|@|\\\n|\/inet/.test(code)) return false;
  if (/(^|[^|])\|([^|]|$)/.test(code)) return false;
  // `>` after a print is a file; where a statement ends is not worked out.
  const print = code.search(/\bprintf?\b/);
  // Within parentheses it compares, which can be told where no regular expression hides one.
  const outer = script.includes("/") ? code : code.replace(/\bprintf?\s*\([^()]*\)\s*([;}\n]|$)/g, "$1");
  return print < 0 || !outer.includes(">", print);
}

/** jq: no environment, no modules. */
export function isReadonlyJq(script: string): boolean {
  return !/(?<!\D\.)(?<!^\.)\benv\b|\$ENV|\binput_filename\b|\bimport\b|\binclude\b|\$__prog|\bget_search_list\b/.test(
    script,
  );
}

/** Code for an interpreter that opens a connection and hands it to a shell. */
export function isReverseShellCode(code: string): boolean {
  return (
    /\/dev\/(tcp|udp)\/|\/inet\/(tcp|udp)\//.test(code) ||
    (/socket|TCPSocket|fsockopen|net\.connect|createConnection/i.test(code) &&
      /dup2|subprocess|exec|spawn|system|popen|\/bin\/(ba|z|da|k)?sh|pty/i.test(code))
  );
}

/** Code for an interpreter that runs what it fetched or decoded. */
export function isLoaderCode(code: string): boolean {
  return (
    /\b(exec|eval|Function|system|popen|run|call|spawn|execSync|compile)\b\s*\(/.test(code) &&
    /b64decode|base64|fromCharCode|unhexlify|fromhex|urlopen|urlretrieve|requests\.|https?:\/\/|\bfetch\(|codecs\.decode|atob|marshal|zlib/.test(
      code,
    )
  );
}
