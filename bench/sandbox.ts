import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "../src/contract/sandbox.ts";
import { createMemorySandbox } from "../src/sandbox/virtual/index.ts";
import { NO_BUBBLEWRAP, sandboxOf, startSandboxServer } from "../test/unit/sandbox/support/sandbox-server.ts";
import { median, quantile } from "./statistics.ts";

/**
 * `echo` and an output of 10,000 lines through each backend, side by side with a bare child process, measured in turn:
 * `npm run bench:sandbox`. Ratios, because the machine is not always the same.
 */
const ROUNDS = 30;
const ECHO = "echo hello";
const LINES = "cat lines.txt";
const TEN_THOUSAND = Array.from({ length: 10_000 }, (_, i) => `line ${i}\n`).join("");

type Runner = { readonly name: string; run(command: string): Promise<number> };

async function bytesOf(sandbox: Sandbox, command: string): Promise<number> {
  let bytes = 0;
  const request = { command, cwd: sandbox.root, env: {}, timeoutMs: 60_000 };
  for await (const event of sandbox.exec(request, new AbortController().signal)) {
    if (event.type !== "exit") bytes += event.data.length;
    else if (event.exitCode !== 0) throw new Error(`${command} ended with ${event.exitCode}`);
  }
  return bytes;
}

function bare(cwd: string, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/bash", ["-c", command], { cwd, stdio: ["ignore", "pipe", "inherit"] });
    let bytes = 0;
    child.stdout.on("data", (data: Buffer) => {
      bytes += data.length;
    });
    child.once("close", () => resolve(bytes));
    child.once("error", reject);
  });
}

async function withLines(sandbox: Sandbox): Promise<Sandbox> {
  const written = await sandbox.files.writeFile(`${sandbox.root}/lines.txt`, new TextEncoder().encode(TEN_THOUSAND));
  if (!written.ok) throw new Error(written.error.message);
  return sandbox;
}

const folder = await mkdtemp(join(tmpdir(), "bench-sandbox-"));
await writeFile(join(folder, "lines.txt"), TEN_THOUSAND);
const server = NO_BUBBLEWRAP ? undefined : await startSandboxServer();
try {
  const virtual = await withLines(createMemorySandbox({ maxBytes: 1024 * 1024, now: Date.now }));
  const runners: Runner[] = [
    { name: "child process", run: (command) => bare(folder, command) },
    { name: "virtual", run: (command) => bytesOf(virtual, command) },
  ];
  if (server) {
    const http = await withLines(sandboxOf(server.url));
    runners.push({ name: "http", run: (command) => bytesOf(http, command) });
  }
  for (const command of [ECHO, LINES]) await measure(command, runners);
} finally {
  await server?.close();
  await rm(folder, { recursive: true });
}

async function measure(command: string, runners: readonly Runner[]): Promise<void> {
  const times = new Map(runners.map(({ name }): [string, number[]] => [name, []]));
  for (let round = -3; round < ROUNDS; round++) {
    for (const { name, run } of runners) {
      const start = performance.now();
      const bytes = await run(command);
      if (bytes === 0) throw new Error(`${name} printed nothing`);
      // The first rounds load what is loaded once.
      if (round >= 0) times.get(name)?.push(performance.now() - start);
    }
  }
  const base = median(times.get("child process") ?? []);
  for (const [name, all] of times) {
    const figures = `${median(all).toFixed(1)} ms (median), ${quantile(all, 0.95).toFixed(1)} ms (95 %)`;
    console.log(
      `${command.padEnd(12)} ${name.padEnd(14)} ${figures}, ${(median(all) / base).toFixed(2)}x a child process`,
    );
  }
}
