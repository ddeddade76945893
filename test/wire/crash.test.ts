import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { anthropicTurn, chatTurn } from "../support/wires.ts";
import { Wire } from "./support/client.ts";

const BASH = { id: "toolu_1", name: "Bash", input: { command: "echo hi > out.txt && cat out.txt" } };

let wire: Wire;
beforeAll(async () => {
  wire = await Wire.start();
});
afterAll(() => wire?.close());

describe("SIGKILL of the server", () => {
  test.each([
    ["anthropic", anthropicTurn],
    ["openai", chatTurn],
  ])("a parked question on the %s wire is answered after the restart and the run completes", async (provider, turn) => {
    // spec: T-4 T-5 H-7
    const name = `parked-${provider}`;
    await wire.session(name, [turn({ calls: [BASH] }), turn({ text: "It printed hi." })]);
    const stream = await wire.send(name, { prompt: "run it", provider });
    const asked = await stream.until("permission_request");
    const cut = expect(stream.toEnd()).rejects.toThrow();
    await wire.killAndRestart();
    await cut;

    const open = await wire.json<{ data: { id: string }[] }>(`/v1/sessions/${name}/permissions`);
    expect(open.data.map(({ id }) => id)).toEqual([asked.data.id]);
    expect((await wire.answer(name, asked.data.id, true)).status).toBe(200);
    const history = await wire.historyEndsWith(name, "It printed hi.");
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(JSON.stringify(history[2])).toContain("hi");
    expect(await (await wire.call(`/v1/sessions/${name}/files/out.txt`)).text()).toBe("hi\n");
    expect((await wire.answer(name, asked.data.id, true)).status).toBe(409);
    expect(wire.upstream.seen(name)).toHaveLength(2);
  });

  test("a run whose model stream was open finishes by itself after the restart", async () => {
    // spec: T-5
    const { chunks } = anthropicTurn({ text: "half of it" });
    await wire.session("midway", [{ chunks: chunks.slice(0, 3), end: "stall" }, anthropicTurn({ text: "whole" })]);
    const stream = await wire.send("midway", { prompt: "tell" });
    await stream.until("text_delta");
    const cut = expect(stream.toEnd()).rejects.toThrow();
    await wire.killAndRestart();
    await cut;

    // Nobody calls the session: its alarm is what wakes it.
    await vi.waitFor(() => expect(wire.upstream.seen("midway")).toHaveLength(2), { timeout: 20_000, interval: 50 });
    const history = await wire.historyEndsWith("midway", "whole");
    expect(history.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(JSON.stringify(history)).not.toContain("half");
    expect(wire.upstream.left("midway")).toBe(0);
  });

  test("finished history and files are there after the restart", async () => {
    // spec: H-6
    const call = { id: "w", name: "Write", input: { file_path: "kept.txt", content: "kept\n" } };
    await wire.session("kept", [anthropicTurn({ calls: [call] }), anthropicTurn({ text: "written" })]);
    await (await wire.send("kept", { prompt: "write" })).toEnd();
    await wire.killAndRestart();
    expect((await wire.history("kept")).at(-1)?.content.at(-1)?.text).toBe("written");
    expect(await (await wire.call("/v1/sessions/kept/files/kept.txt")).text()).toBe("kept\n");
    expect((await wire.post("/v1/sessions", { session_id: "kept" })).status).toBe(409);
  });
});
