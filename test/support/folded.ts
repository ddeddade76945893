/** What a client makes of a stream: deltas joined, turns that were taken back left out. */
export function folded(seen: readonly { type: string; data: Record<string, unknown> }[]): string[] {
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
