import type { ProviderMetadata, TextBlock, ThinkingBlock } from "../../contract/messages.ts";
import type { ModelEvent } from "../../contract/model.ts";

type Kind = "text" | "thinking";

/**
 * The open text or thinking block of an answer. A block closes when the kind changes or the wire says so; a block that
 * showed nothing leaves no event unless it carries metadata the provider wants back.
 */
export class BlockWriter {
  #kind: Kind | undefined;
  #text = "";
  #metadata: ProviderMetadata | undefined;

  get open(): Kind | undefined {
    return this.#kind;
  }

  /** Appends a piece; opens a new block when the kind changes. Empty pieces do nothing. */
  append(kind: Kind, piece: string, out: ModelEvent[]): void {
    if (piece === "") return;
    if (this.#kind !== kind) this.start(kind, out);
    this.#text += piece;
    out.push(kind === "text" ? { type: "text_delta", text: piece } : { type: "thinking_delta", text: piece });
  }

  /** Begins a new block even if one of the same kind is open. */
  start(kind: Kind, out: ModelEvent[]): void {
    this.close(out);
    this.#kind = kind;
  }

  /** Adds to the open block's metadata; pieces of one value are joined. */
  mark(key: string, value: string): void {
    this.#metadata = { ...this.#metadata, [key]: (this.#metadata?.[key] ?? "") + value };
  }

  /** What was marked on the open block. */
  marked(key: string): string | undefined {
    return this.#metadata?.[key];
  }

  close(out: ModelEvent[]): void {
    const [kind, text, metadata] = [this.#kind, this.#text, this.#metadata];
    this.#kind = undefined;
    this.#text = "";
    this.#metadata = undefined;
    if (!kind || (text === "" && !metadata)) return;
    const block: TextBlock | ThinkingBlock = { type: kind, text, ...(metadata ? { provider_metadata: metadata } : {}) };
    out.push({ type: "block", block });
  }
}
