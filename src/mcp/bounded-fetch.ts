/** What sends a request to a server the operator named. */
export type Send = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Bytes of one answer; more would fill the isolate's memory. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The same `fetch`, whose answers break off after 16 MiB. */
export function boundedFetch(send: Send): Send {
  return async (url, init) => {
    const response = await send(url, init);
    if (!response.body) return response;
    let size = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.byteLength;
        if (size > MAX_BYTES) controller.error(new Error("the answer of the MCP server is too large"));
        else controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counter), response);
  };
}
