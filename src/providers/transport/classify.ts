import type { Failure, FailureCategory } from "../../contract/failure.ts";
import { byGeneralWord, byStatus, byWord, mayPass } from "./categories.ts";
import { type ErrorFacts, errorFacts } from "./error-body.ts";
import { findOutputLimit, findOverflow } from "./overflow.ts";
import { retryAfterMs } from "./retry-after.ts";
import { scrub, webPageTitle } from "./safe-text.ts";
import { isThrownByTls, TLS_HINT, thrownText } from "./thrown.ts";
import type { Classifier } from "./wire.ts";

export type ClassifierOptions = {
  readonly provider: string;
  /** Values that must never stand in a message. */
  readonly secrets: readonly string[];
  now(): number;
  /** The vendor's own reading of numbers and texts; it goes before words and status. */
  readonly vendor?: ((facts: ErrorFacts, status: number | undefined) => FailureCategory | undefined) | undefined;
  /** What the operator can do when the server cannot be reached or does not know the model. */
  readonly hints?: Partial<Record<FailureCategory, string>> | undefined;
};

type Source = {
  readonly status: number | undefined;
  readonly headers?: Headers;
  readonly facts: ErrorFacts | undefined;
  readonly fallback: string;
};

/** Reads failures (provider-protocols 1.3). Order of trust: token numbers, the body's type or code, the status. */
export function createClassifier(options: ClassifierOptions): Classifier {
  const hints: Partial<Record<FailureCategory, string>> = { ...settingHints(options.provider), ...options.hints };
  const safe = (text: string) => `${options.provider}: ${scrub(text, options.secrets)}`;

  const fail: Classifier["fail"] = (category, message, hint = hints[category]) => ({
    category,
    message: safe(message),
    retryable: mayPass(category),
    ...(hint ? { hint } : {}),
  });

  const read = ({ status, headers, facts, fallback }: Source): Failure => {
    const bodyStatus = facts?.code !== undefined && facts.code >= 400 && facts.code < 600 ? facts.code : undefined;
    const shown = status ?? bodyStatus;
    const category = categoryOf(facts, status, bodyStatus, options.vendor);
    const text = facts?.message || fallback;
    const overflow = category.overflow;
    const wait = retryAfterMs(
      {
        status: bodyStatus ?? status,
        ...(headers ? { headers } : {}),
        details: facts?.details ?? [],
        text: `${text} ${facts?.inner ?? ""}`,
      },
      options.now(),
    );
    const hint =
      hints[category.name] ?? (category.name === "ssl" ? TLS_HINT : category.name === "proxy" ? PROXY_HINT : undefined);
    return {
      category: category.name,
      message: safe(text),
      retryable: retryable(category.name, facts, wait, headers),
      retryAfterMs: wait,
      ...(shown === undefined ? {} : { status: shown }),
      ...(overflow ? { tokenGap: overflow.tokenGap } : {}),
      ...(overflow?.maxTokensAvailable === undefined ? {} : { maxTokensAvailable: overflow.maxTokensAvailable }),
      ...outputLimit(category.name, text),
      ...(hint ? { hint } : {}),
    };
  };

  return {
    fail,
    http: (status, headers, body) => {
      const facts = parse(body);
      const title = webPageTitle(body, headers.get("content-type"));
      // A 200 that is no stream is an error body or a page somebody put in between.
      if (status >= 200 && status < 300 && !facts) {
        return title === undefined
          ? fail("malformed_response", "the answer is neither a stream nor an error")
          : { ...fail("proxy", `a web page came instead of an answer${title && `: ${title}`}`, PROXY_HINT), status };
      }
      const plain = title ?? body.trim();
      return read({
        status: status < 300 ? undefined : status,
        headers,
        facts,
        fallback: `HTTP ${status}${plain && `: ${plain}`}`,
      });
    },
    inBand: (value) =>
      read({ status: undefined, facts: errorFacts(value), fallback: "the provider reported an error" }),
    thrown: (error) => {
      const text = thrownText(error);
      if (isThrownByTls(error)) return fail("ssl", text, TLS_HINT);
      if (/\b407\b|proxy authentication/i.test(text)) return fail("proxy", text, PROXY_HINT);
      if (error instanceof Error && error.name === "TimeoutError") return fail("timeout", text);
      return fail("network", text);
    },
  };
}

