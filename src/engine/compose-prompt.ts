import type { Output } from "../contract/journal.ts";
import type { ModelInfo } from "../contract/model.ts";
import type { CachePrefix } from "../contract/prompt-parts.ts";
import type { CacheBreak } from "../contract/prompts.ts";
import type { Agent, PromptedAgent } from "./agent.ts";
import { dollars } from "./outcomes.ts";

/** The agent's prompt for its next model call; what of it is new is stored, and a broken cache is told of (B-2). */
export async function* composePrompt(agent: Agent): AsyncGenerator<Output, PromptedAgent> {
  const { deps, tree, fold, run } = agent;
  const prompt = await deps.prompt.compose(run.config, fold.facts, tree.prompts);
  const before = fold.prefix;
  const broken = before && deps.prompt.compare(before, prompt.prefix);
  if (before && broken) report(broken, prompt.prefix, agent);
  const { tie, texts } = prompt.stored;
  if (!before || broken || tree.prompts.get(tie) === undefined) {
    const entry = { kind: "prompt_composed", tie, texts, prefix: prompt.prefix } as const;
    yield { kind: "commit", entries: [entry], events: [], audit: [] };
  }
  return { ...agent, prompt };
}

/** Which section ended the cached prefix, and what writing it anew costs by the price table. */
function report(broken: CacheBreak, prefix: CachePrefix, { deps, fold, run, id }: Agent): void {
  const cached = fold.measured?.cached ?? 0;
  if (cached === 0) return;
  const info = deps.models.info(run.config.model, run.config.provider);
  const lost = Math.max(0, cached - tokensBefore(broken, prefix));
  deps.observe("prompt_cache_broken", {
    session_id: deps.sessionId,
    ...(id === undefined ? {} : { subagent_id: id }),
    section: broken.section,
    kind: broken.kind,
    change: broken.change,
    ...(broken.reason === undefined ? {} : { reason: broken.reason }),
    lost_tokens: lost,
    cost_usd: dollars(lost * extraPrice(info) * 1e3),
  });
}

/** Tokens of the sections before the break; they are still in the cache. */
function tokensBefore({ section }: CacheBreak, { sections }: CachePrefix): number {
  const at = sections.findIndex(({ name }) => name === section);
  return sections.slice(0, Math.max(0, at)).reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
}

/** What a token costs more when it is written anew instead of read from the cache; USD per 1M = 1e-6 USD each. */
function extraPrice(info: ModelInfo): number {
  const anew = info.supports_caching ? info.cache_write_price_per_1m : info.input_price_per_1m;
  return Math.max(0, anew - info.cache_read_price_per_1m);
}
