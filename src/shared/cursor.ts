/** URL-safe base64, so that a cursor can be pasted into a query as it is. */
export function toCursor(text: string): string {
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text of a cursor; undefined when it is none. */
export function fromCursor(cursor: string): string | undefined {
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}
