import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelStop } from "../../contract/model.ts";
import { BlockWriter } from "../transport/blocks.ts";
import { saysFault } from "../transport/error-body.ts";
import { isRecord, toolUse } from "../transport/tool-arguments.ts";
import type { Classifier, FrameVerdict, StreamDecoder } from "../transport/wire.ts";
import { CallAssembler, finalArguments, type PendingCall } from "./calls.ts";
import { addDetails, type Detail, detailText } from "./reasoning-details.ts";
import { ThinkTags } from "./think-tags.ts";
import { UsageTotals } from "./usage.ts";
import type { CallFragment, ChatDialect } from "./wire.ts";

export type DecoderOptions = {
  readonly classifier: Classifier;
  readonly dialect: ChatDialect;
  decodeName(wire: string): string;
  newCallId(): string;
};

const STOPS: Readonly<Record<string, ModelStop>> = {
  stop: "end_turn",
  length: "max_tokens",
  max_tokens: "max_tokens",
  tool_calls: "tool_use",
  function_call: "tool_use",
  content_filter: "refusal",
  // Words of Gemini and others that a layer over them lets through.
  safety: "refusal",
  refusal: "refusal",
  model_length: "max_tokens",
};

/** Metadata key under which signed reasoning is kept for its way back. */
export function detailsKey(dialect: ChatDialect): string {
  return `${dialect.name}_reasoning_details`;
}

