import type { CachePrefix, PrefixSection } from "../contract/prompt-parts.ts";
import type { AssembledSection, CacheBreak } from "../contract/prompts.ts";

export type PrefixOptions = {
  readonly digest?: (text: string) => string;
  readonly countTokens?: (text: string) => number;
};

/** The cache prefix of a request, for `cacheBreak`. `tools` is a digest of the tool definitions as they are sent. */
export function cachePrefix(
  sections: readonly AssembledSection[],
  tools: string,
  { digest = quickDigest, countTokens }: PrefixOptions = {},
): CachePrefix {
  return {
    tools,
    sections: sections.map(({ name, kind, text, reason }) => ({
      name,
      kind,
      digest: digest(text),
      ...(countTokens ? { tokens: countTokens(text) } : {}),
      ...(reason === undefined ? {} : { reason }),
    })),
  };
}

/**
 * Where the prompt leaves the one before it, which is where cached tokens end; undefined when it repeats it. A section
 * that moved counts as added where it stands now.
 */
export function cacheBreak(previous: CachePrefix, current: CachePrefix): CacheBreak | undefined {
  if (previous.tools !== current.tools) return { section: "tool_definitions", kind: "tools", change: "changed" };
  const length = Math.max(previous.sections.length, current.sections.length);
  for (let at = 0; at < length; at++) {
    const [before, now] = [previous.sections[at], current.sections[at]];
    if (before !== undefined && now !== undefined && same(before, now)) continue;
    const has = (list: readonly PrefixSection[], { name }: PrefixSection) => list.some((each) => each.name === name);
    if (before !== undefined && now?.name === before.name) return report(now, "changed");
    if (before !== undefined && !has(current.sections, before)) return report(before, "removed");
    if (now !== undefined) return report(now, "added");
  }
  return undefined;
}

/** A section of the same name and text but another kind stands in another block. */
function same(one: PrefixSection, other: PrefixSection): boolean {
  return one.name === other.name && one.kind === other.kind && one.digest === other.digest;
}

function report({ name, kind, reason }: PrefixSection, change: CacheBreak["change"]): CacheBreak {
  return { section: name, kind, change, ...(reason === undefined ? {} : { reason }) };
}

/**
 * A 64-bit FNV-1a-like hash of a text's UTF-16 units in two 32-bit lanes with different primes, in hex. Tells texts apart;
 * no protection against someone who wants a collision.
 */
export function quickDigest(text: string): string {
  let low = 0x811c9dc5;
  let high = 0xcbf29ce4;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  return [high, low].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("");
}
