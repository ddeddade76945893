import { isDeepStrictEqual } from "node:util";
import type { AssistantBlock, Message } from "../../src/contract/messages.ts";
import type { ModelEvent } from "../../src/contract/model.ts";

type Wanted = Readonly<Record<string, unknown>> & { readonly type: string; readonly optional?: boolean };
export type Expectation = {
  readonly events?: readonly Wanted[];
  readonly stop_reason?: string | null;
  readonly stop_detail?: string;
  readonly usage?: Readonly<Record<string, number>> | null;
  readonly error?: Readonly<Record<string, unknown>> | null;
  readonly trim?: boolean;
};

type Seen = Readonly<Record<string, unknown>> & { readonly type: string };

/** What is wrong with the events of a stream, or undefined. */
export function compareOutcome(events: readonly ModelEvent[], expect: Expectation): string | undefined {
  const seen = normalise(events, expect.trim ?? false);
  const last = events.at(-1);
  const ends = events.filter((e) => e.type === "finished" || e.type === "failed");
  if (ends.length !== 1 || ends[0] !== last) return `${ends.length} terminal events`;
  return (expect.events ? compareEvents(seen, expect.events) : undefined) ?? compareEnd(last, expect);
}

export function assistantMessage(events: readonly ModelEvent[]): Message {
  return { role: "assistant", content: events.flatMap((e): AssistantBlock[] => (e.type === "block" ? [e.block] : [])) };
}

/** Events as the cases write them: neighbouring deltas merged, blocks by their kind. */
function normalise(events: readonly ModelEvent[], trim: boolean): readonly Seen[] {
  const out: Record<string, unknown>[] = [];
  for (const event of events) {
    const last = out.at(-1);
    if (event.type === "text_delta" || event.type === "thinking_delta") {
      if (event.text === "") continue;
      if (last?.type === event.type) last.text = `${last.text}${event.text}`;
      else out.push({ type: event.type, text: event.text });
    } else if (event.type === "block") {
      const { block } = event;
      const metadata = Object.values(block.provider_metadata ?? {});
      if (block.type === "tool_use")
        out.push({
          type: "tool_use",
          id: block.id,
          tool_name: block.name,
          input: block.input,
          input_error: block.input_error,
          metadata,
        });
      else out.push({ type: block.type, text: block.text, metadata });
    }
  }
  if (trim) for (const item of out) if (typeof item.text === "string") item.text = item.text.trim();
  return out as Seen[];
}

/** All events in order; optional ones may be missing. */
function compareEvents(seen: readonly Seen[], wanted: readonly Wanted[]): string | undefined {
  const ids = seen.flatMap((event) => (event.type === "tool_use" ? [event.id] : []));
  let at = 0;
  for (const want of wanted) {
    const event = seen[at];
    const why = event ? differs(event, want, ids) : "nothing more came";
    if (why === undefined) at += 1;
    else if (!want.optional) return `event ${at} ${JSON.stringify(want)}: ${why}; all: ${JSON.stringify(seen)}`;
  }
  return at < seen.length ? `extra event ${JSON.stringify(seen[at])}` : undefined;
}

function differs(event: Seen, want: Wanted, ids: readonly unknown[]): string | undefined {
  if (event.type !== want.type) return `found ${event.type}`;
  if (want.input_error !== true && event.input_error === true) return "the input is broken";
  for (const [key, value] of Object.entries(want)) {
    if (key === "optional" || key === "type") continue;
    if (key === "metadata_values") {
      const missing = (value as readonly unknown[]).find((v) => !(event.metadata as readonly unknown[]).includes(v));
      if (missing !== undefined) return `metadata lacks ${missing}`;
    } else if (key === "id" && typeof value === "object") {
      if (typeof event.id !== "string" || event.id === "" || ids.filter((id) => id === event.id).length !== 1)
        return `id ${event.id} is not unique`;
    } else if (!isDeepStrictEqual(event[key], value)) return `${key} is ${JSON.stringify(event[key])}`;
  }
  return undefined;
}

function compareEnd(last: ModelEvent | undefined, expect: Expectation): string | undefined {
  const finished = last?.type === "finished" ? last : undefined;
  const failure = last?.type === "failed" ? last.failure : undefined;
  const stop = finished?.stop ?? null;
  if (failure && expect.error === null) return `failed: ${JSON.stringify(failure)}`;
  if (expect.stop_reason !== undefined && stop !== expect.stop_reason)
    return `stop ${stop}, expected ${expect.stop_reason}`;
  if (expect.stop_detail !== undefined && finished?.stopDetail !== expect.stop_detail)
    return `stop detail ${finished?.stopDetail}`;
  const usage = last?.type === "finished" || last?.type === "failed" ? (last.usage ?? null) : null;
  if (expect.usage !== undefined && !isDeepStrictEqual(usage, expect.usage))
    return `usage ${JSON.stringify(usage)}, expected ${JSON.stringify(expect.usage)}`;
  if (!expect.error) return undefined;
  if (!failure) return `no failure, expected ${JSON.stringify(expect.error)}`;
  for (const [key, value] of Object.entries(expect.error)) {
    if (!FAILURE[key]?.(failure as unknown as Record<string, unknown>, value))
      return `error.${key}: expected ${JSON.stringify(value)}; found ${JSON.stringify(failure)}`;
  }
  return undefined;
}

const FAILURE: Readonly<Record<string, (failure: Record<string, unknown>, value: unknown) => boolean>> = {
  category: (f, value) => (Array.isArray(value) ? value.includes(f.category) : f.category === value),
  retryable: (f, value) => f.retryable === value,
  status: (f, value) => (f.status ?? null) === value,
  token_gap: (f, value) => (f.tokenGap ?? null) === value,
  max_tokens_available: (f, value) => (f.maxTokensAvailable ?? null) === value,
  retry_after_ms: (f, value) =>
    value === null
      ? (f.retryAfterMs ?? null) === null
      : typeof f.retryAfterMs === "number" && Math.abs(f.retryAfterMs - Number(value)) <= 50,
  hint: (f, value) => (typeof f.hint === "string" && f.hint !== "") === value,
  message_excludes: (f, value) =>
    (Array.isArray(value) ? value : [value]).every((text) => !String(f.message).includes(String(text))),
  message_contains: (f, value) => String(f.message).includes(String(value)),
};
