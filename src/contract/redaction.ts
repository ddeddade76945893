/** Redacts one logical stream of text whose pieces may be cut anywhere; holds back no longer than a prefix match lasts. */
export type StreamRedactor = {
  push(piece: string): string;
  flush(): string;
};

/** Replaces the registered secrets of one run by `[SECRET:NAME]` (S-5). */
export type Redactor = {
  /** False when nothing is registered: every function then hands its argument back. */
  readonly active: boolean;
  redact(text: string): string;
  /** The same object where nothing had to change. */
  redactJson<T>(value: T): T;
  createStream(): StreamRedactor;
};

/** Finds secrets nobody registered, by their form (S-3). */
export type SecretScanner = {
  /** What a text for this path holds; only how many there are ever leaves. */
  scan(path: string, content: string): readonly unknown[];
  redact(content: string): string;
};
