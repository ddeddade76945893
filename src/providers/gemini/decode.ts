import type { Failure } from "../../contract/failure.ts";
import type { ModelEvent, ModelStop, Usage } from "../../contract/model.ts";
import { BlockWriter } from "../transport/blocks.ts";
import { count, fromValue, isRecord, toolUse } from "../transport/tool-arguments.ts";
import type { Classifier, FrameVerdict, StreamDecoder } from "../transport/wire.ts";
import { CALL_ID, FAULTS, SIGNATURE, STOPS, USAGE_FIELDS, type UsageFrame } from "./wire.ts";

export type DecoderOptions = { readonly classifier: Classifier; decodeName(wire: string): string; newCallId(): string };

/** Decodes a stream of GenerateContentResponse objects (provider-protocols 6). */
export function createGeminiDecoder(options: DecoderOptions): StreamDecoder {
  const { classifier } = options;
  const blocks = new BlockWriter();
  const usage: UsageFrame = {};
  const ids = new Set<string>();
  let stop: { readonly kind: ModelStop; readonly word: string } | undefined;
  let called = false;
  let nameless = false;
  /** Something of the answer has come. */
  let started = false;

  const call = (value: Record<string, unknown>, signature: string | undefined, out: ModelEvent[]): void => {
    blocks.close(out);
    const name = typeof value.name === "string" ? value.name : "";
    if (name === "") {
      nameless = true;
      return;
    }
    const given = typeof value.id === "string" && value.id !== "" ? value.id : undefined;
    const id = given !== undefined && !ids.has(given) ? given : options.newCallId();
    ids.add(id);
    called = true;
    const metadata = {
      ...(signature ? { [SIGNATURE]: signature } : {}),
      ...(given === undefined ? {} : { [CALL_ID]: given }),
    };
    out.push({
      type: "block",
      block: toolUse(
        id,
        options.decodeName(name),
        fromValue(value.args),
        Object.keys(metadata).length > 0 ? metadata : undefined,
      ),
    });
  };

  /** Each signature has a block of its own: joined, two would be none. */
  const signed = (kind: "text" | "thinking", signature: string, out: ModelEvent[]): void => {
    const before = blocks.marked(SIGNATURE);
    if (!blocks.open || (before !== undefined && before !== signature)) blocks.start(kind, out);
  };

  const part = (value: Record<string, unknown>, out: ModelEvent[]): boolean => {
    const signature =
      typeof value.thoughtSignature === "string" && value.thoughtSignature !== "" ? value.thoughtSignature : undefined;
    if (isRecord(value.functionCall)) {
      call(value.functionCall, signature, out);
      return true;
    }
    if (typeof value.text !== "string") return false;
    const kind = value.thought === true ? "thinking" : "text";
    if (signature) signed(kind, signature, out);
    blocks.append(kind, value.text, out);
    // A part with empty text may carry only the signature of what came before it.
    if (signature && blocks.marked(SIGNATURE) === undefined) blocks.mark(SIGNATURE, signature);
    return value.text !== "" || signature !== undefined;
  };

  const note = (value: unknown): boolean => {
    if (!isRecord(value)) return false;
    // By hand: every frame carries these figures.
    for (const field of USAGE_FIELDS) usage[field] = count(value[field]) ?? usage[field];
    return true;
  };

  const finish = (candidate: Record<string, unknown>): Failure | undefined => {
    const word = candidate.finishReason;
    if (typeof word !== "string" || word === "" || word === "FINISH_REASON_UNSPECIFIED") return undefined;
    if (FAULTS.has(word)) return classifier.fail("malformed_response", `the model's answer was unusable (${word})`);
    if (word === "MISSING_THOUGHT_SIGNATURE")
      return classifier.fail("invalid_request", "the history lacks a thought signature");
    stop = { kind: STOPS[word] ?? "end_turn", word };
    return undefined;
  };

  const frame = (value: Record<string, unknown>, out: ModelEvent[]): FrameVerdict => {
    if (value.error) return classifier.inBand(value);
    const payload = note(value.usageMetadata);
    let content = false;
    const candidates = Array.isArray(value.candidates) ? value.candidates : [];
    const candidate: unknown = candidates.find((c) => isRecord(c) && (c.index === undefined || c.index === 0));
    if (isRecord(candidate)) {
      const parts =
        isRecord(candidate.content) && Array.isArray(candidate.content.parts) ? candidate.content.parts : [];
      for (const item of parts) if (isRecord(item) && part(item, out)) content = true;
      const fault = finish(candidate);
      if (fault) return fault;
    }
    const blocked = isRecord(value.promptFeedback) ? value.promptFeedback.blockReason : undefined;
    if (typeof blocked === "string" && blocked !== "BLOCK_REASON_UNSPECIFIED")
      stop ??= { kind: "refusal", word: blocked };
    started ||= content;
    if (!stop) return payload || content ? "payload" : "skip";
    // Gateways that name a stop reason too early go on with the answer: that is no tail yet.
    const early = !started && stop.kind === "end_turn";
    return early || (content && !ends(candidate)) ? "payload" : "finished";
  };

  return {
    push(message, out) {
      const data = message.data.trim();
      if (data === "") return "skip";
      if (data === "[DONE]") return "done";
      let value: unknown;
      try {
        value = JSON.parse(data);
      } catch {
        // After the stop reason a frame that cannot be read takes nothing away from the answer.
        if (stop) return "skip";
        return classifier.fail("malformed_response", "a frame is no valid JSON");
      }
      if (Array.isArray(value) && isRecord(value[0])) value = value[0];
      if (isRecord(value) && message.event === "error") return classifier.inBand(value);
      return isRecord(value) ? frame(value, out) : classifier.fail("malformed_response", "a frame is no object");
    },
    end(out): Failure | undefined {
      blocks.close(out);
      if (!stop) return classifier.fail("stream_incomplete", "the stream ended before its finish reason");
      if (nameless && !called)
        return classifier.fail("malformed_response", "the tool calls of the answer have no names");
      // STOP says nothing of calls.
      out.push({
        type: "finished",
        stop: stop.kind === "end_turn" && called ? "tool_use" : stop.kind,
        stopDetail: stop.word,
        usage: total(usage),
      });
      return undefined;
    },
    abandon: (out) => blocks.close(out),
    finished: () => stop !== undefined,
    usage: () => total(usage),
  };
}

function ends(candidate: unknown): boolean {
  return isRecord(candidate) && typeof candidate.finishReason === "string" && candidate.finishReason !== "";
}

/** Cached tokens are inside the prompt figure; thoughts are outside the candidates' unless the sum says otherwise (provider-protocols 1.2). */
function total(usage: UsageFrame): Usage | null {
  const {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates = 0,
    thoughtsTokenCount: thoughts = 0,
    toolUsePromptTokenCount: tools = 0,
  } = usage;
  if (prompt === undefined && usage.candidatesTokenCount === undefined && usage.thoughtsTokenCount === undefined)
    return null;
  const cached = usage.cachedContentTokenCount ?? 0;
  const sum = (prompt ?? 0) + candidates;
  const inside =
    candidates >= thoughts && (usage.totalTokenCount === sum || (tools > 0 && usage.totalTokenCount === sum + tools));
  return {
    input: Math.max(0, Math.floor((prompt ?? 0) + tools - cached)),
    output: Math.floor(inside ? candidates : candidates + thoughts),
    cache_read: Math.floor(cached),
    cache_write: 0,
  };
}
