import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { createParser } from "eventsource-parser";
import { createTestHarness } from "wrangler";

/**
 * The whole engine on this machine, in one go: starts the real Worker (workerd, objects, D1 and R2 in local mode, a free
 * port), sends a prompt through the offline `demo` provider, prints the stream, answers its permission request.
 * `npm run demo -- "your prompt"`; `--yes` answers every question with yes.
 */
const DEFAULT_PROMPT =
  "write hello to hello.txt, then run `cat hello.txt | tr a-z A-Z > loud.txt && ls -la && cat loud.txt`";

const { values, positionals } = parseArgs({ options: { yes: { type: "boolean" } }, allowPositionals: true });
const prompt = positionals.join(" ") || DEFAULT_PROMPT;
const interactive = process.stdin.isTTY === true && values.yes !== true;
const color = process.stdout.isTTY
  ? (code: number, text: string) => `\u001b[${code}m${text}\u001b[0m`
  : (_: number, text: string) => text;

const server = createTestHarness({
  workers: [
    { configPath: "wrangler.toml", vars: { DEFAULT_PROVIDER: "demo", BEARER_TOKEN: "", RATE_LIMIT_PER_MINUTE: "0" } },
  ],
});
const { url } = await server.listen();
await server.getWorker().applyD1Migrations("DB");
console.log(color(2, `engine running at ${url.origin}`));
try {
  const session = await post("/v1/sessions", {});
  const { session_id } = (await session.json()) as { session_id: string };
  console.log(color(2, `POST /v1/sessions → ${session_id}`));
  console.log(`${color(1, "you:")} ${prompt}\n`);
  const stream = await post(`/v1/sessions/${session_id}/messages`, { prompt, provider: "demo" });
  if (!stream.ok || !stream.body) throw new Error(`the engine answered ${stream.status}: ${await stream.text()}`);
  await follow(stream.body, session_id);
} finally {
  await server.close();
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(new URL(path, url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function follow(body: ReadableStream<Uint8Array>, session: string): Promise<void> {
  const waiting: { event: string; data: string }[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => waiting.push({ event: event ?? "message", data }) });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    for (const { event, data } of waiting.splice(0)) await show(event, JSON.parse(data) as Fields, session);
  }
}

type Fields = Readonly<Record<string, unknown>>;

async function show(event: string, data: Fields, session: string): Promise<void> {
  switch (event) {
    case "text_delta":
      process.stdout.write(String(data.text));
      return;
    case "text":
      process.stdout.write("\n");
      return;
    case "tool_use":
      console.log(color(36, `→ ${data.tool_name} ${JSON.stringify(data.input)}`));
      return;
    case "tool_result":
      console.log(color(data.is_error ? 31 : 2, indent(String(data.output))));
      return;
    case "permission_request":
      return answer(data, session);
    case "done":
      console.log(
        color(2, `done: ${data.stop_reason}, ${data.turn_count} turns, ${data.total_tokens} tokens, $${data.cost_usd}`),
      );
      return;
    case "error":
      console.log(color(31, `error: ${data.error}`));
      process.exitCode = 1;
      return;
    default:
      return;
  }
}

async function answer(request: Fields, session: string): Promise<void> {
  console.log(color(33, `? ${request.message}`));
  const allow = interactive ? await ask("  allow? [y/N] ") : true;
  if (!interactive) console.log(color(33, "  allow: yes"));
  const reply = await post(`/v1/sessions/${session}/permissions/${request.id}`, { allow });
  if (!reply.ok) console.log(color(31, `  the answer was refused: ${await reply.text()}`));
}

async function ask(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const text = await terminal.question(question);
  terminal.close();
  return /^y(es)?$/i.test(text.trim());
}

function indent(text: string): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
