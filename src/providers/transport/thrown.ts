/** Longest chain of causes looked into. */
const CAUSES = 5;

export const TLS_HINT =
  "The certificate was not accepted: an inspecting proxy or a self-signed server. Trust its root certificate (NODE_EXTRA_CA_CERTS for local runs) or fix the certificate.";

/** Messages and codes of an error and its causes, outermost first. */
export function thrownText(error: unknown): string {
  const parts: string[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < CAUSES && at !== undefined && at !== null; depth++) {
    if (!(typeof at === "object")) {
      parts.push(String(at));
      break;
    }
    const { message, code, cause } = at as { message?: unknown; code?: unknown; cause?: unknown };
    if (typeof message === "string" && message !== "" && !parts.some((part) => part.includes(message)))
      parts.push(message);
    if (typeof code === "string" && !parts.some((part) => part.includes(code))) parts.push(code);
    const several = (at as { errors?: unknown }).errors;
    at = cause ?? (Array.isArray(several) ? several[0] : undefined);
  }
  return parts.join(": ") || "the connection failed";
}

/** Certificate words or codes (provider-protocols 1.3). */
export function isThrownByTls(error: unknown): boolean {
  return /certificate|SELF_SIGNED|self[- ]signed|UNABLE_TO_(?:VERIFY|GET_ISSUER|GET_CRL)|CERT_|CRL_|INVALID_(?:CA|PURPOSE)\b|HOSTNAME_MISMATCH|ERR_TLS|ERR_SSL|\bEPROTO\b|\bSSL\b|TLS (?:handshake|alert|peer)|unknown ca/i.test(
    thrownText(error),
  );
}
