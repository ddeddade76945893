import type { Block, Message, ToolResultBlock, ToolUseBlock } from "../../contract/messages.ts";

/** A call and its result; no result = none was recorded and one is made up. */
export type Answered = {
  readonly call: ToolUseBlock;
  readonly result: { readonly message: Message; readonly block: ToolResultBlock } | undefined;
};

/**
 * Turns of a conversation as every wire needs them: roles alternate, each call has exactly one result right after it, results
 * come before other content. Messages are referred to, not copied, so that encoders can cache by identity.
 */
export type Turn =
  | { readonly role: "assistant"; readonly messages: readonly Message[]; readonly calls: readonly ToolUseBlock[] }
  | { readonly role: "user"; readonly results: readonly Answered[]; readonly messages: readonly Message[] };

/** Text of a made-up result. */
export const NO_RESULT = "The tool call was interrupted; it has no result.";

/**
 * The message normaliser (T-2, provider-protocols 1.5), pure. `keeps` says which blocks the wire sends at all; messages
 * without any are left out before roles are merged. Orphan results and repeated call ids are dropped.
 */
export function toTurns(
  messages: readonly Message[],
  keeps: (block: Block, message: Message) => boolean,
): readonly Turn[] {
  const turns: Turn[] = [];
  let open: readonly ToolUseBlock[] = [];
  for (let at = 0; at < messages.length; ) {
    const role = messages[at]?.role;
    const group: Message[] = [];
    for (; at < messages.length && messages[at]?.role === role; at++) {
      const message = messages[at];
      if (message?.content.some((block) => keeps(block, message))) group.push(message);
    }
    if (group.length === 0) continue;
    if (role === "assistant") {
      const last = turns.at(-1);
      // A user turn that had nothing to say lies between two assistant turns: they are one.
      const calls = distinctCalls(group, last?.role === "assistant" ? last.calls : []);
      if (last?.role === "assistant") turns[turns.length - 1] = { role, messages: [...last.messages, ...group], calls };
      else turns.push({ role, messages: group, calls });
      open = calls;
    } else {
      const results = answers(open, group);
      const rest = group.filter((message) =>
        message.content.some((block) => block.type !== "tool_result" && keeps(block, message)),
      );
      open = [];
      const last = turns.at(-1);
      if (results.length === 0 && rest.length === 0) continue;
      if (last?.role === "user")
        turns[turns.length - 1] = { role: "user", results: last.results, messages: [...last.messages, ...rest] };
      else turns.push({ role: "user", results, messages: rest });
    }
  }
  if (open.length > 0) turns.push({ role: "user", results: answers(open, []), messages: [] });
  return repaired(turns);
}

/** An assistant turn with calls that was never followed by a user turn with their results gets one. */
function repaired(turns: readonly Turn[]): readonly Turn[] {
  return turns.map((turn, at) => {
    const before = turns[at - 1];
    if (turn.role !== "user" || before?.role !== "assistant" || turn.results.length === before.calls.length)
      return turn;
    return {
      ...turn,
      results: before.calls.map((call) => turn.results.find((r) => r.call === call) ?? { call, result: undefined }),
    };
  });
}

function distinctCalls(group: readonly Message[], before: readonly ToolUseBlock[]): readonly ToolUseBlock[] {
  const calls = new Map(before.map((call) => [call.id, call]));
  for (const message of group)
    for (const block of message.content)
      if (block.type === "tool_use" && !calls.has(block.id)) calls.set(block.id, block);
  return calls.size === 0 ? NO_CALLS : [...calls.values()];
}
const NO_CALLS: readonly ToolUseBlock[] = [];

function answers(calls: readonly ToolUseBlock[], group: readonly Message[]): readonly Answered[] {
  if (calls.length === 0) return [];
  const found = new Map<string, { message: Message; block: ToolResultBlock }>();
  for (const message of group)
    for (const block of message.content)
      if (block.type === "tool_result" && !found.has(block.tool_use_id))
        found.set(block.tool_use_id, { message, block });
  return calls.map((call) => ({ call, result: found.get(call.id) }));
}

/** Text with something to see in it; providers refuse blank blocks. */
export function hasText(text: string): boolean {
  return /\S/.test(text);
}

/** The texts and images of a result, blank texts left out. */
export function resultParts(block: ToolResultBlock): readonly Exclude<ToolResultBlock["content"], string>[number][] {
  if (typeof block.content === "string") return hasText(block.content) ? [{ type: "text", text: block.content }] : [];
  return block.content.filter((part) => part.type === "image" || hasText(part.text));
}
