import { CreatedSandbox, ProtocolError, REMOTE_ROOT } from "../../contract/sandbox-protocol.ts";
import { type Deadline, type Delay, startDeadline } from "./deadline.ts";

export type RemoteSandboxOptions = {
  /** Name of the backend that is told: `http`, `cloudflare`. */
  readonly backend: string;
  /** Of the server, without `/v1`. */
  readonly baseUrl: string;
  readonly token: string;
  /** One workspace each; see `SandboxId` for what it may be. */
  readonly sandboxId: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Bytes the workspace may hold; the server's own limit stays. */
  readonly maxBytes?: number;
  /** What a command may take beyond its own time before it is given up, milliseconds. */
  readonly graceMs?: number;
  /** Time of one file call, milliseconds. */
  readonly fileTimeoutMs?: number;
  readonly delay?: Delay;
};

export type Call = { readonly method: string; readonly path: string; readonly body?: string | Uint8Array };

/** What went wrong before or instead of an answer; `code` is the protocol's. */
export class CallFault extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The server's requests of one sandbox; makes the remote workspace at the first call that needs it. */
export class Connection {
  readonly #options: RemoteSandboxOptions;
  readonly #delay: Delay;
  readonly #base: string;
  #ready: Promise<CreatedSandbox> | undefined;
  /** The workspace was there before: a new one means that its files are lost. */
  #wasReady = false;
  #lost = false;

  constructor(options: RemoteSandboxOptions, delay: Delay) {
    this.#options = options;
    this.#delay = delay;
    this.#base = `${options.baseUrl.replace(/\/+$/, "")}/v1/sandbox`;
  }

  /** An answer of status 2xx, its body not yet read. Throws `CallFault`, and what `deadline` throws. */
  async send(call: Call, deadline: Deadline): Promise<Response> {
    await this.#prepare(deadline);
    try {
      return await this.#request(`/${this.#options.sandboxId}${call.path}`, call, deadline);
    } catch (error) {
      if (!(error instanceof CallFault) || error.code !== "no_sandbox") throw error;
      this.#ready = undefined;
      await this.#prepare(deadline);
      return await this.#request(`/${this.#options.sandboxId}${call.path}`, call, deadline);
    }
  }

  /** Whether the workspace has been lost since the last time this was asked. */
  takeLoss(): boolean {
    const lost = this.#lost;
    this.#lost = false;
    return lost;
  }

  /** Sends a request nobody waits for. */
  forget(call: Call, withinMs: number): void {
    const deadline = startDeadline(withinMs, this.#delay);
    const sent = this.#request(`/${this.#options.sandboxId}${call.path}`, call, deadline);
    void sent
      .then((answer) => answer.body?.cancel())
      .catch(() => {})
      .finally(deadline.end);
  }

  async #prepare(deadline: Deadline): Promise<void> {
    // Calls side by side share one creation, each with its own clock; the first one's request is under the first one's.
    this.#ready ??= this.#create();
    const making = this.#ready;
    making.catch(() => {
      if (this.#ready === making) this.#ready = undefined;
    });
    await deadline.race(making);
  }

  async #create(): Promise<CreatedSandbox> {
    const { sandboxId, maxBytes, fileTimeoutMs } = this.#options;
    const deadline = startDeadline(fileTimeoutMs ?? DEFAULT_FILE_TIMEOUT_MS, this.#delay);
    try {
      const body = JSON.stringify({ id: sandboxId, ...(maxBytes === undefined ? {} : { max_bytes: maxBytes }) });
      const answer = await this.#request("", { method: "POST", path: "", body }, deadline);
      const made = CreatedSandbox.safeParse(JSON.parse(await readText(answer, deadline)));
      if (!made.success || made.data.root !== REMOTE_ROOT) {
        throw new CallFault("unavailable", "the sandbox server speaks another protocol");
      }
      if (made.data.created && this.#wasReady) this.#lost = true;
      this.#wasReady = true;
      return made.data;
    } finally {
      deadline.end();
    }
  }

  async #request(path: string, { method, body }: Call, deadline: Deadline): Promise<Response> {
    const type = typeof body === "string" ? "application/json" : "application/octet-stream";
    const headers = {
      authorization: `Bearer ${this.#options.token}`,
      ...(body === undefined ? {} : { "content-type": type }),
    };
    const init = {
      method,
      headers,
      signal: deadline.signal,
      redirect: "manual" as const,
      ...(body === undefined ? {} : { body }),
    };
    const answer = await deadline.race(this.#options.fetch(this.#base + path, init));
    if (answer.ok) return answer;
    const text = await readText(answer, deadline).catch(() => "");
    throw toFault(answer.status, text);
  }
}

export const DEFAULT_FILE_TIMEOUT_MS = 30_000;
/** An error body is a line or two. */
const MAX_TEXT_BYTES = 64 * 1024;

/** The whole body, at most `maxBytes`; throws `too_large` beyond, so that an isolate's memory is never a stranger's to fill. */
export async function readBytes(answer: Response, deadline: Deadline, maxBytes: number): Promise<Uint8Array> {
  const reader = answer.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (reader) {
    const { done, value } = await deadline.race(reader.read());
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      void reader.cancel().catch(() => {});
      throw new CallFault("too_large", `the answer is longer than ${maxBytes} bytes`);
    }
    chunks.push(value);
  }
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** The same as text. */
export async function readText(answer: Response, deadline: Deadline, maxBytes = MAX_TEXT_BYTES): Promise<string> {
  return new TextDecoder().decode(await readBytes(answer, deadline, maxBytes));
}

function toFault(status: number, text: string): CallFault {
  try {
    const parsed = ProtocolError.safeParse(JSON.parse(text));
    if (parsed.success) return new CallFault(parsed.data.error.code, parsed.data.error.message);
  } catch {
    // A proxy's page, for example.
  }
  return new CallFault("unavailable", `the sandbox server answered ${status}`);
}
