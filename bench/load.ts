import { readdirSync, readFileSync } from "node:fs";
import { ScriptedUpstream } from "../test/support/scripted-upstream.ts";
import { SseReader } from "../test/support/sse-client.ts";
import { anthropicTurn } from "../test/support/wires.ts";
import { startProduct } from "./harness.ts";
import { quantile } from "./statistics.ts";

/**
 * Many sessions at once: 500 parked on a permission with their clients connected, and 64 at work beside them:
 * `npm run bench:load`. Fails when a single one does not end as it should.
 */
const PARKED = 500;
const ACTIVE = 64;
/** Messages of each active session; each is three model calls with tools between. */
const MESSAGES = 5;
/** The runtime unloads an idle object ten to twenty seconds after its last event; no signal says when. */
const UNLOAD_MS = 13_000;

const write = { id: "toolu_1", name: "Bash", input: { command: "echo hi >> effects.txt" } };
const todo = { id: "toolu_2", name: "TodoWrite", input: { todos: [{ content: "x", status: "pending" }] } };
const glob = { id: "toolu_3", name: "Glob", input: { pattern: "*" } };
const upstream = await ScriptedUpstream.start();
upstream.script("parked", [anthropicTurn({ calls: [write] }), anthropicTurn({ text: "ok" })]);
const message = [anthropicTurn({ calls: [todo] }), anthropicTurn({ calls: [glob] }), anthropicTurn({ text: "ok" })];
upstream.script(
  "active",
  Array.from({ length: MESSAGES }, () => message).flatMap((turns) => turns.map((turn) => ({ ...turn, everyMs: 5 }))),
);
for (const name of ["parked", "active"]) upstream.replyByTurn(name);

const vars = { ANTHROPIC_BASE_URL: upstream.url, ENCRYPTION_KEY: Buffer.alloc(32, "k").toString("base64") };
const { url, server } = await startProduct(vars);
const worker = server.getWorker();

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
  const response = await fetch(new URL(path, url), init);
  if (!response.ok) throw new Error(`${path}: status ${response.status}: ${await response.text()}`);
  return response;
}

async function send(id: string, script: string): Promise<SseReader> {
  const headers = { "x-flyto-provider-key": `key-${script}` };
  return new SseReader(await post(`/v1/sessions/${id}/messages`, { prompt: "hi" }, headers));
}

type Parked = { readonly id: string; readonly stream: SseReader; readonly question: unknown };

async function park(id: string): Promise<Parked> {
  await post("/v1/sessions", { session_id: id });
  const stream = await send(id, "parked");
  return { id, stream, question: (await stream.until("permission_request")).data.id };
}

/** Answers the question and reads the stream that has been open all the time to its end. */
async function finish({ id, stream, question }: Parked): Promise<number> {
  const start = performance.now();
  await post(`/v1/sessions/${id}/permissions/${String(question)}`, { allow: true });
  const answered = performance.now() - start;
  await ends(stream, id);
  const effects = await (await fetch(new URL(`/v1/sessions/${id}/files/effects.txt`, url))).text();
  if (effects !== "hi\n") throw new Error(`${id}: the tool's effect is ${JSON.stringify(effects)}`);
  return answered;
}

async function work(id: string): Promise<void> {
  await post("/v1/sessions", { session_id: id });
  for (let i = 0; i < MESSAGES; i++) await ends(await send(id, "active"), id);
}

async function ends(stream: SseReader, id: string): Promise<void> {
  await stream.toEnd();
  const terminal = stream.seen.filter(({ type }) => type === "done" || type === "error").map(({ type }) => type);
  if (terminal.join() !== "done") throw new Error(`${id} ended with ${terminal.join() || "nothing"}`);
}

/** Whether the object is in memory: only then it can be evicted. */
async function isLoaded(id: string): Promise<boolean> {
  try {
    await worker.evictDurableObject("SESSION", { name: `default/${id}`, webSockets: "hibernate" });
    return true;
  } catch (error) {
    if (/not (currently )?running|no running|not loaded/i.test(String(error))) return false;
    throw error;
  }
}

/** Resident memory of the workerd processes below this one, MB. */
function residentMb(): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (/^\d+$/.test(name)) parents.set(Number(name), Number(field(name, "PPid")));
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === process.pid || (parent !== undefined && parent > 1 && isOurs(parent));
  };
  const ours = [...parents.keys()].filter((pid) => isOurs(pid) && field(String(pid), "Name") === "workerd");
  return ours.reduce((sum, pid) => sum + Number.parseInt(field(String(pid), "VmRSS"), 10) / 1024, 0);
}

/** A field of /proc/<pid>/status; empty for a process that is gone. */
function field(pid: string, name: string): string {
  try {
    return new RegExp(`^${name}:\\s*(.*)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}

/** Runs jobs, so many side by side. */
async function lanes<T, R>(items: readonly T[], width: number, job: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) results.push(await job(item));
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}

function ids(kind: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${kind}-${i}`);
}

try {
  await lanes(await lanes(ids("warm", 32), 16, park), 16, finish);
  // The other way round first: what has just been at work must be found in memory, or the count below says nothing.
  if (!(await isLoaded("warm-31"))) throw new Error("an object that was just at work is not found in memory");
  const before = residentMb();
  let start = performance.now();
  const parked = await lanes(ids("parked", PARKED), 32, park);
  const full = residentMb();
  console.log(`${PARKED} sessions parked with their clients connected in ${seconds(start)}`);
  start = performance.now();
  await lanes(ids("active", ACTIVE), ACTIVE, work);
  console.log(`${ACTIVE} active sessions ended ${ACTIVE * MESSAGES} messages of three turns in ${seconds(start)}`);
  await new Promise((resolve) => setTimeout(resolve, UNLOAD_MS));
  const unloaded = residentMb();
  const each = (mb: number): string => `${(((mb - before) * 1024) / PARKED).toFixed(0)} KB`;
  console.log(
    `workerd's resident memory, which it seldom gives back: ${before.toFixed(0)} MB before, ${full.toFixed(0)} MB with all parked (${each(full)} each, open stream included), ${unloaded.toFixed(0)} MB ` +
      `after the active ones and a pause of ${UNLOAD_MS / 1000} s`,
  );
  const loaded = (await lanes(parked, 16, ({ id }) => isLoaded(id))).filter(Boolean).length;
  console.log(`parked objects in memory then: ${loaded} of ${PARKED}`);
  start = performance.now();
  const answers = await lanes(parked, 32, finish);
  console.log(
    `all ${PARKED} answered, woken and ended with done in ${seconds(start)}; an answer took ` +
      `${quantile(answers, 0.5).toFixed(0)} ms (median), ${quantile(answers, 0.99).toFixed(0)} ms (99 %)`,
  );
  if (loaded > 0) throw new Error("a parked session holds its object in memory");
} finally {
  await server.close();
  await upstream.close();
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
