import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelStop, Usage } from "../../contract/model.ts";
import type { SseMessage } from "../../shared/sse.ts";
import { BlockWriter } from "../transport/blocks.ts";
import { saysFault } from "../transport/error-body.ts";
import { type Arguments, count, fromValue, isRecord, readArguments, toolUse } from "../transport/tool-arguments.ts";
import type { Classifier, FrameVerdict, StreamDecoder } from "../transport/wire.ts";
import { BlockStart, type Delta, UsageFrame, WholeMessage } from "./wire.ts";

export type DecoderOptions = {
  readonly classifier: Classifier;
  /** Metadata keys begin with it, so that no other provider gets this one's signatures. */
  readonly vendor: string;
  decodeName(wire: string): string;
  newCallId(): string;
};

type Counters = Omit<UsageFrame, "cache_creation">;

type Call = {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  json: string;
  readonly start: Arguments;
  ended: boolean;
};

const STOPS: Readonly<Record<string, ModelStop>> = {
  end_turn: "end_turn",
  tool_use: "tool_use",
  max_tokens: "max_tokens",
  stop_sequence: "stop_sequence",
  pause_turn: "pause_turn",
  refusal: "refusal",
  model_context_window_exceeded: "context_window",
};

/** Stops that may cut a call short. */
const CUTTING: ReadonlySet<ModelStop> = new Set(["max_tokens", "context_window", "refusal"]);

