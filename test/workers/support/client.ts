import { env, exports } from "cloudflare:workers";
import type { Reply } from "../../support/scripted-upstream.ts";
import { SseReader } from "../../support/sse-client.ts";

/** The product's own entry, called over HTTP from inside workerd. */
const worker = exports as unknown as {
  readonly default: { fetch(url: string, init?: RequestInit): Promise<Response> };
};

export function call(path: string, init: RequestInit = {}): Promise<Response> {
  return worker.default.fetch(`http://localhost${path}`, init);
}

export function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return call(path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** Gives the scripted model server its replies; requests find them by the provider key `key-<name>`. */
export async function script(name: string, replies: readonly Reply[]): Promise<void> {
  await fetch(`${env.UPSTREAM}/__script/${name}`, { method: "PUT", body: JSON.stringify(replies) });
}

/** The same for several agents: replies by the prompt that opens each one's conversation, turn by turn. */
export async function scriptAgents(name: string, agents: Record<string, readonly Reply[]>): Promise<void> {
  await fetch(`${env.UPSTREAM}/__agents/${name}`, { method: "PUT", body: JSON.stringify(agents) });
}

/** A request as the model server saw it; the body is a foreign wire's. */
// biome-ignore lint/suspicious/noExplicitAny: looked into by tests, field by field
export type Seen = { path: string; headers: Record<string, string>; body: any; aborted: boolean };

export async function seen(name: string): Promise<Seen[]> {
  return (await fetch(`${env.UPSTREAM}/__seen/${name}`)).json();
}

export async function createSession(id: string): Promise<string> {
  const response = await post("/v1/sessions", { session_id: id });
  if (response.status !== 201) throw new Error(`session not created: ${response.status} ${await response.text()}`);
  return id;
}

/** Sends a message with the scripted model behind it, by the request's own key. */
export async function send(session: string, scriptName: string, body: Record<string, unknown>): Promise<SseReader> {
  const headers = { "x-flyto-provider-key": `key-${scriptName}` };
  const response = await post(`/v1/sessions/${session}/messages`, { provider: "anthropic", ...body }, headers);
  if (!response.ok) throw new Error(`message refused: ${response.status} ${await response.text()}`);
  return new SseReader(response);
}

/** The session's object, by the name the product gives it. */
export function objectOf(session: string) {
  return env.SESSION.getByName(`default/${session}`);
}
