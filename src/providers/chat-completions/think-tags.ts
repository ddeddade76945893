const OPEN = "<think>";
const CLOSE = "</think>";

/**
 * Splits inline reasoning off an answer that begins with `<think>` (provider-protocols 3.1), wherever chunks cut the tags.
 * Only what may still become a tag is held back; after the closing tag everything is text.
 */
export class ThinkTags {
  #state: "start" | "thinking" | "gap" | "text" = "start";
  #held = "";
  /** Nothing but white space has come since the opening tag; it is held back. */
  #blank = true;

  push(piece: string, emit: (kind: "text" | "thinking", text: string) => void): void {
    if (this.#state === "text") {
      emit("text", piece);
      return;
    }
    this.#held += piece;
    if (this.#state === "start") this.#start(emit);
    if (this.#state === "thinking") this.#thinking(emit);
    if (this.#state === "gap") this.#gap(emit);
  }

  /** The answer is over: what was held back is what it looks like. */
  flush(emit: (kind: "text" | "thinking", text: string) => void): void {
    const rest = this.#held;
    this.#held = "";
    const nothing = this.#state === "thinking" && this.#blank && rest.trim() === "";
    if (rest !== "" && this.#state !== "gap" && !nothing) emit(this.#state === "thinking" ? "thinking" : "text", rest);
    this.#state = "text";
  }

  #start(emit: (kind: "text", text: string) => void): void {
    const text = this.#held.trimStart();
    if (text.startsWith(OPEN)) {
      this.#held = text.slice(OPEN.length);
      this.#state = "thinking";
    } else if (text !== "" && !OPEN.startsWith(text)) {
      const all = this.#held;
      this.#held = "";
      this.#state = "text";
      emit("text", all);
    }
  }

  #thinking(emit: (kind: "thinking", text: string) => void): void {
    const end = this.#held.indexOf(CLOSE);
    const safe = end >= 0 ? end : this.#held.length - partial(this.#held);
    const text = this.#held.slice(0, safe);
    this.#blank &&= text.trim() === "";
    // Models that were told not to think send an empty pair of tags: blank thinking is none.
    if (this.#blank && end < 0) return;
    if (!this.#blank && text !== "") emit("thinking", text);
    this.#held = this.#held.slice(end >= 0 ? end + CLOSE.length : safe);
    if (end >= 0) this.#state = "gap";
  }

  /** White space between the closing tag and the answer belongs to neither. */
  #gap(emit: (kind: "text", text: string) => void): void {
    const text = this.#held.trimStart();
    this.#held = "";
    if (text === "") return;
    this.#state = "text";
    emit("text", text);
  }
}

/** How many characters at the end could begin the closing tag. */
function partial(text: string): number {
  for (let n = Math.min(CLOSE.length - 1, text.length); n > 0; n--) if (text.endsWith(CLOSE.slice(0, n))) return n;
  return 0;
}