/** Decodes a Messages stream (provider-protocols 2 and 5). */
export function createMessagesDecoder(options: DecoderOptions): StreamDecoder {
  const blocks = new BlockWriter();
  const usage: Counters = {};
  const ids = new Set<string>();
  /** Calls not yet handed out, in order of appearance. */
  let calls: Call[] = [];
  let openIndex: number | undefined;
  /** Index of a block of an unknown type: its deltas are skipped with it. */
  let hiddenIndex: number | undefined;
  let started = false;
  let called = false;
  let nameless = false;
  let stop: { readonly reason: string; readonly sequence: string | undefined } | undefined;
  let closed = false;

  const args = (call: Call): Arguments => (call.json === "" ? call.start : readArguments(call.json));

  /**
   * Hands out calls whose arguments are whole. One without arguments, or with broken ones, waits for the next block or the
   * stop reason: the output limit closes a block in the middle of its arguments too.
   */
  const release = (out: ModelEvent[], how: "whole" | "next_block" | "turn_ended" | "cut"): void => {
    for (let call = calls[0]; call; call = calls[0]) {
      const read = args(call);
      const whole = call.ended && read.kind === "object" && (call.json !== "" || Object.keys(read.input).length > 0);
      if (!whole && (how === "whole" || (how === "next_block" && !call.ended))) return;
      calls = calls.slice(1);
      if (!whole && how === "cut") continue;
      if (call.name === "") {
        nameless = true;
        continue;
      }
      called = true;
      out.push({ type: "block", block: toolUse(call.id, options.decodeName(call.name), read) });
    }
  };

  const start = (index: number, block: BlockStart, out: ModelEvent[]): void => {
    release(out, "next_block");
    openIndex = index;
    hiddenIndex = undefined;
    switch (block.type) {
      case "text":
        blocks.start("text", out);
        blocks.append("text", block.text ?? "", out);
        return;
      case "thinking":
        blocks.start("thinking", out);
        blocks.append("thinking", block.thinking ?? "", out);
        if (block.signature) blocks.mark(`${options.vendor}_signature`, block.signature);
        return;
      case "redacted_thinking":
        blocks.start("thinking", out);
        if (block.data) blocks.mark(`${options.vendor}_redacted`, block.data);
        return;
      case "tool_use": {
        blocks.close(out);
        const id = block.id && !ids.has(block.id) ? block.id : options.newCallId();
        ids.add(id);
        const given = fromValue(block.input);
        calls.push({
          index,
          id,
          name: block.name ?? "",
          json: "",
          start: given.kind === "broken" ? { kind: "empty" } : given,
          ended: false,
        });
        return;
      }
      default:
        // Server-side tools and blocks of later versions: nothing to show, their deltas are skipped with them.
        blocks.close(out);
        openIndex = undefined;
        hiddenIndex = index;
    }
  };

  const delta = (index: number, part: Delta, out: ModelEvent[]): FrameVerdict => {
    if (index === hiddenIndex) return "payload";
    let piece = "";
    if (typeof part.text === "string" && part.type === "text_delta") {
      piece = part.text;
      if (openIndex !== index || blocks.open !== "text") start(index, { type: "text" }, out);
      blocks.append("text", piece, out);
    } else if (typeof part.thinking === "string" && part.type === "thinking_delta") {
      piece = part.thinking;
      if (openIndex !== index || blocks.open !== "thinking") start(index, { type: "thinking" }, out);
      blocks.append("thinking", piece, out);
    } else if (typeof part.signature === "string" && part.type === "signature_delta") {
      piece = part.signature;
      if (blocks.open === "thinking" && piece !== "") blocks.mark(`${options.vendor}_signature`, piece);
    } else if (typeof part.partial_json === "string" && part.type === "input_json_delta") {
      piece = part.partial_json;
      // The last one: servers that leave out the end of a block may use its index again.
      const call = calls.findLast((c) => c.index === index && !c.ended);
      if (call) call.json += piece;
    }
    // An empty piece keeps no dead stream alive.
    return piece === "" ? "skip" : "payload";
  };

  const whole = (value: Record<string, unknown>, out: ModelEvent[]): FrameVerdict => {
    if (saysFault(value)) return options.classifier.inBand(value);
    // MiniMax repeats the whole message after its deltas.
    if (started || stop) return "skip";
    const message = WholeMessage.safeParse(value);
    if (!message.success) return options.classifier.fail("malformed_response", "the message has no content");
    started = true;
    message.data.content.forEach((block, index) => {
      start(index, block, out);
      end(index, out);
    });
    note(value.usage);
    stop = { reason: message.data.stop_reason ?? "end_turn", sequence: message.data.stop_sequence ?? undefined };
    return "done";
  };

  const end = (index: number, out: ModelEvent[]): void => {
    const call = calls.findLast((c) => c.index === index && !c.ended);
    if (call) call.ended = true;
    else if (openIndex === index) blocks.close(out);
    release(out, "whole");
  };

  const note = (value: unknown): void => {
    const seen = UsageFrame.safeParse(value);
    // The last value of each counter wins; one that is missing keeps its earlier value.
    if (!seen.success) return;
    const { cache_creation: parts, ...counters } = seen.data;
    counters.cache_creation_input_tokens ??= parts && sum(parts);
    Object.assign(usage, Object.fromEntries(Object.entries(counters).filter(([, v]) => v !== undefined)));
  };

  const frame = (value: Record<string, unknown>, event: string | undefined, out: ModelEvent[]): FrameVerdict => {
    const index = typeof value.index === "number" ? value.index : 0;
    // The name of the event stands in for a type that gateways leave out.
    switch (value.type ?? event) {
      case "content_block_delta":
        started = true;
        return isRecord(value.delta)
          ? delta(index, value.delta, out)
          : options.classifier.fail("malformed_response", "a delta without content");
      case "content_block_start": {
        const block = BlockStart.safeParse(value.content_block);
        if (!block.success) return options.classifier.fail("malformed_response", "a block without a type");
        started = true;
        start(index, block.data, out);
        return "payload";
      }
      case "content_block_stop":
        end(index, out);
        return "payload";
      case "message_start":
        if (isRecord(value.message)) note(value.message.usage);
        return "payload";
      case "message_delta": {
        note(value.usage);
        const change = isRecord(value.delta) ? value.delta : {};
        if (typeof change.stop_reason !== "string") return "payload";
        stop = {
          reason: change.stop_reason,
          sequence: typeof change.stop_sequence === "string" ? change.stop_sequence : undefined,
        };
        return "finished";
      }
      case "message_stop":
        return "done";
      case "message":
        return whole(value, out);
      case "error":
        return options.classifier.inBand(value);
      default:
        if (saysFault(value)) return options.classifier.inBand(value);
        if (event === "error" || (value.type === undefined && value.error)) return options.classifier.inBand(value);
        return "skip";
    }
  };

  return {
    push(message: SseMessage, out) {
      if (message.event === "ping" || message.data.trim() === "") return "skip";
      if (message.data.trim() === "[DONE]") return "done";
      let value: unknown;
      try {
        value = JSON.parse(message.data);
      } catch {
        if (message.event === "error") return options.classifier.inBand([message.data]);
        // After the stop reason a frame that cannot be read takes nothing away from the answer.
        if (stop) return "skip";
        return options.classifier.fail("malformed_response", "a frame is no valid JSON");
      }
      return isRecord(value)
        ? frame(value, message.event, out)
        : options.classifier.fail("malformed_response", "a frame is no object");
    },
    end(out): Failure | undefined {
      blocks.close(out);
      if (!stop) {
        return options.classifier.fail("stream_incomplete", "the stream ended before its stop reason");
      }
      if (closed) return undefined;
      closed = true;
      const known = STOPS[stop.reason];
      release(out, known && CUTTING.has(known) ? "cut" : "turn_ended");
      if (nameless && !called)
        return options.classifier.fail("malformed_response", "the tool calls of the answer have no names");
      const mapped = known ?? "end_turn";
      out.push({
        type: "finished",
        stop: mapped === "end_turn" && called ? "tool_use" : mapped,
        stopDetail: stop.sequence ?? stop.reason,
        usage: total(usage),
      });
      return undefined;
    },
    abandon: (out) => blocks.close(out),
    finished: () => stop !== undefined,
    usage: () => total(usage),
  };
}

/** What was written to the cache, where only its parts by lifetime are told; undefined = nothing was. */
function sum(parts: Readonly<Record<string, unknown>>): number | undefined {
  const counts = Object.values(parts).flatMap((value) => count(value) ?? []);
  return counts.length > 0 ? counts.reduce((a, b) => a + b, 0) : undefined;
}

/** The counters of this wire do not overlap (provider-protocols 1.2). */
function total(usage: Counters): Usage | null {
  if (Object.keys(usage).length === 0) return null;
  return {
    input: Math.floor(usage.input_tokens ?? 0),
    output: Math.floor(usage.output_tokens ?? 0),
    cache_read: Math.floor(usage.cache_read_input_tokens ?? 0),
    cache_write: Math.floor(usage.cache_creation_input_tokens ?? 0),
  };
}
