import type { ExecEvent, ExecRequest, FileAnswer, FileStat, Sandbox } from "../../../../src/contract/sandbox.ts";
import {
  CreatedSandbox,
  ExecExit,
  fromWireStat,
  ProtocolError,
  toFileCode,
  WireEntries,
  WirePath,
  WireStat,
} from "../../../../src/contract/sandbox-protocol.ts";

/** Answers a request of the sandbox protocol. */
export type Wire = (request: Request) => Promise<Response>;

/** The plainest reading of the sandbox protocol, for tests of what speaks it; no deadlines and no retries of its own. */
export async function openProtocolSandbox(
  wire: Wire,
  base: string,
  token: string,
  maxBytes?: number,
): Promise<Sandbox> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const send = (method: string, path: string, body?: string | Blob, signal?: AbortSignal) =>
    wire(
      new Request(`${base}/v1/sandbox${path}`, {
        method,
        headers,
        ...(body ? { body } : {}),
        ...(signal ? { signal } : {}),
      }),
    );
  const created = await send("POST", "", JSON.stringify({ ...(maxBytes ? { max_bytes: maxBytes } : {}) }));
  const { id, root } = CreatedSandbox.parse(await created.json());
  const call = async <T>(
    method: string,
    path: string,
    read: (response: Response) => Promise<T>,
    body?: string | Blob,
  ): Promise<FileAnswer<T>> => {
    const response = await send(method, `/${id}/${path}`, body);
    if (response.ok) return { ok: true, value: await read(response) };
    const { code, message } = ProtocolError.parse(await response.json()).error;
    return { ok: false, error: { code: toFileCode(code), message } };
  };
  const at = (name: string, path: string, more = "") => `${name}?path=${encodeURIComponent(path)}${more}`;
  // `.` and `..` would be taken out of an address by the client; encoded whole, the path arrives as it is.
  const file = (path: string) => `file/${encodeURIComponent(path.replace(/^\//, ""))}`;
  const stat = async (response: Response) => fromWireStat(WireStat.parse(await response.json()));
  const entries = async (response: Response) => WireEntries.parse(await response.json()).entries.map(fromWireStat);
  const nothing = async () => undefined;
  const absolute = (path: string) => path.startsWith("/") && !path.includes("\0");
  const invalid = { ok: false, error: { code: "invalid", message: "no absolute path" } } as const;

  return {
    backend: "protocol",
    root,
    files: {
      readFile: async (path) =>
        absolute(path)
          ? call("GET", file(path), async (response) => new Uint8Array(await response.arrayBuffer()))
          : invalid,
      writeFile: (path, content) => call("PUT", file(path), nothing, new Blob([content.slice()])),
      stat: (path) => call("GET", at("stat", path), stat),
      lstat: (path) => call("GET", at("stat", path, "&follow=false"), stat),
      list: (path) => call("GET", at("list", path), entries),
      async *walk(path, limit): AsyncGenerator<FileStat> {
        const answer = await call("GET", at("walk", path, `&limit=${limit}`), entries);
        if (answer.ok) yield* answer.value;
      },
      remove: (path, { recursive }) => call("DELETE", `${file(path)}?recursive=${recursive}`, nothing),
      mkdir: (path) => call("POST", "mkdir", nothing, JSON.stringify({ path })),
      realPath: (path) =>
        call("GET", at("realpath", path), async (response) => WirePath.parse(await response.json()).path),
    },
    exec: (request, signal) => exec(request, signal, (body, stop) => send("POST", `/${id}/exec`, body, stop)),
  };
}

async function* exec(
  request: ExecRequest,
  signal: AbortSignal,
  open: (body: string, signal: AbortSignal) => Promise<Response>,
): AsyncGenerator<ExecEvent> {
  signal.throwIfAborted();
  const { command, cwd, env, timeoutMs, stdin } = request;
  const exec_id = crypto.randomUUID();
  const body = JSON.stringify({ command, cwd, env, timeout_ms: timeoutMs, exec_id, ...(stdin ? { stdin } : {}) });
  const response = await orAborted(open(body, signal), signal);
  if (!response.body) throw new Error("no stream");
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await orAborted(reader.read(), signal);
      held += decoder.decode(value, { stream: !done });
      const frames = held.split("\n\n");
      held = frames.pop() ?? "";
      for (const frame of frames) {
        const [, event, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
        if (event === "stdout" || event === "stderr")
          yield { type: event, data: new Uint8Array(Buffer.from(data, "base64")) };
        if (event === "error") throw new Error(data);
        if (event !== "exit") continue;
        const exit = ExecExit.parse(JSON.parse(data));
        yield { type: "exit", exitCode: exit.exit_code, timedOut: exit.timed_out, cwd: exit.cwd };
        return;
      }
      if (done) throw new Error(`the stream ended without an exit: ${held}`);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
