import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { json, readBytes, readJson } from "./fake-envd.ts";
import { type Room, usedBytes } from "./fake-envd-files.ts";

type StartRequest = {
  readonly process: { cmd: string; args?: string[]; envs?: Record<string, string>; cwd?: string };
  readonly stdin?: boolean;
};

/** `process.Process` after envd's `services/process`: real processes, ended one by one as envd ends them, not by group. */
export function createFakeProcesses(room: Room) {
  const running = new Map<number, ChildProcess>();

  async function start(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const whole = await readBytes(request);
    const asked: StartRequest = JSON.parse(whole.subarray(5, 5 + whole.readUInt32BE(1)).toString());
    const { cmd, args = [], envs = {}, cwd = room.home } = asked.process;
    response.writeHead(200, { "content-type": "application/connect+json" });
    const send = (flags: number, message: unknown): boolean => response.write(envelope(flags, message));
    if (!existsSync(cwd)) {
      send(2, { error: { code: "invalid_argument", message: `cwd '${cwd}' does not exist` } });
      response.end();
      return;
    }
    const env = { PATH: process.env.PATH ?? "", HOME: room.home, USER: "user", LOGNAME: "user", ...envs };
    const stdin = asked.stdin === false ? "ignore" : "pipe";
    const shell = ["-c", `${await fileLimit(room)} exec "$@"`, "--", cmd, ...args];
    const child = spawn("/bin/bash", shell, { cwd, env, stdio: [stdin, "pipe", "pipe"] });
    const pid = child.pid ?? 0;
    running.set(pid, child);
    child.stdin?.on("error", () => undefined);
    send(0, { event: { start: { pid } } });
    const pass = (name: "stdout" | "stderr", from: Readable | null) =>
      from?.on("data", (data: Buffer) => {
        if (response.destroyed || send(0, { event: { data: { [name]: data.toString("base64") } } })) return;
        from.pause();
        response.once("drain", () => from.resume());
      });
    pass("stdout", child.stdout);
    pass("stderr", child.stderr);
    response.once("close", () => {
      child.stdout?.resume();
      child.stderr?.resume();
    });
    const limit = Number(request.headers["connect-timeout-ms"] ?? 0);
    const timer = limit > 0 ? setTimeout(() => child.kill("SIGKILL"), limit) : undefined;
    child.once("exit", () => {
      clearTimeout(timer);
      running.delete(pid);
    });
    // Once the output is closed as well, as older versions of envd have it: a job in the background holds it open.
    child.once("close", (code, signal) => {
      const status = signal ? `signal: ${signal}` : `exit status ${code}`;
      send(0, { event: { end: { ...(code === 0 ? {} : { exitCode: code ?? -1 }), exited: signal === null, status } } });
      send(2, {});
      response.end();
    });
  }

  return {
    async handle(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
      if (name === "process.Process/Start") return start(request, response);
      const body = await readJson(request);
      const selector = body.process as { pid?: number }; // the request's shape, as the proto has it
      const child = running.get(selector.pid ?? 0);
      if (!child)
        return json(response, 404, { code: "not_found", message: `process with pid ${selector.pid} not found` });
      if (name === "process.Process/SendSignal") {
        child.kill(body.signal === "SIGNAL_SIGKILL" ? "SIGKILL" : "SIGTERM");
        return json(response, 200, {});
      }
      if (name !== "process.Process/SendInput") return json(response, 404, { code: "unimplemented", message: name });
      const input = body.input as { stdin: string }; // the request's shape, as the proto has it
      await new Promise<void>((resolve) => child.stdin?.write(Buffer.from(input.stdin, "base64"), () => resolve()));
      return json(response, 200, {});
    },
    killAll(): void {
      for (const pid of running.keys()) {
        try {
          process.kill(-pid, "SIGKILL");
        } catch {
          // Ended meanwhile.
        }
      }
    },
  };
}

/** A full disk, as far as one machine can play it: no file may grow past what is left. */
export async function fileLimit(room: Room): Promise<string> {
  const limit = room.limit();
  if (limit === undefined) return "";
  const left = Math.max(4, Math.floor((limit - (await usedBytes(room.home))) / 1024));
  return `ulimit -f ${left};`;
}

function envelope(flags: number, message: unknown): Buffer {
  const data = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}
