import { addressOf, bareName, isLoopbackHost, judgeAddress, judgeName } from "./address.ts";

/** Answers a host name with its addresses. An empty list or a throw counts as a refusal. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export type UrlVerdict = {
  readonly verdict: "allow" | "ask" | "block" | "invalid";
  /** What the WHATWG parser made of the host; null when the text is no URL. */
  readonly host: string | null;
  /** For the model and the user. */
  readonly reason: string;
};

export type UrlOptions = {
  /** Domains that pass without a question; a name covers its subdomains. Undefined: every public host passes. */
  readonly allowDomains?: readonly string[] | undefined;
  readonly resolve?: Resolve | undefined;
  /** For tests against a server of their own. */
  readonly allowLoopback?: boolean | undefined;
};

/** Longer addresses carry data out rather than name a page. */
const MAX_URL_LENGTH = 8192;
/** As many as browsers and `fetch` follow at the least; more is a loop or a maze. */
export const MAX_HOPS = 10;

/** Ports of other protocols, "bad ports" of the Fetch standard. */
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/**
 * Judges one address. Only `hostname` of the parsed URL is looked at, never the text: the parser has already turned
 * numbers, escapes and look-alike digits into the address a connection would use. spec: S-1
 */
export async function checkUrl(url: string, options: UrlOptions = {}): Promise<UrlVerdict> {
  if (url.length > MAX_URL_LENGTH) return { verdict: "invalid", host: null, reason: "the address is too long" };
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) return { verdict: "invalid", host: null, reason: "not a valid URL" };
  const host = parsed.hostname;
  const block = (reason: string): UrlVerdict => ({ verdict: "block", host, reason });

  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") return block("only http and https are allowed");
  if (parsed.username !== "" || parsed.password !== "") return block("credentials in the address");
  if (options.allowLoopback === true && isLoopbackHost(host)) return { verdict: "allow", host, reason: "loopback" };
  if (parsed.port !== "" && BAD_PORTS.has(Number(parsed.port))) return block(`port ${parsed.port} is not for the web`);

  const address = addressOf(host);
  const standing = address === undefined ? judgeName(host) : judgeAddress(address);
  if (!standing.public) return block(`not a public host: ${standing.reason}`);
  if (address === undefined && options.resolve !== undefined) {
    const refusal = await refusedAnswers(bareName(host), options.resolve);
    if (refusal !== undefined) return block(refusal);
  }
  if (options.allowDomains !== undefined && !isAllowedDomain(host, options.allowDomains)) {
    return { verdict: "ask", host, reason: `${host} is not an allowed domain` };
  }
  return { verdict: "allow", host, reason: "public host" };
}

/** Judges an address and the `Location` values that follow it, each relative to the one before. The worst verdict wins. */
export async function checkHops(
  url: string,
  locations: readonly string[],
  options: UrlOptions = {},
): Promise<UrlVerdict> {
  const first = await checkUrl(url, options);
  if (first.verdict === "block" || first.verdict === "invalid") return first;
  if (locations.length > MAX_HOPS) return { verdict: "block", host: first.host, reason: "too many redirects" };
  let worst = first;
  let current = url;
  for (const location of locations) {
    if (!URL.canParse(location, current))
      return { verdict: "block", host: first.host, reason: "redirect to no address" };
    current = new URL(location, current).href;
    const next = await checkUrl(current, options);
    if (next.verdict === "block" || next.verdict === "invalid") {
      return { verdict: "block", host: first.host, reason: `redirect refused: ${next.reason}` };
    }
    if (next.verdict === "ask") worst = { ...next, host: first.host };
  }
  return worst;
}

/** True when the host is one of the domains or below one; `*.example.com` and `.example.com` mean the same as `example.com`. */
export function isAllowedDomain(hostname: string, domains: readonly string[]): boolean {
  const host = bareName(hostname);
  return domains.some((entry) => {
    const domain = canonicalDomain(entry);
    return domain !== "" && (host === domain || (addressOf(host) === undefined && host.endsWith(`.${domain}`)));
  });
}

function canonicalDomain(entry: string): string {
  const name = entry.trim().replace(/^\*?\./, "");
  // The same parser as for the URL, so that an international name compares in its ASCII form.
  return URL.canParse(`http://${name}/`) ? bareName(new URL(`http://${name}/`).hostname) : "";
}

/** One private answer refuses the name: the connection may use any of them. */
async function refusedAnswers(hostname: string, resolve: Resolve): Promise<string | undefined> {
  let answers: readonly string[];
  try {
    answers = await resolve(hostname);
  } catch {
    return "the host could not be resolved";
  }
  if (answers.length === 0) return "the host could not be resolved";
  for (const answer of answers) {
    const standing = judgeAddress(answer);
    if (!standing.public) return `the host resolves to a ${standing.reason}`;
  }
  return undefined;
}
