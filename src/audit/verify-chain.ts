import type { ChainedEntry, ChainHead, ChainVerdict } from "../contract/audit.ts";
import { type AuditChain, CHAIN_START, type ChainEnd } from "./chain.ts";

/**
 * Checks one chain from its first entry to its head. Names the first position that is not as it was written: a gap, a
 * changed entry, one put in twice, or the end cut off.
 */
export async function verifyChain(
  chain: AuditChain,
  tenant: string,
  entries: AsyncIterable<ChainedEntry>,
  head: ChainHead | undefined,
): Promise<ChainVerdict> {
  let end: ChainEnd = CHAIN_START;
  let last: ChainedEntry | undefined;
  for await (const entry of entries) {
    const expected = end.seq + 1;
    if (entry.seq > expected) return broken(expected, "the entry is missing");
    if (entry.seq < expected) return broken(entry.seq, "the position is taken twice");
    if (entry.prev !== end.digest) return broken(entry.seq, "prev is not the digest of the entry before");
    if (entry.digest !== (await chain.digestOf(tenant, entry))) return broken(entry.seq, whyChanged(entry, head));
    end = { seq: entry.seq, digest: entry.digest };
    last = entry;
  }
  if (last === undefined && head === undefined) return { valid: true, entries: 0 };
  if (head === undefined) return broken(end.seq, "the head of the chain is missing");
  if (head.seq > end.seq) return broken(end.seq + 1, "the entry is missing");
  const due = await chain.head(tenant, head.session_id, head.incarnation, end);
  if (head.seq < end.seq) return broken(head.seq + 1, "the entry stands behind the head of the chain");
  if (head.digest !== due.digest) return broken(end.seq, "the head of the chain was changed");
  return { valid: true, entries: end.seq };
}

function whyChanged(entry: ChainedEntry, head: ChainHead | undefined): string {
  const methods = new Set([entry.digest, head?.digest ?? entry.digest].map((digest) => digest.split(":")[0]));
  if (methods.size > 1) return "the entry's digest was made in another way than the chain's head";
  return "the entry does not have its digest: it was changed, or ENCRYPTION_KEY is another one now";
}

function broken(broken_at: number, reason: string): ChainVerdict {
  return { valid: false, broken_at, reason };
}
