type Seen = { readonly type: string; readonly data: Record<string, unknown> };

/** What a client makes of a stream: deltas joined, turns that were taken back left out, each sub-agent's part by itself. */
export function folded(seen: readonly Seen[]): string[] {
  const agents = new Map<string, Seen[]>();
  const own: Seen[] = [];
  for (const event of seen) {
    if (event.type !== "subagent_event") {
      own.push(event);
      continue;
    }
    const id = String(event.data.subagent_id);
    const list = agents.get(id) ?? [];
    agents.set(id, list);
    list.push({ type: String(event.data.event_type), data: event.data });
  }
  const parts = [...agents].sort(([a], [b]) => a.localeCompare(b));
  return [...foldOne(own), ...parts.flatMap(([id, events]) => foldOne(events).map((line) => `${id} ${line}`))];
}

function foldOne(seen: readonly Seen[]): string[] {
  const out: string[] = [];
  let turn = 0;
  for (const { type, data } of seen) {
    if (type === "turn_restart") out.length = turn;
    else if (type === "turn_start") {
      out.push(`turn ${data.turn_number}`);
      turn = out.length;
    } else if (type === "text_delta" || type === "thinking_delta") {
      const last = out.at(-1) ?? "";
      if (last.startsWith(`${type}:`)) out[out.length - 1] = `${last}${String(data.text)}`;
      else out.push(`${type}:${String(data.text)}`);
    } else if (type !== "tool_progress")
      out.push(`${type}:${String(data.output ?? data.text ?? data.stop_reason ?? "")}`);
  }
  return out;
}
