/** Longest vendor text shown. */
const MAX = 500;

/** A vendor's text made safe: no secrets, no markup, one line, bounded. */
export function scrub(text: string, secrets: readonly string[]): string {
  let out = text;
  for (const secret of secrets) if (secret.length >= 4) out = out.replaceAll(secret, "[key]");
  out = out
    .replace(/\b(?:sk|pk|key|AIza|gsk|xai)[-_][A-Za-z0-9*_-]{8,}/g, "[key]")
    .replace(/\bAIza[A-Za-z0-9_-]{20,}/g, "[key]")
    .replace(/Bearer\s+[A-Za-z0-9._~+/=-]{8,}/gi, "Bearer [key]");
  if (/<(?:!doctype|html|head|body|script|title|center|h1|\?xml)\b/i.test(out))
    out = webPageTitle(out, "text/html") || "a web page";
  out = out.replace(/\s+/g, " ").trim();
  return out.length > MAX ? `${out.slice(0, MAX)}…` : out;
}

/** The title of a web page ("" when it has none); undefined when the body is no web page or other markup. */
export function webPageTitle(body: string, contentType: string | null): string | undefined {
  const page = contentType?.includes("text/html") || /^\s*<[!?a-z]/i.test(body);
  if (!page) return undefined;
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1] ?? "";
  return title.replace(/\s+/g, " ").trim().slice(0, 120);
}
