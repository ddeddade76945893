import { call } from "./client.ts";

export type Block = {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly tool_use_id?: string;
  readonly content?: unknown;
};
export type Message = { readonly role: string; readonly content: readonly Block[] };

/** A session's messages, oldest first. */
export async function historyOf(session: string): Promise<Message[]> {
  const response = await call(`/v1/sessions/${session}/messages?limit=200`);
  const page = (await response.json()) as { data: Message[]; next_cursor: string | null };
  if (page.next_cursor !== null) throw new Error("the history has more than one page");
  return page.data.reverse();
}

/** Calls without exactly one result in the very next message, and results that answer no call (T-2). */
export function unpaired(messages: readonly Message[]): string[] {
  return messages.flatMap((message, i) => {
    const asked = message.content.flatMap((block) => (block.type === "tool_use" ? [block.id ?? ""] : []));
    const given = (messages[i + 1]?.content ?? []).flatMap((block) =>
      block.type === "tool_result" ? [block.tool_use_id ?? ""] : [],
    );
    const wrong = asked.sort().join() !== given.sort().join();
    return wrong ? [`message ${i + 1}: calls ${asked.join()}, results ${given.join()}`] : [];
  });
}
