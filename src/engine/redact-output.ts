import type { EngineEvent, LiveEvent } from "../contract/events.ts";
import type { Commit, Output } from "../contract/journal.ts";
import type { Entry } from "../contract/log.ts";
import type { Redactor, StreamRedactor } from "../contract/redaction.ts";

/**
 * The engine's outgoing edge: whatever the loop yields passes here before anybody stores or sees it, so that no path can
 * forget to redact (S-5, architecture: border rules). Deltas are redacted as one stream a block, wherever they are cut.
 */
export async function* redactOutput<T>(
  source: AsyncGenerator<Output, T>,
  redactor: Redactor,
): AsyncGenerator<Output, T> {
  if (!redactor.active) return yield* source;
  const deltas = new DeltaStreams(redactor);
  let done = false;
  try {
    while (true) {
      const next = await source.next();
      if (next.done) {
        done = true;
        return next.value;
      }
      if (next.value.kind === "live") {
        const events = deltas.push(next.value.events);
        if (events.length > 0) yield { kind: "live", events };
        continue;
      }
      const rest = deltas.settle(next.value.events);
      if (rest.length > 0) yield { kind: "live", events: rest };
      yield redactCommit(next.value, redactor);
    }
  } finally {
    // A host that stops early stops the loop too.
    if (!done) await source.return(undefined as T);
  }
}

type DeltaType = "text_delta" | "thinking_delta";

/** The open text and thinking streams of the current model call. */
class DeltaStreams {
  readonly #redactor: Redactor;
  readonly #open = new Map<DeltaType, StreamRedactor>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  push(events: readonly LiveEvent[]): LiveEvent[] {
    return events.flatMap((event): LiveEvent[] => {
      if (event.type === "tool_progress") return [{ ...event, detail: this.#redactor.redact(event.detail) }];
      const stream = this.#open.get(event.type) ?? this.#redactor.createStream();
      this.#open.set(event.type, stream);
      return delta(event.type, stream.push(event.text));
    });
  }

  /** A block that closes shows what its stream still held; a call that is taken back drops it. */
  settle(events: readonly EngineEvent[]): LiveEvent[] {
    const rest: LiveEvent[] = [];
    for (const { type } of events) {
      if (type === "text") rest.push(...this.#close("text_delta"));
      else if (type === "thinking") rest.push(...this.#close("thinking_delta"));
      else if (type === "turn_start" || type === "turn_restart") this.#open.clear();
    }
    return rest;
  }

  #close(type: DeltaType): LiveEvent[] {
    const text = this.#open.get(type)?.flush() ?? "";
    this.#open.delete(type);
    return delta(type, text);
  }
}

function delta(type: DeltaType, text: string): LiveEvent[] {
  return text === "" ? [] : [{ type, text }];
}

function redactCommit(commit: Commit, redactor: Redactor): Commit {
  return {
    kind: "commit",
    entries: commit.entries.map((entry) => redactEntry(entry, redactor)),
    events: redactor.redactJson(commit.events),
    audit: redactor.redactJson(commit.audit),
  };
}

/** A signed thinking block goes back byte-identical or not at all: one that had to be changed loses its place (S13). */
function redactEntry(entry: Entry, redactor: Redactor): Entry {
  if (entry.kind !== "assistant") return redactor.redactJson(entry);
  const content = entry.content.flatMap((block) => {
    const { provider_metadata, ...rest } = block;
    const clean = redactor.redactJson(rest);
    const same = JSON.stringify(clean) === JSON.stringify(rest);
    if (block.type === "thinking" && !same) return [];
    return [same ? block : { ...clean, ...(provider_metadata ? { provider_metadata } : {}) }];
  });
  return { ...entry, content };
}
