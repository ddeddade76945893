import type { FastAnswer, FastRequest } from "../contract/fast.ts";
import type { ModelEvent, Usage } from "../contract/model.ts";
import type { Agent } from "./agent.ts";

/**
 * One call of the fast role, with a time limit of its own by the host's clock. Pays out of the run's budget like
 * every other call. Throws only when the agent's signal aborts.
 */
export async function callFast(agent: Agent, request: FastRequest): Promise<FastAnswer> {
  const { deps, signal, slots } = agent;
  const { fast } = deps;
  if (!fast) return { ok: false, reason: "there is no fast model", usage: null, costNano: 0 };
  const info = deps.models.info(fast.model, fast.provider.name);
  const input = deps.estimateTokens(request.system) + deps.estimateTokens(request.prompt);
  const worst = deps.models.costNano(info, { input, output: request.maxTokens, cache_read: 0, cache_write: 0 });
  const release = await slots.take(agent.id, worst, signal);
  if (!release) return { ok: false, reason: "the run's budget is spent", usage: null, costNano: 0 };
  const over = new AbortController();
  const timer = new AbortController();
  void deps
    .delay(deps.limits.fastCallMs, AbortSignal.any([signal, timer.signal]))
    .then(() => over.abort(new Error("the fast model took too long")));
  try {
    const answer = await read(agent, request, fast, AbortSignal.any([signal, over.signal]));
    const costNano = answer.usage ? deps.models.costNano(info, answer.usage) : 0;
    return { ...answer, costNano };
  } catch (error) {
    signal.throwIfAborted();
    deps.observe("fast_call_failed", { error: error instanceof Error ? error.name : typeof error });
    return { ok: false, reason: "the fast model did not answer in time", usage: null, costNano: 0 };
  } finally {
    timer.abort();
    release();
  }
}

type Read = { readonly usage: Usage | null } & (
  | { readonly ok: true; readonly text: string; readonly thinking: string }
  | { readonly ok: false; readonly reason: string }
);

async function read(
  { deps }: Agent,
  request: FastRequest,
  fast: NonNullable<Agent["deps"]["fast"]>,
  signal: AbortSignal,
): Promise<Read> {
  const stream = fast.provider.stream(
    {
      model: fast.model,
      system: [{ text: request.system }],
      messages: [{ role: "user", content: [{ type: "text", text: request.prompt }] }],
      tools: [],
      maxTokens: request.maxTokens,
    },
    signal,
  );
  const text: string[] = [];
  const thinking: string[] = [];
  for await (const batch of stream) {
    for (const event of batch as readonly ModelEvent[]) {
      if (event.type === "block" && event.block.type === "text") text.push(event.block.text);
      if (event.type === "block" && event.block.type === "thinking") thinking.push(event.block.text);
      if (event.type === "failed") return { ok: false, reason: event.failure.message, usage: event.usage ?? null };
      if (event.type !== "finished") continue;
      const { redact } = deps.redactor;
      return { ok: true, text: redact(text.join("\n")), thinking: redact(thinking.join("\n")), usage: event.usage };
    }
  }
  return { ok: false, reason: "the stream ended without a result", usage: null };
}
