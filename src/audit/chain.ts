import type { AuditEntry, ChainedEntry, ChainHead } from "../contract/audit.ts";
import { canonicalJson } from "../shared/canonical-json.ts";
import { sha256Hex, toHex } from "../shared/digest.ts";

const encoder = new TextEncoder();

/** The end of a chain as the next entry needs it. */
export type ChainEnd = { readonly seq: number; readonly digest: string };
export const CHAIN_START: ChainEnd = { seq: 0, digest: "" };

/** Makes and checks the digests of audit chains. */
export type AuditChain = {
  /** The entry with its place after `end`. */
  link(tenant: string, incarnation: string, end: ChainEnd, entry: AuditEntry): Promise<ChainedEntry>;
  /** What the digest of this stored entry must be. */
  digestOf(tenant: string, entry: ChainedEntry): Promise<string>;
  head(tenant: string, sessionId: string, incarnation: string, end: ChainEnd): Promise<ChainHead>;
};

/**
 * The chain of a deployment: HMAC-SHA-256 under a key derived from its secret, so that nobody who can write to the
 * database can make entries or move a chain's end. Without a secret it is plain SHA-256 and says so in each digest.
 */
export async function createAuditChain(secret: string | undefined): Promise<AuditChain> {
  const digest = secret === undefined || secret === "" ? plainDigest : await keyedDigest(secret);
  // The purpose keeps an entry's digest and a head's apart: neither can stand in for the other.
  const digestOf = (tenant: string, { digest: _own, ...entry }: ChainedEntry): Promise<string> =>
    digest(canonicalJson({ purpose: "entry", tenant, entry }));
  return {
    digestOf,
    async link(tenant, incarnation, end, entry) {
      const open = { ...entry, incarnation, seq: end.seq + 1, prev: end.digest, digest: "" };
      return { ...open, digest: await digestOf(tenant, open) };
    },
    async head(tenant, sessionId, incarnation, end) {
      const place = { session_id: sessionId, incarnation, seq: end.seq };
      return { ...place, digest: await digest(canonicalJson({ purpose: "head", tenant, ...place, last: end.digest })) };
    },
  };
}

async function plainDigest(text: string): Promise<string> {
  return `sha256:${await sha256Hex(text)}`;
}

async function keyedDigest(secret: string): Promise<(text: string) => Promise<string>> {
  const key = derived?.secret === secret ? derived.key : await derive(secret);
  derived = { secret, key };
  return async (text) =>
    `hmac-sha256:${toHex(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text))))}`;
}

/** The deployment's key once it is there. Not its promise: workerd lets no request await what another has begun. */
let derived: { readonly secret: string; readonly key: CryptoKey } | undefined;

async function derive(secret: string): Promise<CryptoKey> {
  const master = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveKey"]);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: encoder.encode("flyto audit chain v1") },
    master,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign"],
  );
}
