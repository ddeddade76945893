import { isRecord } from "./tool-arguments.ts";

/** No provider's wait is believed beyond a day. */
const LONGEST_MS = 86_400_000;

/**
 * The wait a provider asks for, milliseconds; null when none can be read (provider-protocols 1.3). First one found counts:
 * `retry-after-ms`, `retry-after`, `RetryInfo`, the text, the reset times of exhausted limits (429 only).
 */
export function retryAfterMs(
  source: {
    readonly status?: number | undefined;
    readonly headers?: Headers | undefined;
    readonly details: readonly unknown[];
    readonly text: string;
  },
  now: number,
): number | null {
  const { headers } = source;
  const found =
    decimal(headers?.get("retry-after-ms"), 1) ??
    retryAfterHeader(headers?.get("retry-after"), now) ??
    retryInfo(source.details) ??
    fromText(source.text) ??
    (source.status === 429 && headers ? resetHeaders(headers, now) : undefined);
  return found === undefined ? null : Math.min(Math.round(found), LONGEST_MS);
}

function decimal(value: string | null | undefined, factor: number): number | undefined {
  const text = value?.trim();
  return text && /^\d+(\.\d+)?$/.test(text) ? Number(text) * factor : undefined;
}

function retryAfterHeader(value: string | null | undefined, now: number): number | undefined {
  const seconds = decimal(value, 1000);
  if (seconds !== undefined) return seconds;
  return value ? until(httpDate(value.trim()), now) : undefined;
}

/** The three forms of an HTTP date (RFC 9110, 5.6.7); NaN for all else: Date.parse takes too much ("-5", "2") for a time. */
function httpDate(text: string): number {
  if (/^[A-Za-z]{3}, \d{1,2} [A-Za-z]{3} \d{4} \d{2}:\d{2}:\d{2}/.test(text)) return Date.parse(text);
  const [, day, month, year, time] = /^[A-Za-z]+, (\d{2})-([A-Za-z]{3})-(\d{2}) ([\d:]{8}) GMT$/.exec(text) ?? [];
  if (day !== undefined) return Date.parse(`${day} ${month} 20${year} ${time} GMT`);
  // The form of C's asctime has no zone: it means UTC.
  return /^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d [\d:]{8} \d{4}$/.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

function until(time: number, now: number): number | undefined {
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}

function retryInfo(details: readonly unknown[]): number | undefined {
  for (const detail of details) {
    if (!isRecord(detail) || detail.retryDelay === undefined) continue;
    const delay = detail.retryDelay;
    if (typeof delay === "string") return duration(delay);
    if (isRecord(delay)) return Number(delay.seconds ?? 0) * 1000 + Number(delay.nanos ?? 0) / 1e6 || undefined;
  }
  return undefined;
}

/** "37.412s", "6m0s", "1h2m", "500ms". */
export function duration(text: string): number | undefined {
  const parts = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/.exec(text.trim());
  if (!parts || text.trim() === "") return undefined;
  const [hours, minutes, seconds, ms] = parts.slice(1).map((part) => Number(part ?? 0));
  return (hours ?? 0) * 3_600_000 + (minutes ?? 0) * 60_000 + (seconds ?? 0) * 1000 + (ms ?? 0);
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

function fromText(text: string): number | undefined {
  const found =
    /(?:try again|retry|wait)(?:ing)?(?: after| in| for)? (?:about )?(\d[\d.hms]*)( ?(?:milliseconds?|seconds?|secs?|minutes?|mins?|hours?)| (?:ms|[smh])\b)?/i.exec(
      text,
    );
  const [, amount = "", word = ""] = found ?? [];
  const value = amount.replace(/\.$/, "");
  const unit = word.trim().toLowerCase();
  if (!unit) return /[hms]$/.test(value) ? duration(value) : undefined;
  return decimal(value, unit === "ms" || unit.startsWith("milli") ? 1 : (UNIT_MS[unit.charAt(0)] ?? 1000));
}

/** Reset times count for limits that are used up; when no remainder is told, all of them do. */
function resetHeaders(headers: Headers, now: number): number | undefined {
  const exhausted: number[] = [];
  const unknown: number[] = [];
  headers.forEach((value, name) => {
    const match = /^(anthropic-ratelimit-|x-ratelimit-)(.*)$/.exec(name);
    if (!match?.[2]) return;
    const [, prefix = "", rest] = match;
    const key = prefix === "x-ratelimit-" ? /^reset-(.+)$/.exec(rest)?.[1] : /^(.+)-reset$/.exec(rest)?.[1];
    if (!key) return;
    const wait = duration(value) ?? (/^\d{4}-\d\d-\d\dT/.test(value) ? until(Date.parse(value), now) : undefined);
    if (wait === undefined) return;
    const remaining = headers.get(
      prefix === "x-ratelimit-" ? `${prefix}remaining-${key}` : `${prefix}${key}-remaining`,
    );
    if (remaining === null) unknown.push(wait);
    else if (Number(remaining) === 0) exhausted.push(wait);
  });
  const waits = exhausted.length > 0 ? exhausted : unknown;
  return waits.length > 0 ? Math.max(...waits) : undefined;
}
