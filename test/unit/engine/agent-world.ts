import { expect } from "vitest";
import type { EngineEvent } from "../../../src/contract/events.ts";
import type { ModelEvent, ModelProvider, ModelRequest } from "../../../src/contract/model.ts";
import type { Tool } from "../../../src/contract/tools.ts";
import { createAgentTool } from "../../../src/tools/agents/agent.ts";
import { createSendMessageTool } from "../../../src/tools/agents/send-message.ts";
import { createTeamTool } from "../../../src/tools/agents/team.ts";
import { treeOf, type World } from "./world.ts";

/** The tools as the engine sees them; inputs are checked by their schemas. */
export const AGENT = createAgentTool() as Tool;
export const TEAM = createTeamTool() as Tool;
export const SEND = createSendMessageTool() as Tool;

export const agent = (id: string, prompt: string, more: Record<string, unknown> = {}) => ({
  id,
  name: "Agent",
  input: { description: prompt, prompt, ...more },
});
export const team = (id: string, ...names: string[]) => ({
  id,
  name: "Team",
  input: { members: names.map((name) => ({ name, task: `task of ${name}` })) },
});
export const message = (id: string, to: string, text: string) => ({ id, name: "SendMessage", input: { to, text } });

/** What the conversation was opened with: tells the agents of a run apart. */
export function opening(request: ModelRequest): string {
  const block = request.messages[0]?.content[0];
  return block?.type === "text" ? block.text : "";
}

/** The newest message of the conversation, as JSON. */
export function lastOf(request: ModelRequest): string {
  return JSON.stringify(request.messages.at(-1)?.content);
}

/**
 * A model that answers by what it is asked, so that agents may run in any order. `turn` counts the answers it can see.
 * `pause` is what a call takes before it answers: by default so long that calls of other agents begin meanwhile.
 */
export function modelOf(
  answer: (prompt: string, turn: number, request: ModelRequest) => ModelEvent[],
  pause: (request: ModelRequest) => Promise<void> = () => new Promise((resolve) => setTimeout(resolve, 1)),
) {
  const requests: ModelRequest[] = [];
  let open = 0;
  let most = 0;
  const provider: ModelProvider = {
    name: "scripted",
    async *stream(request, signal) {
      // The message list grows in place; keep what was there at the time of the call.
      requests.push({ ...request, messages: [...request.messages] });
      most = Math.max(most, ++open);
      try {
        await pause(request);
        signal.throwIfAborted();
        const turn = request.messages.filter(({ role }) => role === "assistant").length;
        for (const event of answer(opening(request), turn, request)) yield [event];
      } finally {
        open--;
      }
    },
    models: () => [],
  };
  return { provider, requests, most: () => most };
}

export function eventsOf<T extends EngineEvent["type"]>(target: World, type: T): Extract<EngineEvent, { type: T }>[] {
  return target.events.filter((event): event is Extract<EngineEvent, { type: T }> => event.type === type);
}

/** Each tool call has its result in the message after it, whoever called (T-2). */
export function expectPaired(target: World): void {
  const tree = treeOf(target);
  const folds = [tree.root, ...target.log.flatMap((entry) => (entry.agent ? [tree.foldOf(entry.agent)] : []))];
  for (const fold of folds) {
    for (const [at, message] of (fold?.messages ?? []).entries()) {
      const asked = message.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
      const answered = (fold?.messages[at + 1]?.content ?? []).flatMap((block) =>
        block.type === "tool_result" ? [block.tool_use_id] : [],
      );
      if (asked.length > 0) expect(answered).toEqual(asked);
    }
  }
}
