import ipaddr from "ipaddr.js";
import { toHex } from "../shared/digest.ts";

/** The longest text of an address (IPv4 inside IPv6, with a zone) is shorter. */
const ADDRESS_MAX = 64;

/**
 * The client as the rate limit sees it (H-14): one IPv4 address, or one IPv6 /64, since a single customer gets at least
 * that much. `text` is the value of the header that the deployment trusts; without a usable one all share a bucket, so
 * that junk in the header buys nobody a fresh one.
 */
export function clientOf(text: string | undefined): string {
  const trimmed = text?.trim() ?? "";
  if (trimmed === "" || trimmed.length > ADDRESS_MAX || !ipaddr.isValid(trimmed)) return "shared";
  const address = ipaddr.process(trimmed);
  if (address.kind() === "ipv4") return address.toString();
  const network = address.toByteArray().slice(0, 8);
  return `${toHex(network)}/64`;
}
