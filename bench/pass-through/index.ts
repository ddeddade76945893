import { DurableObject } from "cloudflare:workers";

type Env = { readonly PIPE: DurableObjectNamespace<Pipe>; readonly UPSTREAM: string };

/** The yardstick: one object hop, one stored row a call, the upstream's bytes handed on as they come. */
export class Pipe extends DurableObject<Env> {
  override async fetch(request: Request): Promise<Response> {
    const { key, calls } = (await request.json()) as { key: string; calls: number };
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS calls (id INTEGER PRIMARY KEY, body TEXT)");
    const { readable, writable } = new IdentityTransformStream();
    this.ctx.waitUntil(this.#pump(key, calls, writable));
    return new Response(readable, { headers: { "content-type": "text/event-stream" } });
  }

  async #pump(key: string, calls: number, writable: WritableStream): Promise<void> {
    for (let i = 0; i < calls; i++) {
      this.ctx.storage.sql.exec("INSERT INTO calls (body) VALUES (?)", key);
      const answer = await fetch(`${this.env.UPSTREAM}/v1/messages`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({ prompt: "hi" }),
      });
      await answer.body?.pipeTo(writable, { preventClose: true });
    }
    await writable.close();
  }
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).pathname.slice(1);
    return env.PIPE.getByName(name).fetch(request);
  },
};
