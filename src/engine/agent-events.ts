import type { EngineEvent, LiveEvent } from "../contract/events.ts";
import type { Output } from "../contract/journal.ts";
import type { Entry } from "../contract/log.ts";

/** What a sub-agent yields, as its session stores and shows it: its entries under its name, its events on the root stream. */
export function ofAgent(output: Output, id: string): Output {
  if (output.kind === "live") return { kind: "live", events: output.events.map((event) => liveOf(event, id)) };
  return {
    ...output,
    entries: output.entries.map((entry) => owned(entry, id)),
    events: output.events.map((event) => eventOf(event, id)),
    audit: output.audit.map((entry) => ({ ...entry, extra: { ...entry.extra, subagent_id: id } })),
  };
}

/** Marks an entry that a sub-agent writes into the log of the session's own agent; never stored. */
export const ROOT_LOG = "";

/** An entry that names its agent already belongs to another one (a message to it, its start). */
export function owned(entry: Entry, id: string): Entry {
  if (entry.agent === undefined) return { ...entry, agent: id };
  if (entry.agent !== ROOT_LOG) return entry;
  const { agent: _, ...rest } = entry;
  return rest;
}

function liveOf(event: LiveEvent, id: string): LiveEvent {
  return event.type === "subagent_event" ? event : flat(event, id);
}

/** Questions keep their own type, so that whoever watches the session can answer them (S4); the rest is flat (E-14). */
function eventOf(event: EngineEvent, id: string): EngineEvent {
  switch (event.type) {
    case "permission_request":
    case "checkpoint":
    case "plan_approval":
    case "elicitation":
    case "inbox_message":
      return { ...event, subagent_id: event.subagent_id ?? id };
    case "subagent_start":
    case "subagent_event":
    case "subagent_end":
    case "teammate_message":
      return event;
    case "tool_use":
      return { ...flat(event, id), name: event.tool_name };
    default:
      return flat(event, id);
  }
}

function flat(event: EngineEvent, id: string): Extract<EngineEvent, { type: "subagent_event" }> {
  const { type, ...fields } = event;
  return { ...fields, type: "subagent_event", subagent_id: id, event_type: type };
}
