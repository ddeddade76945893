import { deltaOf, type EngineEvent, type LiveEvent, withText } from "../contract/events.ts";
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

type Open = { readonly stream: StreamRedactor; last: LiveEvent };

/** The open text and thinking streams of the current model calls, each agent's apart. */
class DeltaStreams {
  readonly #redactor: Redactor;
  readonly #open = new Map<string, Open>();

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  push(events: readonly LiveEvent[]): LiveEvent[] {
    return events.flatMap((event): LiveEvent[] => {
      const delta = deltaOf(event);
      if (!delta) return [this.#redactor.redactJson(event)];
      const open = this.#open.get(delta.stream) ?? { stream: this.#redactor.createStream(), last: event };
      open.last = event;
      this.#open.set(delta.stream, open);
      return shown(event, open.stream.push(delta.text));
    });
  }

  /** A block that closes shows what its stream still held; a call that is taken back, or over, drops it. */
  settle(events: readonly EngineEvent[]): LiveEvent[] {
    const rest: LiveEvent[] = [];
    for (const event of events) {
      const inner = event.type === "subagent_event" ? event.event_type : event.type;
      const agent = event.type === "subagent_event" || event.type === "subagent_end" ? `${event.subagent_id} ` : "";
      if (inner === "text") rest.push(...this.#close(`${agent}text_delta`));
      else if (inner === "thinking") rest.push(...this.#close(`${agent}thinking_delta`));
      else if (inner === "turn_start" || inner === "turn_restart" || inner === "subagent_end") {
        this.#open.delete(`${agent}text_delta`);
        this.#open.delete(`${agent}thinking_delta`);
      }
    }
    return rest;
  }

  #close(key: string): LiveEvent[] {
    const open = this.#open.get(key);
    this.#open.delete(key);
    return open ? shown(open.last, open.stream.flush()) : [];
  }
}

function shown(event: LiveEvent, text: string): LiveEvent[] {
  return text === "" ? [] : [withText(event, text)];
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
    const same = clean === rest; // told by identity, so that no long block is written out twice
    if (block.type === "thinking" && !same) return [];
    return [same ? block : { ...clean, ...(provider_metadata ? { provider_metadata } : {}) }];
  });
  return { ...entry, content };
}
