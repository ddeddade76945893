/** What a wire allows in a name or id. */
export type NameRule = { readonly allowed: RegExp; readonly max: number };

/** Anthropic, OpenAI and what copies them. */
export const PLAIN_NAME: NameRule = { allowed: /^[A-Za-z0-9_-]+$/, max: 64 };

/**
 * A name or id as the wire takes it: unchanged if it is allowed, else cleaned and told apart by a hash of the original.
 * Depends on nothing but the name, so that history encodes the same in every request.
 */
export function wireName(name: string, rule: NameRule = PLAIN_NAME): string {
  if (name.length <= rule.max && rule.allowed.test(name)) return name;
  const clean = [...name].map((c) => (rule.allowed.test(c) ? c : "_")).join("");
  return `${clean.slice(0, rule.max - 9)}_${hash(name)}`;
}

/** Finds the engine's name again for what the model calls. */
export function nameDecoder(
  tools: readonly { readonly name: string }[],
  rule: NameRule = PLAIN_NAME,
): (wire: string) => string {
  const changed = new Map<string, string>();
  for (const { name } of tools) {
    const wire = wireName(name, rule);
    if (wire !== name) changed.set(wire, name);
  }
  return changed.size === 0 ? (wire) => wire : (wire) => changed.get(wire) ?? wire;
}

/** FNV-1a, 8 hex digits; no secret, only a tell-apart. */
function hash(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h >>> 0).toString(16).padStart(8, "0");
}
