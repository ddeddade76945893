import type { Message, ToolResultBlock, ToolUseBlock } from "../../contract/messages.ts";
import type { ModelEvent, ModelProvider, ModelRequest } from "../../contract/model.ts";
import type { ProviderSettings } from "../transport/settings.ts";
import { planOf, type Step } from "./plan.ts";

/** Begins every answer: nobody may take the stand-in for a model. */
export const DEMO_NAME = "[demo provider, no model]";

const HELP =
  'I am a rule-based stand-in that works without a key. I understand "list the files", "write hello to a.txt", "read a.txt", "run `ls -la`", "search for hello", "find *.txt", and several of them joined with "then".';

/** Characters of tool output repeated in an answer. */
const SHOWN = 2_000;

/**
 * The offline stand-in (G-2): reads simple requests, drives the real tools one step a turn and tells what came back.
 * Deterministic: the same history gives the same answer, call ids included.
 */
export function createDemo(settings: ProviderSettings): ModelProvider {
  return {
    name: "demo",
    models: () => settings.models ?? [],
    async *stream(request, signal) {
      signal.throwIfAborted();
      const { text, call } = answer(request);
      // Word by word and in two batches, so that a client sees what a model's stream looks like.
      const deltas: ModelEvent[] = (text.match(/\S+\s*|\s+/g) ?? []).map((piece) => ({
        type: "text_delta",
        text: piece,
      }));
      const half = Math.ceil(deltas.length / 2);
      yield deltas.slice(0, half);
      await Promise.resolve();
      signal.throwIfAborted();
      const usage = { input: words(request.messages), output: deltas.length, cache_read: 0, cache_write: 0 };
      yield [
        ...deltas.slice(half),
        { type: "block", block: { type: "text", text } },
        ...(call ? [{ type: "block" as const, block: call }] : []),
        { type: "finished", stop: call ? "tool_use" : "end_turn", stopDetail: "demo", usage },
      ];
    },
  };
}

type Reply = { readonly text: string; readonly call: ToolUseBlock | undefined };

function answer(request: ModelRequest): Reply {
  const { prompt, at } = lastPrompt(request.messages);
  const since = request.messages.slice(at + 1);
  const done = since.flatMap((m) => m.content.filter((b): b is ToolUseBlock => b.type === "tool_use"));
  const results = since.flatMap((m) => m.content.filter((b): b is ToolResultBlock => b.type === "tool_result"));
  const { steps, unknown } = planOf(prompt);
  if (steps.length === 0)
    return { text: `${DEMO_NAME} I do not understand "${shorten(prompt, 200)}". ${HELP}`, call: undefined };
  const resultOf = (call: ToolUseBlock) => results.find((r) => r.tool_use_id === call.id);
  const step = steps[done.length];
  if (!step) {
    const all = done.map((call, n) => tell(steps[n], resultOf(call)));
    const rest =
      unknown.length > 0 ? `\n\nI did not understand: ${unknown.map((u) => `"${shorten(u, 200)}"`).join(", ")}.` : "";
    return { text: `${DEMO_NAME} Done.\n\n${all.join("\n\n")}${rest}`, call: undefined };
  }
  if (!request.tools.some((tool) => tool.name === step.tool))
    return { text: `${DEMO_NAME} I would ${step.about}, but there is no tool named ${step.tool}.`, call: undefined };
  const last = done.at(-1);
  const lead = last === undefined ? "" : resultOf(last)?.is_error ? "That did not work. " : "That is done. ";
  return {
    text: `${DEMO_NAME} ${lead}I will ${step.about}.`,
    call: { type: "tool_use", id: `demo_${at}_${done.length}`, name: step.tool, input: { ...step.input } },
  };
}

/** The person's last words: the last user message that has text and no results. */
function lastPrompt(messages: readonly Message[]): { readonly prompt: string; readonly at: number } {
  const at = messages.findLastIndex(
    (m) =>
      m.role === "user" && m.content.some((b) => b.type === "text") && !m.content.some((b) => b.type === "tool_result"),
  );
  const prompt = (messages[at]?.content ?? []).map((b) => (b.type === "text" ? b.text : "")).join("\n");
  return { prompt: prompt.trim(), at };
}

function tell(step: Step | undefined, result: ToolResultBlock | undefined): string {
  const content = result?.content ?? "no result";
  const text =
    typeof content === "string"
      ? content
      : content.map((part) => (part.type === "text" ? part.text : "[image]")).join("\n");
  return `${step?.about ?? "step"}${result?.is_error ? " (failed)" : ""}:\n${shorten(text.trim() === "" ? "(no output)" : text, SHOWN)}`;
}

function shorten(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

/** Stands in for a token count: words of the conversation. */
function words(messages: readonly Message[]): number {
  const text = messages.flatMap((m) => m.content.map((b) => (b.type === "text" ? b.text : ""))).join(" ");
  return text.split(/\s+/).filter((w) => w !== "").length;
}
