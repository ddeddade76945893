import { rm } from "node:fs/promises";
import { expect, inject, vi } from "vitest";
import { type Reply, ScriptedUpstream } from "../../support/scripted-upstream.ts";
import { type RunningServer, type ServerOptions, startServer } from "../../support/server.ts";
import { SseReader } from "../../support/sse-client.ts";

type Fields = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string>>;
export type HistoryMessage = { readonly role: string; readonly content: readonly Fields[] };

/** A server with a scripted model behind it, and a plain HTTP client in front. */
export class Wire {
  readonly upstream: ScriptedUpstream;
  readonly #vars: Record<string, string>;
  #server: RunningServer;

  private constructor(upstream: ScriptedUpstream, vars: Record<string, string>, server: RunningServer) {
    this.upstream = upstream;
    this.#vars = vars;
    this.#server = server;
  }

  static async start(more: Record<string, string> = {}): Promise<Wire> {
    const upstream = await ScriptedUpstream.start();
    const vars = {
      ANTHROPIC_BASE_URL: upstream.url,
      OPENAI_BASE_URL: upstream.url,
      ENCRYPTION_KEY: Buffer.alloc(32, "k").toString("base64"),
      RATE_LIMIT_PER_MINUTE: "0",
      KEEPALIVE_SECONDS: "0.3",
      HEARTBEAT_SECONDS: "0.5",
      ...more,
    };
    return new Wire(upstream, vars, await startServer({ bundleDir: inject("bundleDir"), vars }));
  }

  async close(): Promise<void> {
    await this.#server.stop();
    await rm(this.#server.dataDir, { recursive: true, force: true });
    await this.upstream.close();
  }

  /** SIGKILL, then a new server on the same data. */
  async killAndRestart(): Promise<void> {
    await this.#server.kill();
    const options: ServerOptions = { bundleDir: inject("bundleDir"), vars: this.#vars };
    this.#server = await startServer({ ...options, persistTo: this.#server.dataDir });
  }

  get output(): string {
    return this.#server.output();
  }

  call(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#server.baseUrl}${path}`, init);
  }

  post(path: string, body: unknown, headers: Headers = {}, signal?: AbortSignal): Promise<Response> {
    return this.call(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  }

  async json<T = Fields>(path: string): Promise<T> {
    const response = await this.call(path);
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  }

  /** A session and a script of the same name. */
  async session(name: string, replies: readonly Reply[]): Promise<void> {
    this.upstream.script(name, replies);
    expect((await this.post("/v1/sessions", { session_id: name })).status).toBe(201);
  }

  /** Sends a message in the session of this name, to the script of this name. */
  async send(name: string, body: Fields, signal?: AbortSignal): Promise<SseReader> {
    const path = `/v1/sessions/${name}/messages`;
    const all = { provider: "anthropic", ...body };
    return new SseReader(await this.post(path, all, { "x-flyto-provider-key": `key-${name}` }, signal));
  }

  /** One stateless run with the script of this name. */
  async run(name: string, replies: readonly Reply[], body: Fields, signal?: AbortSignal): Promise<SseReader> {
    this.upstream.script(name, replies);
    const all = { provider: "anthropic", ...body };
    return new SseReader(await this.post("/v1/agent/run", all, { "x-flyto-provider-key": `key-${name}` }, signal));
  }

  answer(name: string, id: unknown, allow: boolean, reason?: string): Promise<Response> {
    return this.post(`/v1/sessions/${name}/permissions/${String(id)}`, { allow, reason });
  }

  /** Oldest first. */
  async history(name: string): Promise<HistoryMessage[]> {
    const { data } = await this.json<{ data: HistoryMessage[] }>(`/v1/sessions/${name}/messages`);
    return data.reverse();
  }

  /** Waits until the history's last text is this one. */
  async historyEndsWith(name: string, text: string): Promise<HistoryMessage[]> {
    return vi.waitFor(
      async () => {
        const history = await this.history(name);
        expect(history.at(-1)?.content.at(-1)?.text).toBe(text);
        return history;
      },
      { timeout: 20_000, interval: 100 },
    );
  }
}
