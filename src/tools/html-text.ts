const DROPPED = new Set(["script", "style", "noscript", "template", "svg", "iframe", "head"]);
const BLOCKS = new Set(
  "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split(
    " ",
  ),
);
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  times: "×",
  euro: "€",
};

/**
 * Reduces a page to readable text: headings, list items and links keep a mark, scripts and styles go. One pass with
 * indexOf, so a hostile page costs no more than its length.
 */
export function htmlToText(html: string): string {
  // ASCII only: other letters may change their length, and places must agree.
  const lower = html.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  const out: string[] = [];
  const links: string[] = [];
  const title = titleOf(html, lower);
  if (title !== "") out.push(`# ${title}\n\n`);
  let pre = 0;
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    const words = html.slice(at, open < 0 ? html.length : open);
    if (words !== "") out.push(pre > 0 ? decodeEntities(words) : decodeEntities(words).replace(/[\s\u00a0]+/g, " "));
    if (open < 0) break;
    if (html.startsWith("<!--", open)) {
      at = after(html, "-->", open + 4);
      continue;
    }
    if (!/[a-z/!?]/.test(lower.charAt(open + 1))) {
      out.push("<");
      at = open + 1;
      continue;
    }
    const end = after(html, ">", open);
    const tag = html.slice(open, end);
    const name = /^<\/?([a-z][a-z0-9]*)/.exec(lower.slice(open, open + 30))?.[1] ?? "";
    const closing = tag.startsWith("</");
    at = end;
    if (!closing && DROPPED.has(name)) {
      if (!tag.endsWith("/>")) at = after(html, ">", indexOrEnd(lower, `</${name}`, end));
      continue;
    }
    if (name === "pre") pre = Math.max(0, pre + (closing ? -1 : 1));
    if (name === "a") out.push(closing ? closeLink(links) : openLink(tag, links));
    if (BLOCKS.has(name)) out.push(blockMark(name, closing));
    if (name === "td" || name === "th") out.push(closing ? " | " : "");
  }
  return tidy(out.join(""));
}

function blockMark(name: string, closing: boolean): string {
  if (closing) return name === "li" || name === "tr" ? "\n" : "\n\n";
  if (name === "li") return "\n- ";
  if (name === "br" || name === "tr" || name === "dd") return "\n";
  if (/^h[1-6]$/.test(name)) return `\n\n${"#".repeat(Number(name.charAt(1)))} `;
  return "\n\n";
}

function openLink(tag: string, links: string[]): string {
  const head = tag.slice(0, 4_000);
  const match = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))/i.exec(head);
  const href = decodeEntities(match?.[1] ?? match?.[2] ?? match?.[3] ?? "").trim();
  const shown = /^(https?:|\/|[\w.-]+\/|[\w-]+\.html?)/i.test(href) ? href : "";
  links.push(shown);
  return shown === "" ? "" : "[";
}

function closeLink(links: string[]): string {
  const href = links.pop() ?? "";
  return href === "" ? "" : `](${href})`;
}

function titleOf(html: string, lower: string): string {
  const open = lower.indexOf("<title");
  if (open < 0) return "";
  const start = after(html, ">", open);
  const words = html.slice(start, indexOrEnd(lower, "</title", start)).slice(0, 500);
  return decodeEntities(words).replace(/\s+/g, " ").trim();
}

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, body: string) => {
    if (!body.startsWith("#")) return ENTITIES[body] ?? ENTITIES[body.toLowerCase()] ?? whole;
    const code = /^#x/i.test(body) ? Number.parseInt(body.slice(2), 16) : Number(body.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

function tidy(text: string): string {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const kept: string[] = [];
  for (const line of lines) if (line !== "" || (kept.at(-1) ?? "") !== "") kept.push(line);
  return kept.join("\n").trim();
}

/** The place behind the next occurrence; the end when there is none. */
function after(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from);
  return at < 0 ? text.length : at + what.length;
}

function indexOrEnd(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from);
  return at < 0 ? text.length : at;
}