/** Names the setting to look at when a key is refused or a server is not there (G-2). */
function settingHints(provider: string): Partial<Record<FailureCategory, string>> {
  const prefix = provider.toUpperCase().replaceAll("-", "_");
  return {
    auth: `Check ${prefix}_API_KEY, or the request's X-Flyto-Provider-Key.`,
    network: `The server cannot be reached: check ${prefix}_BASE_URL.`,
    not_found: `Check the model's name and ${prefix}_BASE_URL.`,
  };
}

const PROXY_HINT =
  "A proxy or login page stands between this Worker and the provider; check the base URL and the network's proxy.";

type Category = { readonly name: FailureCategory; readonly overflow?: ReturnType<typeof findOverflow> };

function categoryOf(
  facts: ErrorFacts | undefined,
  status: number | undefined,
  bodyStatus: number | undefined,
  vendor: ClassifierOptions["vendor"],
): Category {
  const effective = bodyStatus ?? status;
  const word = facts ? byWord(facts.words) : undefined;
  const own = facts && vendor?.(facts, status);
  // "Too many tokens, please wait" speaks of tokens too: a rate limit is never an overflow.
  const limited = status === 429 || bodyStatus === 429 || word === "rate_limit" || own === "rate_limit";
  if (facts && !limited) {
    const overflow = findOverflow(`${facts.message}\n${facts.inner}`, { prompt: facts.prompt, limit: facts.limit });
    if (overflow) return { name: overflow.category, overflow };
    if (word === "prompt_too_long") return { name: word, overflow: { category: word, tokenGap: null } };
  }
  if (own) return { name: own };
  if (facts && /credit balance is too low|insufficient (?:credits|balance)|requires more credits/i.test(facts.message))
    return { name: "billing" };
  if (facts && /api key not valid|invalid api key|incorrect api key/i.test(facts.message)) return { name: "auth" };
  if (facts?.moderated && (effective === 403 || effective === 400)) return { name: "content_filter" };
  if (facts && /content filtering policy|flagged as potentially violating/i.test(facts.message))
    return { name: "content_filter" };
  if (limited && word === "prompt_too_long") return { name: "rate_limit" };
  if (word && !(word === "rate_limit" && effective === 402)) return { name: word };
  if (effective !== undefined) return { name: byStatus(effective) };
  return { name: (facts && byGeneralWord(facts.words)) ?? "server" };
}

function retryable(
  category: FailureCategory,
  facts: ErrorFacts | undefined,
  wait: number | null,
  headers: Headers | undefined,
): boolean {
  const said = headers?.get("x-should-retry");
  if (said === "false") return false;
  // The server may know better than a status such as 409 says; a wrong key or an empty account stays what it is.
  if (said === "true" && category === "invalid_request") return true;
  if (category === "rate_limit" && wait === null && dailyQuota(facts)) return false;
  return mayPass(category);
}

/** Gemini quota ids with `PerDay`: waiting a minute does not cure them. */
function dailyQuota(facts: ErrorFacts | undefined): boolean {
  return facts !== undefined && /"quotaId":"[^"]*PerDay/.test(JSON.stringify(facts.details));
}

function outputLimit(category: FailureCategory, text: string): { maxTokensAvailable?: number } {
  const limit = category === "invalid_request" ? findOutputLimit(text) : undefined;
  return limit === undefined ? {} : { maxTokensAvailable: limit };
}

function parse(body: string): ErrorFacts | undefined {
  try {
    return errorFacts(JSON.parse(body));
  } catch {
    // A stream may be what carries the error even under an error status.
    const data = /^data: ?(\{.*)$/m.exec(body)?.[1];
    if (data === undefined) return undefined;
    try {
      return errorFacts(JSON.parse(data));
    } catch {
      return undefined;
    }
  }
}
