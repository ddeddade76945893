import { expect, test } from "vitest";
import type { AssistantBlock, Message } from "../../../src/contract/messages.ts";
import { planOf } from "../../../src/providers/demo/plan.ts";
import { collect, providerWith, REQUEST } from "./support/harness.ts";

const tools = ["Bash", "Read", "Write", "Glob", "Grep"].map((name) => ({ name, description: "", inputSchema: {} }));
const user = (text: string): Message => ({ role: "user", content: [{ type: "text", text }] });
const blocks = async (messages: readonly Message[]) => {
  const events = await collect(providerWith("demo", []).provider, { ...REQUEST, messages, tools });
  return { events, content: events.flatMap((e): AssistantBlock[] => (e.type === "block" ? [e.block] : [])) };
};

// spec: G-2
test.each([
  ["list the files", [["Glob", { pattern: "**/*" }]]],
  ["Please list the files.", [["Glob", { pattern: "**/*" }]]],
  ["Which files are here?", [["Glob", { pattern: "**/*" }]]],
  ["write hello to a.txt", [["Write", { file_path: "a.txt", content: "hello" }]]],
  ['write "hello there" to notes/a.txt.', [["Write", { file_path: "notes/a.txt", content: "hello there" }]]],
  ["read a.txt", [["Read", { file_path: "a.txt" }]]],
  ["run `ls -la`", [["Bash", { command: "ls -la" }]]],
  ["run `echo a; echo b then c`", [["Bash", { command: "echo a; echo b then c" }]]],
  ["search for hello", [["Grep", { pattern: "hello" }]]],
  ["find *.txt", [["Glob", { pattern: "*.txt" }]]],
  [
    "write hello to a.txt then read a.txt",
    [
      ["Write", { file_path: "a.txt", content: "hello" }],
      ["Read", { file_path: "a.txt" }],
    ],
  ],
  [
    "write hello to a.txt, and then read a.txt and then run `pwd`",
    [
      ["Write", { file_path: "a.txt", content: "hello" }],
      ["Read", { file_path: "a.txt" }],
      ["Bash", { command: "pwd" }],
    ],
  ],
])("reads %j", (prompt, expected) => {
  expect(planOf(prompt).steps.map((s) => [s.tool, s.input])).toEqual(expected);
});

test("drives one tool a turn and answers with what came back", async () => {
  const history: Message[] = [user("write hello to a.txt then read a.txt")];
  const first = await blocks(history);
  expect(first.events.at(-1)).toMatchObject({ type: "finished", stop: "tool_use" });
  expect(first.events.filter((e) => e.type === "text_delta").length).toBeGreaterThan(3);
  const call = first.content.find((b) => b.type === "tool_use");
  history.push(
    { role: "assistant", content: first.content },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call?.type === "tool_use" ? call.id : "", content: "written" }],
    },
  );
  const second = await blocks(history);
  const read = second.content.find((b) => b.type === "tool_use");
  expect(read).toMatchObject({ name: "Read", input: { file_path: "a.txt" } });
  history.push(
    { role: "assistant", content: second.content },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: read?.type === "tool_use" ? read.id : "", content: "hello" }],
    },
  );
  const third = await blocks(history);
  expect(third.events.at(-1)).toMatchObject({ stop: "end_turn" });
  expect(third.content[0]).toMatchObject({ type: "text", text: expect.stringMatching(/demo provider[\s\S]*hello/) });
});

test("names itself in every answer and says what it understands", async () => {
  const { content } = await blocks([user("what is the meaning of life?")]);
  expect(content[0]).toMatchObject({
    text: expect.stringMatching(/^\[demo provider, no model\][\s\S]*list the files/),
  });
});
