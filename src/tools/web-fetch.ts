import { z } from "zod";
import { err, ok, type Result } from "../contract/result.ts";
import type { Tool, ToolContext, ToolOutcome } from "../contract/tools.ts";
import { htmlToText } from "./html-text.ts";
import { failure, text } from "./outcome.ts";

const MAX_HOPS = 5;
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;
const MAX_URL = 4_000;
const HEADERS = {
  accept: "text/html, text/plain, application/json;q=0.9, */*;q=0.5",
  "user-agent": "flyto-agent/0.1 (WebFetch)",
};

const Input = z.object({
  url: z.string().min(1).max(MAX_URL).describe("An absolute http or https address"),
  prompt: z.string().optional().describe("What to look for; repeated above the page"),
});
type Input = z.infer<typeof Input>;

/** Fetches a public page as text; every hop goes through the egress policy of the context. */
export function createWebFetchTool(): Tool<Input> {
  return {
    name: "WebFetch",
    description:
      "Fetches a public web page and returns it as text: HTML is reduced to headings, text and links, other text comes as " +
      `it is. Follows up to ${MAX_HOPS} redirects within the host; one to another host is answered with the new address, to ` +
      "be fetched by a call of its own. Reads at most 1 MB, waits at most 30 seconds. Reads only (GET), without " +
      "cookies or sign-in; addresses of private networks are refused. PDFs, images and other binary content are not shown.",
    input: Input,
    metadata: {
      readOnly: true,
      concurrencySafe: true,
      destructive: false,
      searchHint: "fetch, download, read a web page or URL",
      permissionClass: "webfetch",
      requiresCheckpoint: false,
      auditOperation: "read",
      recovery: "rerun",
    },
    resource: (input) => input.url,
    timeoutMs: () => TIMEOUT_MS,
    run: fetchPage,
  };
}

async function fetchPage(input: Input, context: ToolContext): Promise<ToolOutcome> {
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const answer = await follow(input.url, context, signal);
    if (!answer.ok) return failure(answer.error);
    return answer.value.kind === "moved" ? moved(answer.value) : await showPage(answer.value, input, signal);
  } catch (error) {
    context.signal.throwIfAborted();
    return failure(explain(error, input.url));
  }
}

type Page = { readonly kind: "page"; readonly url: URL; readonly response: Response };
type Moved = { readonly kind: "moved"; readonly from: URL; readonly to: URL };

/**
 * Redirects are followed here and not by the platform, so that the policy sees every address. They are followed within
 * the host alone: the permission was given for that one. spec: S-1
 */
async function follow(start: string, context: ToolContext, signal: AbortSignal): Promise<Result<Page | Moved, string>> {
  const first = parseUrl(start);
  if (!first) return err(`${start} is not an absolute URL`);
  let url = first;
  for (let hop = 0; hop <= MAX_HOPS; hop++) {
    if (url.protocol !== "http:" && url.protocol !== "https:") return err(`${url.href} is not http or https`);
    if (url.username !== "" || url.password !== "") return err("a URL with a user name or password is refused");
    if (!isSameSite(first, url)) return ok({ kind: "moved", from: first, to: url });
    context.progress(0.1, `fetching ${url.host}`);
    const response = await context.fetch(url.href, { signal, headers: HEADERS });
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      return ok({ kind: "page", url, response });
    await response.body?.cancel();
    const next = parseUrl(location, url);
    if (!next || next.href.length > MAX_URL) return err(`${url.href} redirects to an address that cannot be used`);
    url = next;
  }
  return err(`${start} redirects more than ${MAX_HOPS} times`);
}

/** The same host, and not from https back to http. */
function isSameSite(asked: URL, next: URL): boolean {
  return isSameHost(asked, next) && (next.protocol === "https:" || asked.protocol === "http:");
}

/** The same name and port, with or without `www.`. */
function isSameHost(asked: URL, next: URL): boolean {
  const host = (url: URL): string => url.hostname.replace(/\.$/, "").replace(/^www\.(?=.)/, "");
  return host(asked) === host(next) && asked.port === next.port;
}

function moved({ from, to }: Moved): ToolOutcome {
  const where = isSameHost(from, to) ? "the same host without encryption" : "another host";
  return text(
    `${from.href} redirects to ${where}, which the permission for this call does not cover; it was not fetched. ` +
      `To go on, call WebFetch with this url: ${to.href}`,
  );
}

function parseUrl(url: string, base?: URL): URL | undefined {
  return URL.parse(url, base?.href) ?? undefined;
}

async function showPage(page: Page, input: Input, signal: AbortSignal): Promise<ToolOutcome> {
  const { response, url } = page;
  const type = response.headers.get("content-type") ?? "text/plain";
  if (!isText(type)) {
    await response.body?.cancel();
    return failure(`${url.href} is ${type.slice(0, 100)}, which WebFetch does not show (HTTP ${response.status})`);
  }
  const { bytes, cut } = await readBody(response, signal);
  const raw = decode(bytes, type);
  const body = /html/i.test(type) ? htmlToText(raw) : raw;
  const lines = [`URL: ${url.href}`];
  if (input.prompt) lines.push(`Looking for: ${input.prompt}`);
  lines.push("", body.trim() === "" ? "(the page has no text)" : body);
  if (cut) lines.push("", "(cut after 1 MB)");
  const shown = lines.join("\n");
  return response.ok ? text(shown) : failure(`HTTP ${response.status}\n${shown}`);
}

function isText(type: string): boolean {
  return /^\s*(text\/|application\/([\w.+-]*\+)?(json|xml|javascript|x-javascript|xhtml\+xml|yaml|x-yaml|x-ndjson))/i.test(
    type,
  );
}

function decode(bytes: Uint8Array, type: string): string {
  const charset = /charset\s*=\s*"?([\w-]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

async function readBody(response: Response, signal: AbortSignal): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  while (reader) {
    signal.throwIfAborted();
    const { done, value } = await reader.read();
    if (done || value === undefined) break;
    const piece: Uint8Array = value;
    pieces.push(piece.subarray(0, MAX_BYTES - size));
    size += piece.length;
    if (size > MAX_BYTES) {
      await reader.cancel();
      break;
    }
  }
  const bytes = new Uint8Array(Math.min(size, MAX_BYTES));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return { bytes, cut: size > MAX_BYTES };
}

/** Only the policy's own words are told; what else a fetch throws may name what lies behind the platform. */
function explain(error: unknown, url: string): string {
  if (error instanceof Error && error.name === "EgressRefused") return error.message;
  if (error instanceof Error && error.name === "TimeoutError") return `${url} did not answer within 30 seconds`;
  return `${url} could not be fetched: the connection failed`;
}
