import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { CaseHarness } from "../../../../scripts/cases/http-runner.ts";
import { testApp } from "./fakes.ts";

/** The app over fakes behind a real socket: what needs an engine is not there. */
export const nodeHarness: CaseHarness = {
  async start(config) {
    const { app, sessions } = testApp({
      BEARER_TOKEN: config.bearer,
      CORS_ORIGINS: config.cors,
      RATE_LIMIT_PER_MINUTE: config.rate,
    });
    const server = createServer({ maxHeaderSize: 128 * 1024 }, async (incoming, outgoing) => {
      const response = await app.fetch(toRequest(incoming));
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body) Readable.fromWeb(response.body as NodeStream).pipe(outgoing);
      else outgoing.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return {
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      async stop() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
      park: async (id) => sessions.park(id),
    };
  },
};

function toRequest(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  const method = incoming.method ?? "GET";
  const withBody = method !== "GET" && method !== "HEAD";
  return new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method,
    headers,
    ...(withBody ? { body: Readable.toWeb(incoming), duplex: "half" } : {}),
  } as RequestInit);
}
