import { z } from "zod";
import { count, isRecord } from "./tool-arguments.ts";

/** What an error body says, whatever its shape; text fields are bounded later. */
export type ErrorFacts = {
  readonly message: string;
  /** Words the provider uses for the kind of error, most specific first. */
  readonly words: readonly string[];
  /** Numeric code of the body. */
  readonly code: number | undefined;
  readonly details: readonly unknown[];
  readonly prompt: number | undefined;
  readonly limit: number | undefined;
  /** Further texts to search for numbers: an upstream's own answer wrapped by a router. */
  readonly inner: string;
  readonly moderated: boolean;
};

const Shape = z.looseObject({
  message: z.unknown().optional(),
  type: z.unknown().optional(),
  code: z.unknown().optional(),
  status: z.unknown().optional(),
  reason: z.unknown().optional(),
  details: z.unknown().optional(),
  metadata: z.unknown().optional(),
});

/** Nested answers deeper than this are not looked into. */
const DEPTH = 4;

/** Reads an error out of a parsed body: bare, wrapped in `error`, in a list of one, as `base_resp`, `detail` or plain text. */
export function errorFacts(value: unknown, depth = 0): ErrorFacts | undefined {
  if (Array.isArray(value)) return value.length > 0 ? errorFacts(value[0], depth + 1) : undefined;
  if (typeof value === "string") return depth > 0 ? { ...NOTHING, ...fromText(value, depth) } : undefined;
  if (!isRecord(value) || depth > DEPTH) return undefined;
  if (isRecord(value.base_resp) && saysFault(value)) return fromBaseResp(value.base_resp);
  const wrapped = value.error ?? (Array.isArray(value.errors) ? value.errors[0] : undefined);
  if (wrapped !== undefined && wrapped !== null) {
    const inner = errorFacts(wrapped, depth + 1);
    if (!inner) return undefined;
    const outer = typeof value.message === "string" && !inner.message ? value.message : "";
    const words = typeof wrapped === "string" ? [...inner.words, ...texts(value.code, value.type)] : inner.words;
    return { ...inner, words, message: inner.message || outer };
  }
  return fromObject(value, depth);
}

const NOTHING: ErrorFacts = {
  message: "",
  words: [],
  code: undefined,
  details: [],
  prompt: undefined,
  limit: undefined,
  inner: "",
  moderated: false,
};

function fromObject(value: Record<string, unknown>, depth: number): ErrorFacts | undefined {
  const error = Shape.parse(value);
  const detail = Array.isArray(value.detail) ? value.detail[0] : value.detail;
  const message = [
    error.message,
    detail,
    isRecord(detail) ? (detail.msg ?? detail.message) : undefined,
    value.msg,
  ].find((text): text is string => typeof text === "string" && text !== "");
  const details = Array.isArray(error.details) ? error.details : [];
  const reasons = details.flatMap((d) => (isRecord(d) ? texts(d.reason) : []));
  const metadata = isRecord(error.metadata) ? error.metadata : {};
  const raw =
    metadata.raw === undefined ? "" : typeof metadata.raw === "string" ? metadata.raw : JSON.stringify(metadata.raw);
  const words = [...reasons, ...texts(error.code, error.status, error.type, error.reason, metadata.error_type)];
  const code =
    count(error.code) ?? digits(error.code) ?? count(value.http_code) ?? digits(value.http_code) ?? count(error.status);
  if (message === undefined && words.length === 0 && code === undefined) return undefined;
  const nested = message?.trimStart().startsWith("{") ? fromText(message, depth) : undefined;
  return {
    message: nested?.message || message || words[0] || "",
    words: [...words, ...(nested?.words ?? [])],
    code,
    details,
    prompt: count(value.n_prompt_tokens),
    limit: count(value.n_ctx),
    inner: raw,
    moderated: Array.isArray(metadata.reasons) || metadata.flagged_input !== undefined,
  };
}

/** Gateways put the upstream's JSON into the text of their own message. */
function fromText(text: string, depth: number): Partial<ErrorFacts> & { message: string } {
  try {
    const parsed: unknown = JSON.parse(text);
    const facts = isRecord(parsed) ? errorFacts(parsed, depth + 1) : undefined;
    if (facts) return facts;
  } catch {
    // Not JSON: the text is the message.
  }
  return { message: text };
}

/** MiniMax says in `base_resp` of an answer with status 200 whether it is an error; code 0 means it is none. */
export function saysFault(value: Record<string, unknown>): boolean {
  return isRecord(value.base_resp) && (baseCode(value.base_resp) ?? 0) !== 0;
}

function baseCode(base: Record<string, unknown>): number | undefined {
  return count(base.status_code) ?? digits(base.status_code);
}

function fromBaseResp(base: Record<string, unknown>): ErrorFacts {
  const code = baseCode(base);
  return { ...NOTHING, message: typeof base.status_msg === "string" ? base.status_msg : "", code };
}

function texts(...values: readonly unknown[]): string[] {
  return values.filter((v): v is string => typeof v === "string" && v !== "" && !/^\d+$/.test(v));
}

function digits(value: unknown): number | undefined {
  return typeof value === "string" && /^\d{3,4}$/.test(value) ? Number(value) : undefined;
}
