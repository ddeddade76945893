/** One kind of secret. */
export type SecretRule = {
  readonly id: string;
  readonly name: string;
  /**
   * Lower-case texts of which one must be present before the expression is tried at all; an empty list tries it always.
   */
  readonly keywords: readonly string[];
  /** Global expression; the secret is the group `secret`, or the whole match. No unbounded repetition around the prefix. */
  readonly pattern: RegExp;
  /** Says whether a match is a secret; sees the secret, the whole match and the text around it. */
  readonly accept?: (secret: string, match: string, around: string) => boolean;
  /** `accept` alone judges placeholders: the secret is only a part of the match. */
  readonly ownFilter?: boolean;
  /** Reports only where no more exact rule has reported. */
  readonly fallback?: boolean;
};

/** Where a secret stands. Offsets are UTF-16 units; the value itself is never part of a report. */
export type SecretMatch = { readonly rule: string; readonly start: number; readonly end: number };
