import type { Message } from "../../src/contract/messages.ts";
import type { ModelEvent, ModelRequest } from "../../src/contract/model.ts";
import { createModelRegistry } from "../../src/models/index.ts";
import { createProvider } from "../../src/providers/index.ts";
import { checkRequest, type Sent } from "./provider-assertions.ts";
import { assistantMessage, compareOutcome } from "./provider-events.ts";
import { bodyVariants, type Http, responder } from "./provider-http.ts";
import { messagesOf, type ProviderCase, requestOf } from "./provider-request.ts";

type Report = { passed: number; failed: { id: string; why: string }[]; skipped: { id: string; why: string }[] };

/** A provider case: what a server answers, and what must come of it. */
export function isProviderCase(json: unknown): boolean {
  return typeof json === "object" && json !== null && "provider" in json && "http" in json && "expect" in json;
}

/** Idle limit of cases that stall without naming one, milliseconds. */
const STALL_MS = 120;

/** Runs one case; a `close` case also with its body in one chunk and in chunks of one byte. All must agree. */
export async function runProviderCase(_file: string, json: unknown): Promise<Report> {
  // Our own case files: their shape is described beside them.
  const testCase = json as ProviderCase;
  for (const [variant, http] of bodyVariants(testCase.http)) {
    const why = await runOnce(testCase, http).catch((error: unknown) =>
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
    if (why !== undefined) return { passed: 0, failed: [{ id: testCase.id, why: `[${variant}] ${why}` }], skipped: [] };
  }
  return { passed: 1, failed: [], skipped: [] };
}

async function runOnce(testCase: ProviderCase, http: Http): Promise<string | undefined> {
  const sent: Sent[] = [];
  const request = requestOf(testCase);
  const events = await run(testCase, request, http, sent);
  const first = sent[0];
  if (!first) return "no request was sent";
  if (testCase.request_contains) {
    const why = checkRequest(testCase.request_contains, first);
    if (why !== undefined) return `request: ${why}`;
  }
  const why = compareOutcome(events, testCase.expect);
  if (why !== undefined) return why;
  return testCase.replay ? replay(testCase, request, http, events) : undefined;
}

/** Second step: what the stream gave goes back with further messages. */
async function replay(
  testCase: ProviderCase,
  request: ModelRequest,
  http: Http,
  events: readonly ModelEvent[],
): Promise<string | undefined> {
  const calls = events.flatMap((e) => (e.type === "block" && e.block.type === "tool_use" ? [e.block.id] : []));
  const more = messagesOf(testCase.replay?.messages ?? [], calls);
  const messages: readonly Message[] = [...request.messages, assistantMessage(events), ...more];
  const sent: Sent[] = [];
  await run(testCase, { ...request, messages }, http, sent);
  const second = sent[0];
  if (!second) return "replay: no request was sent";
  const why = testCase.replay ? checkRequest(testCase.replay.request_contains, second) : undefined;
  return why === undefined ? undefined : `replay: ${why}`;
}

async function run(
  testCase: ProviderCase,
  request: ModelRequest,
  http: Http,
  sent: Sent[],
): Promise<readonly ModelEvent[]> {
  const { config = {}, now } = testCase;
  const registry = createModelRegistry();
  const idleMs = config.stream_idle_ms ?? (http.end === "stall" ? STALL_MS : 10_000);
  const made = createProvider(testCase.provider, {
    apiKey:
      config.api_key ??
      (config.bearer_token || ["ollama", "lmstudio"].includes(testCase.provider) ? undefined : "test-key"),
    bearerToken: config.bearer_token,
    baseUrl: config.base_url,
    fetch: responder(http, sent),
    limits: { firstEventMs: idleMs, idleMs, totalMs: 30_000 },
    // One try: the case says what one answer of the server means.
    retry: { tries: 1 },
    lookup: (model) => registry.info(model, testCase.provider),
    ...(now === undefined ? {} : { clock: clockAt(now) }),
  });
  if (!made.ok) throw new Error(made.error.message);
  const events: ModelEvent[] = [];
  for await (const batch of made.value.stream(request, new AbortController().signal)) events.push(...batch);
  return events;
}

/** A clock that stands at the instant of the case when the case begins, and goes on from there. */
function clockAt(now: string | number) {
  const offset = (typeof now === "number" ? now : Date.parse(now)) - Date.now();
  return {
    now: () => Date.now() + offset,
    timer: (ms: number, fn: () => void) => {
      const id = setTimeout(fn, ms);
      return () => clearTimeout(id);
    },
  };
}
