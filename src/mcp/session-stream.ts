import type { McpServer } from "../contract/mcp.ts";
import { type DialOptions, dial, type Link, type McpHandle } from "./dial.ts";

type Elicit = NonNullable<DialOptions["elicit"]>;

type StreamOptions = Pick<DialOptions, "send" | "timeoutMs"> & { readonly newTag: () => string };

/**
 * The session's own stream, which some servers put their questions on instead of the call's. There may be one of it only, so
 * all calls of a session share it, and it is open while any of them runs. It does not say whose question it carries: that
 * is taken for the oldest call's.
 */
export class SessionStream {
  readonly #server: McpServer;
  readonly #options: StreamOptions;
  readonly #calls = new Set<Elicit>();
  #open: { readonly handle: McpHandle; readonly link: Promise<Link | undefined> } | undefined;

  constructor(server: McpServer, options: StreamOptions) {
    this.#server = server;
    this.#options = options;
  }

  /** A call begins, and is answered for until what this gives is called. Resolves when the stream is open, or cannot be. */
  async join(handle: McpHandle, elicit: Elicit): Promise<() => Promise<void>> {
    if (handle.era !== "legacy" || handle.session === undefined) return async () => undefined;
    this.#calls.add(elicit);
    if (this.#open?.handle !== handle) {
      void this.#close();
      this.#open = { handle, link: this.#dial(handle).catch(() => undefined) };
    }
    await this.#open.link;
    return async () => {
      this.#calls.delete(elicit);
      if (this.#calls.size === 0) await this.#close();
    };
  }

  #dial(handle: McpHandle): Promise<Link> {
    const { send, timeoutMs, newTag } = this.#options;
    return dial(this.#server, handle, {
      ...{ send, timeoutMs, tag: newTag(), stream: true, signal: AbortSignal.timeout(timeoutMs) },
      elicit: async (request, signal) => {
        const [oldest] = this.#calls;
        return oldest ? oldest(request, signal) : { action: "decline" };
      },
    });
  }

  async #close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await (await open?.link)?.close();
  }
}