/** Decodes a Chat Completions stream (provider-protocols 3, 3.1, 4, 7, 8). */
export function createChatDecoder(options: DecoderOptions): StreamDecoder {
  const { classifier, dialect } = options;
  const blocks = new BlockWriter();
  const assembler = new CallAssembler();
  const usage = new UsageTotals();
  const tags = dialect.thinkTags ? new ThinkTags() : undefined;
  let details: Detail[] = [];
  let reason: string | undefined;
  let done = false;
  let started = false;

  const closeBlock = (out: ModelEvent[]): void => {
    if (blocks.open && details.length > 0) {
      blocks.mark(detailsKey(dialect), JSON.stringify(details));
      details = [];
    }
    blocks.close(out);
  };
  const append = (kind: "text" | "thinking", text: string, out: ModelEvent[]): void => {
    if (text === "") return;
    if (blocks.open !== kind) closeBlock(out);
    blocks.append(kind, text, out);
  };
  const visible = (text: string, out: ModelEvent[]): void => {
    if (tags) tags.push(text, (kind, piece) => append(kind, piece, out));
    else append("text", text, out);
  };

  /** One message or delta. Says whether there was anything in it. */
  const part = (delta: Record<string, unknown>, out: ModelEvent[]): boolean => {
    let payload = false;
    // Some servers say the same reasoning in two fields: the first that is filled counts.
    const reasoning = filled(delta.reasoning_content) || filled(delta.reasoning) || detailText(delta.reasoning_details);
    if (reasoning !== "") {
      append("thinking", reasoning, out);
      payload = true;
    }
    if (dialect.reasoningDetails && Array.isArray(delta.reasoning_details) && delta.reasoning_details.length > 0) {
      addDetails(details, delta.reasoning_details);
      payload = true;
    }
    const text = contentText(delta.content);
    if (text !== "") {
      visible(text, out);
      payload = true;
    }
    const refusal = filled(delta.refusal);
    if (refusal !== "") {
      append("text", refusal, out);
      payload = true;
    }
    if (Array.isArray(delta.tool_calls)) {
      for (const fragment of delta.tool_calls) {
        if (!isRecord(fragment)) continue;
        assembler.add(fragment as CallFragment);
        payload = true;
      }
    } else if (isRecord(delta.function_call)) {
      assembler.add({ function: delta.function_call });
      payload = true;
    }
    return payload;
  };

  const frame = (value: Record<string, unknown>, out: ModelEvent[]): FrameVerdict => {
    const choice = firstChoice(value.choices);
    if (isError(value, choice))
      return classifier.inBand(!value.error && choice?.error ? { error: choice.error } : value);
    let payload = usage.note(value.usage) || usage.note(choice?.usage);
    // A last object may repeat the whole message after its deltas; without deltas it is the answer.
    const delta = isRecord(choice?.delta)
      ? choice.delta
      : !started && isRecord(choice?.message)
        ? choice.message
        : undefined;
    const content = delta !== undefined && part(delta, out);
    started ||= content;
    payload ||= content;
    const finish = choice?.finish_reason;
    if (typeof finish === "string" && finish !== "") {
      if (finish === "error")
        return classifier.fail("server", "the provider reported an error in the middle of its answer");
      if (finish === "insufficient_system_resource")
        return classifier.fail("overloaded", "the provider has no resources left");
      reason ??= finish;
    }
    if (reason === undefined) return payload ? "payload" : "skip";
    // Gateways that name a stop reason too early go on with the answer: that is no tail yet.
    const early = !started && reason === "stop";
    return early || (content && !finish) ? "payload" : "finished";
  };

  /** Calls come out at the end: this wire has no end mark per call. */
  const releaseCalls = (cut: boolean, out: ModelEvent[]): number => {
    const ids = new Set<string>();
    const { calls } = assembler;
    let count = 0;
    calls.forEach((call: PendingCall, at) => {
      const args = finalArguments(call);
      const whole = args.kind === "object" || (args.kind === "empty" && at < calls.length - 1);
      if (call.name === "" || (cut && !whole)) return;
      const id = call.id !== "" && !ids.has(call.id) ? call.id : options.newCallId();
      ids.add(id);
      // Signed reasoning that came after its text went by goes back with the first call.
      const late = details.length > 0 ? { [detailsKey(dialect)]: JSON.stringify(details) } : undefined;
      details = [];
      out.push({ type: "block", block: toolUse(id, options.decodeName(call.name), args, late) });
      count += 1;
    });
    return count;
  };

  return {
    push(message, out) {
      const data = message.data.trim();
      if (data === "[DONE]") {
        done = true;
        return "done";
      }
      if (data === "" || message.event === "ping") return "skip";
      let value: unknown;
      try {
        value = JSON.parse(data);
      } catch {
        if (message.event === "error") return classifier.inBand([data]);
        // After the stop reason a frame that cannot be read takes nothing away from the answer.
        if (reason !== undefined) return "skip";
        return classifier.fail("malformed_response", "a frame is no valid JSON");
      }
      if (!isRecord(value)) return classifier.fail("malformed_response", "a frame is no object");
      if (message.event === "error") return classifier.inBand(value);
      return frame(dialect.toChunk ? dialect.toChunk(value) : value, out);
    },
    end(out): Failure | undefined {
      tags?.flush((kind, piece) => append(kind, piece, out));
      closeBlock(out);
      if (reason === undefined && !done)
        return classifier.fail("stream_incomplete", "the stream ended before its finish reason");
      const stop = STOPS[(reason ?? "stop").toLowerCase()] ?? "end_turn";
      const calls = releaseCalls(stop === "max_tokens" || stop === "refusal", out);
      if (stop === "tool_use" && calls === 0 && assembler.calls.length > 0) {
        return classifier.fail("malformed_response", "the tool calls of the answer have no names");
      }
      const total = usage.total();
      out.push({
        type: "finished",
        stop: stop === "end_turn" && calls > 0 ? "tool_use" : stop === "tool_use" && calls === 0 ? "end_turn" : stop,
        ...(reason === undefined ? {} : { stopDetail: reason }),
        usage: total,
        ...(usage.cost === undefined ? {} : { costUsd: usage.cost }),
      });
      return undefined;
    },
    abandon(out) {
      tags?.flush((kind, piece) => append(kind, piece, out));
      closeBlock(out);
    },
    finished: () => reason !== undefined || done,
    usage: () => usage.total(),
  };
}

type Choice = {
  readonly delta?: unknown;
  readonly message?: unknown;
  readonly finish_reason?: unknown;
  readonly usage?: unknown;
  readonly error?: unknown;
  readonly index?: unknown;
};

function firstChoice(choices: unknown): Choice | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.find(
    (choice): choice is Choice =>
      isRecord(choice) && (choice.index === undefined || choice.index === null || choice.index === 0),
  );
}

function isError(value: Record<string, unknown>, choice: Choice | undefined): boolean {
  if (value.error || choice?.error) return true;
  if (value.object === "error" || value.type === "error") return true;
  if (value.base_resp !== undefined && saysFault(value)) return true;
  // An error body of a framework behind a gateway: a text and no answer.
  return (
    value.choices === undefined &&
    value.usage === undefined &&
    (typeof value.message === "string" || value.detail !== undefined)
  );
}

function filled(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Content is text, or a list of parts on some servers. */
function contentText(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  return value.map((part) => (isRecord(part) && typeof part.text === "string" ? part.text : "")).join("");
}
