/** Deeper values than the engine ever stores are shown as redacted text. */
const MAX_DEPTH = 200;

/** A JSON value whose texts are redacted, keys and numbers included; the same object where nothing had to change. */
export function redactValue(value: unknown, redact: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value === "number" || typeof value === "bigint") {
    const text = String(value);
    const shown = redact(text);
    return shown === text ? value : shown;
  }
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return value;
  if (depth > MAX_DEPTH) return redact(JSON.stringify(value) ?? "");
  if (Array.isArray(value)) {
    const items = value.map((item) => redactValue(item, redact, depth + 1));
    return items.some((item, at) => item !== value[at]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  return redactFields(value, redact, depth);
}

function redactFields(value: object, redact: (text: string) => string, depth: number): object {
  let changed = false;
  const fields = Object.entries(value).map(([key, item]) => {
    const field = [redact(key), redactValue(item, redact, depth + 1)] as const;
    changed ||= field[0] !== key || field[1] !== item;
    return field;
  });
  // Own keys are defined, not assigned, so that `__proto__` stays a key.
  return changed ? Object.fromEntries(fields) : value;
}
