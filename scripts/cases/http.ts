import { rm } from "node:fs/promises";
import { ScriptedUpstream } from "../../test/support/scripted-upstream.ts";
import { type RunningServer, startServer } from "../../test/support/server.ts";
import { buildBundle } from "../../test/support/server-bundle.ts";
import { anthropicTurn, type ScriptedCall } from "../../test/support/wires.ts";
import { parkByMessage, runHttpCase } from "./http-runner.ts";
import type { CaseConfig, CaseHarness, CaseOutcome, CaseProvider, CaseServer, HttpCase } from "./http-types.ts";
import type { SecurityReport } from "./security-shared.ts";

/** The deployment's own key; the scripted model server finds its replies by it. */
const SCRIPT = "cases";
const QUESTION: ScriptedCall = { id: "toolu_1", name: "Bash", input: { command: "echo hi > out.txt" } };

/**
 * Runs HTTP cases against the real server with a scripted model behind it. Cases of one configuration share a server, which
 * is started for the first of them; what a case creates is removed after it.
 */
export class HttpCases {
  readonly #bundleDir: string;
  readonly #upstream: ScriptedUpstream;
  readonly #servers = new Map<string, Promise<RunningServer>>();

  private constructor(bundleDir: string, upstream: ScriptedUpstream) {
    this.#bundleDir = bundleDir;
    this.#upstream = upstream;
  }

  static async start(bundleDir: string): Promise<HttpCases> {
    return new HttpCases(bundleDir, await ScriptedUpstream.start());
  }

  run(testCase: HttpCase): Promise<CaseOutcome> {
    return runHttpCase(testCase, this.#harnessFor(testCase));
  }

  async close(): Promise<void> {
    // A server that did not start has failed its cases already.
    for (const started of await Promise.allSettled(this.#servers.values())) {
      if (started.status === "fulfilled") await started.value.stop();
    }
    await this.#upstream.close();
  }

  #harnessFor(testCase: HttpCase): CaseHarness {
    return {
      start: async (config) => {
        // Only cases about the limit meet one: the others share a server, hence a client.
        const limited = testCase.category === "rate" || testCase.config?.rate !== undefined;
        const { baseUrl } = await this.#server({ ...config, rate: limited ? config.rate : 0 });
        this.#upstream.script(SCRIPT, [anthropicTurn({ text: "ok" })]);
        return this.#caseServer(baseUrl, testCase, config.bearer);
      },
    };
  }

  #server(config: Required<CaseConfig>): Promise<RunningServer> {
    const key = JSON.stringify([config.bearer, config.cors, config.rate]);
    const known = this.#servers.get(key);
    if (known) return known;
    const vars = {
      BEARER_TOKEN: config.bearer,
      CORS_ORIGINS: config.cors,
      RATE_LIMIT_PER_MINUTE: String(config.rate),
      ANTHROPIC_API_KEY: `key-${SCRIPT}`,
      ANTHROPIC_BASE_URL: this.#upstream.url,
    };
    const server = startServer({ bundleDir: this.#bundleDir, vars });
    // Cases with a time limit measure an answer, not the first load of the code.
    const warm = server.then(async (running) => {
      await fetch(`${running.baseUrl}/v1/health`);
      return running;
    });
    this.#servers.set(key, warm);
    return warm;
  }

  #caseServer(baseUrl: string, testCase: HttpCase, bearer: string): CaseServer {
    const headers: Record<string, string> = bearer === "" ? {} : { authorization: `Bearer ${bearer}` };
    const streams = new AbortController();
    return {
      baseUrl,
      scriptProvider: async (provider) => this.#upstream.script(SCRIPT, repliesOf(provider)),
      park: async (session) => {
        this.#upstream.script(SCRIPT, [anthropicTurn({ calls: [QUESTION] }), anthropicTurn({ text: "ok" })]);
        return parkByMessage(baseUrl, session, { prompt: "go", headers, signal: streams.signal });
      },
      stop: async () => {
        streams.abort();
        for (const step of testCase.steps ?? []) {
          const [kind, id = ""] = step.split(":");
          if (kind === "session") await fetch(`${baseUrl}/v1/sessions/${id}`, { method: "DELETE", headers });
        }
      },
    };
  }
}

/** Text deltas are kept as they are given; a tool call is followed by a turn that ends the run. */
function repliesOf({ text, tool }: CaseProvider) {
  if (tool) {
    const call = { id: "toolu_1", name: tool.name, input: { command: "true" } };
    return [anthropicTurn({ calls: [call] }), anthropicTurn({ text: "ok" })];
  }
  const { chunks } = anthropicTurn({ text: "x" });
  const deltas = (text ?? []).map((piece) => {
    const data = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: piece } };
    return `event: content_block_delta\ndata: ${JSON.stringify(data)}\n\n`;
  });
  // The one delta of the turn gives way to those of the case.
  return [{ chunks: chunks.flatMap((chunk) => (chunk.startsWith("event: content_block_delta\n") ? deltas : [chunk])) }];
}

type HttpFile = { readonly cases: readonly HttpCase[] };

/** A file of HTTP cases is told by its shape: each case has a request, and no provider's wire. */
export function isHttpFile(json: unknown): json is HttpFile {
  const cases = (json as { cases?: unknown } | null)?.cases;
  return Array.isArray(cases) && cases.length > 0 && cases.every((one) => typeof one?.request?.method === "string");
}

/** Runs a whole file; the servers live as long as it takes. */
export async function runHttpFile(file: string, json: unknown): Promise<SecurityReport> {
  if (!isHttpFile(json)) throw new Error(`${file}: no HTTP cases`);
  const report: SecurityReport = { passed: 0, failed: [], skipped: [] };
  const bundleDir = await buildBundle();
  const cases = await HttpCases.start(bundleDir);
  try {
    for (const testCase of json.cases) {
      const { id, failures, skipped } = await cases.run(testCase);
      if (skipped !== undefined) report.skipped.push({ id, why: skipped });
      else if (failures.length > 0) report.failed.push({ id, why: failures.join("; ") });
      else report.passed += 1;
    }
  } finally {
    await cases.close();
    await rm(bundleDir, { recursive: true, force: true });
  }
  return report;
}
