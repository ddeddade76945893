/** `readonly` runs without a question, `ask` needs one, `deny` is refused. */
export type BashVerdict = {
  readonly verdict: "readonly" | "ask" | "deny";
  readonly risk: "low" | "medium" | "high";
  /** For the model and the user. */
  readonly reason: string;
};

/** Why a command is not simply read-only. */
export type Finding = {
  readonly verdict: "ask" | "deny";
  readonly risk: "medium" | "high";
  readonly reason: string;
};

export const ask = (reason: string): Finding => ({ verdict: "ask", risk: "medium", reason });
export const askHigh = (reason: string): Finding => ({ verdict: "ask", risk: "high", reason });
export const deny = (reason: string): Finding => ({ verdict: "deny", risk: "high", reason });

export const weight = (finding: Finding): number => (finding.verdict === "deny" ? 2 : finding.risk === "high" ? 1 : 0);

/** The worst of several findings; the first one found among equals. */
export function worstOf(findings: readonly Finding[]): Finding | undefined {
  let worst: Finding | undefined;
  for (const finding of findings) {
    if (worst === undefined || weight(finding) > weight(worst)) worst = finding;
  }
  return worst;
}
