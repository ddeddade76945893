/**
 * Tells by its first character whether a body is an event stream or a document (JSON or a web page); content types lie in
 * both directions. Documents are collected, streams are passed on.
 */
export class BodySniffer {
  #kind: "unknown" | "stream" | "document" = "unknown";
  readonly #decoder = new TextDecoder();
  #text = "";

  /** True when the piece belongs to an event stream. */
  take(piece: Uint8Array): boolean {
    if (this.#kind === "stream") return true;
    this.#text += this.#decoder.decode(piece, { stream: true });
    if (this.#kind === "unknown") {
      const first = this.#text.trimStart().charAt(0);
      if (first === "") return true;
      this.#kind = first === "{" || first === "[" || first === "<" ? "document" : "stream";
      if (this.#kind === "stream") this.#text = "";
    }
    return this.#kind === "stream";
  }

  /** The document, or undefined when the body is (or may still be) a stream. */
  collected(): string | undefined {
    return this.#kind === "document" ? this.#text : undefined;
  }
}
