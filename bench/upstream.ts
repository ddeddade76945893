import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { anthropicTurn } from "../test/support/wires.ts";

/** What the model server answers, by the key it is called with. */
const DELTAS = 200;
const text = anthropicTurn({ text: "" }).chunks;
const burst = [
  ...text.slice(0, 2),
  ...Array.from(
    { length: DELTAS },
    (_, i) =>
      `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: `word ${i} ` } })}\n\n`,
  ),
  ...text.slice(2),
];
const todo = { todos: [{ content: "x", status: "pending" }] };
const tool = anthropicTurn({ calls: [{ id: "toolu_1", name: "TodoWrite", input: todo }] }).chunks;
const short = anthropicTurn({ text: "ok" }).chunks;

/** Pause between the deltas of a model that answers at its own pace, milliseconds. */
const PACE_MS = 20;

/** A model server as fast as Node lets it be. `burst`: 200 deltas at once; `live`: at a model's pace; `tools`: five tool turns, then an answer; `short`. */
export async function startUpstream(): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const kind = String(request.headers["x-api-key"]).replace("key-", "").split("-")[0];
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (kind === "live") return void atPace(response);
      for (const chunk of kind === "burst"
        ? burst
        : kind === "tools"
          ? toolTurn(body, request.headers["x-api-key"])
          : short)
        response.write(chunk);
      response.end();
    });
  });
  async function atPace(response: ServerResponse): Promise<void> {
    for (const chunk of burst) {
      response.write(chunk);
      await setTimeout(PACE_MS);
    }
    response.end();
  }
  const turns = new Map<string, number>();
  function toolTurn(_: string, key: unknown): readonly string[] {
    const n = (turns.get(String(key)) ?? 0) + 1;
    turns.set(String(key), n % 6);
    return n === 6 ? short : tool;
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
