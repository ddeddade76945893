/** What providers take as a tool's name. */
const MAX = 64;

/** `mcp__<server>__<tool>` in the characters that every provider takes; a long name ends in a digest of itself. */
export function toolName(server: string, tool: string): string {
  const name = `mcp__${server}__${tool.replace(/[^A-Za-z0-9_-]/g, "_")}`;
  return name.length <= MAX ? name : `${name.slice(0, MAX - 9)}_${shortHash(tool)}`;
}

/** FNV-1a, 8 hex digits: tells names apart, hides nothing. */
function shortHash(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h >>> 0).toString(16).padStart(8, "0");
}
