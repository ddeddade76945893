import { afterAll, beforeAll, expect, test } from "vitest";
import { anthropicTurn } from "../support/wires.ts";
import {
  NO_BUBBLEWRAP,
  type ServerProcess,
  startSandboxServer,
  TOKEN,
} from "../unit/sandbox/support/sandbox-server.ts";
import { Wire } from "./support/client.ts";

let machine: ServerProcess;
let wire: Wire;
beforeAll(async () => {
  if (NO_BUBBLEWRAP) return;
  machine = await startSandboxServer();
  wire = await Wire.start({ SANDBOX_BACKEND: "http", SANDBOX_URL: machine.url, SANDBOX_TOKEN: TOKEN });
});
afterAll(async () => {
  await wire?.close();
  await machine?.close();
});

test.skipIf(NO_BUBBLEWRAP)(
  "a session whose workspace lies on a sandbox server: shell and file tools see one tree",
  async () => {
    // spec: X-1 X-3 G-4
    const name = "remote";
    const bash = (id: string, command: string) => ({ id, name: "Bash", input: { command } });
    await wire.session(name, [
      anthropicTurn({
        calls: [{ id: "w", name: "Write", input: { file_path: "/workspace/a/b.txt", content: "from Write\n" } }],
      }),
      anthropicTurn({
        calls: [bash("b1", 'cd a && cat b.txt && echo "$BASH_VERSION" | cut -c1 > v.txt && echo more >> b.txt')],
      }),
      anthropicTurn({
        calls: [bash("b2", "pwd; uname -s"), { id: "r", name: "Read", input: { file_path: "/workspace/a/b.txt" } }],
      }),
      anthropicTurn({ text: "done" }),
    ]);
    const stream = await wire.send(name, { prompt: "go", permission_rules: { allow: ["Bash"] } });
    await stream.toEnd();
    const outputs = stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => String(data.output));
    expect(stream.seen.at(-1)?.type).toBe("done");
    expect(outputs[1]).toContain("from Write");
    expect(outputs[2]).toContain("/workspace/a\nLinux");
    expect(outputs[3]).toContain("more");
    expect(await (await wire.call(`/v1/sessions/${name}/files/a/v.txt`)).text()).toBe("5\n");
    expect((await wire.call(`/v1/sessions/${name}`, { method: "DELETE" })).status).toBe(200);
  },
);

test.skipIf(NO_BUBBLEWRAP)("a fork has a workspace of its own with the same files, links and modes", async () => {
  // spec: H-20 X-3
  const name = "remote-fork";
  const bash = (command: string) => ({ id: "b", name: "Bash", input: { command } });
  // More than one part of an archive, and nothing that can be packed smaller.
  const make =
    "mkdir -p a && echo one > a/x && ln -s a/x link && echo ls > run && chmod 750 run && head -c 9000000 /dev/urandom > big";
  await wire.session(name, [anthropicTurn({ calls: [bash(make)] }), anthropicTurn({ text: "made" })]);
  wire.upstream.script("remote-copy", [
    anthropicTurn({ calls: [bash("cat link; stat -c %a run; echo two > a/x; ls -A")] }),
    anthropicTurn({ text: "changed" }),
  ]);
  const allowed = { prompt: "go", permission_rules: { allow: ["Bash"] } };
  await (await wire.send(name, allowed)).toEnd();
  const forked = await wire.post(`/v1/sessions/${name}/fork`, { session_id: "remote-copy" });
  expect([forked.status, await forked.json()]).toMatchObject([201, { session_id: "remote-copy" }]);
  const bytes = async (id: string) =>
    new Uint8Array(await (await wire.call(`/v1/sessions/${id}/files/big`)).arrayBuffer());
  expect(Buffer.compare(await bytes("remote-copy"), await bytes(name))).toBe(0);
  const stream = await wire.send("remote-copy", allowed);
  await stream.toEnd();
  const [result] = stream.seen.filter(({ type }) => type === "tool_result").map(({ data }) => String(data.output));
  expect(result).toBe("one\n750\na\nbig\nlink\nrun");
  expect(await (await wire.call(`/v1/sessions/${name}/files/a/x`)).text()).toBe("one\n");
  expect(await (await wire.call(`/v1/sessions/${name}/files/`)).text()).not.toContain(".fork-");
});
