import { checkReplies } from "./http-check.ts";
import { send } from "./http-send.ts";
import type { CaseHarness, CaseOutcome, CaseServer, HttpCase, Reply } from "./http-types.ts";

export type { CaseConfig, CaseHarness, CaseOutcome, CaseProvider, CaseServer, HttpCase } from "./http-types.ts";

/** Runs one case against a server of its own; knows nothing of how the server is made. */
export async function runHttpCase(testCase: HttpCase, harness: CaseHarness): Promise<CaseOutcome> {
  const { id } = testCase;
  const config = { bearer: "", cors: "", rate: 60, ...testCase.config };
  const server = await harness.start(config);
  try {
    if (testCase.provider) {
      if (!server.scriptProvider) return { id, failures: [], skipped: "needs a scripted model" };
      await server.scriptProvider(testCase.provider);
    }
    const auth: Record<string, string> = config.bearer === "" ? {} : { authorization: `Bearer ${config.bearer}` };
    let permission = "";
    for (const step of testCase.steps ?? []) {
      const [kind, name = ""] = step.split(":");
      if (kind === "session") await createSession(server, name, auth);
      else if (!server.park) return { id, failures: [], skipped: "needs a parked permission request" };
      else permission = await server.park(name);
    }
    const replies = await sendAll(testCase, server, permission);
    const failures = checkReplies(testCase.expect, replies, testCase.request.raw === true);
    if (testCase.expect.noPollution) {
      const next = await fetch(`${server.baseUrl}/v1/health`);
      if (next.status !== 200 || "admin" in {}) failures.push("the next request fails");
    }
    return { id, failures };
  } catch (error) {
    return { id, failures: [error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error)] };
  } finally {
    await server.stop();
  }
}

/** Runs cases one after another: each has a server of its own, and the machine may be small. */
export async function runHttpCases(cases: readonly HttpCase[], harness: CaseHarness): Promise<CaseOutcome[]> {
  const outcomes: CaseOutcome[] = [];
  for (const testCase of cases) outcomes.push(await runHttpCase(testCase, harness));
  return outcomes;
}

async function createSession(server: CaseServer, id: string, auth: Record<string, string>): Promise<void> {
  const created = await fetch(`${server.baseUrl}/v1/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...auth },
    body: JSON.stringify({ session_id: id }),
  });
  if (created.status !== 201) throw new Error(`the session ${id} was not created: ${created.status}`);
}

async function sendAll(testCase: HttpCase, server: CaseServer, permission: string): Promise<Reply[]> {
  const once = (i: number) =>
    send(server.baseUrl, testCase.request, (text) =>
      text.replaceAll("{i}", String(i)).replaceAll("{perm}", permission),
    );
  if (testCase.parallel !== undefined) {
    return await Promise.all(Array.from({ length: testCase.parallel }, (_, i) => once(i)));
  }
  const replies: Reply[] = [];
  for (let i = 0; i < (testCase.repeat ?? 1); i++) replies.push(await once(i));
  return replies;
}

/**
 * A way to park a permission request by HTTP alone, for servers whose model can be scripted: sends a message, reads the
 * stream until the question and leaves the stream open until `signal` ends it.
 */
export async function parkByMessage(
  baseUrl: string,
  sessionId: string,
  options: { readonly prompt: string; readonly headers?: Record<string, string>; readonly signal: AbortSignal },
): Promise<string> {
  const response = await fetch(`${baseUrl}/v1/sessions/${sessionId}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", ...options.headers },
    body: JSON.stringify({ prompt: options.prompt }),
    signal: options.signal,
  });
  const decoder = new TextDecoder();
  const reader = response.body?.getReader();
  let text = "";
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) throw new Error(`no permission request came: ${response.status} ${text.slice(0, 300)}`);
    text += decoder.decode(part.value, { stream: true });
    const data = /event: permission_request\ndata: (.*)\n\n/.exec(text)?.[1];
    if (data !== undefined) return (JSON.parse(data) as { id: string }).id;
  }
}
