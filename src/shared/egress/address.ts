import ipaddr from "ipaddr.js";

/** Names that are loopback, link-local or private by definition, whatever a resolver says (RFC 6761, 6762, 8375, 9476). */
const PRIVATE_SUFFIXES = [
  "localhost",
  "local",
  "internal",
  "home.arpa",
  "localdomain",
  "svc",
  "intranet",
  "lan",
  "corp",
  "home",
];

/** Public by its number, but each virtual machine of Azure reaches its own host there. */
const PLATFORM_ADDRESSES = new Set(["168.63.129.16"]);

/** IPv6 blocks inside 2000::/3 that carry or stand for another address; `range()` does not name all of them. */
const EMBEDDING_BLOCKS = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map((block) =>
  ipaddr.IPv6.parseCIDR(block),
);
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

export type AddressVerdict = { readonly public: true } | { readonly public: false; readonly reason: string };

const PUBLIC: AddressVerdict = { public: true };

/**
 * Says whether an address literal is on the public internet. IPv6 is judged by an accept list (global unicast), because a
 * NAT64, 6to4, Teredo or IPv4-compatible address reaches whatever IPv4 address it carries. spec: S-1
 */
export function judgeAddress(text: string): AddressVerdict {
  if (!ipaddr.isValid(text)) return { public: false, reason: "not an address" };
  const address = ipaddr.process(text);
  const range = address.range();
  if (range !== "unicast") return { public: false, reason: `${range} address` };
  if (address instanceof ipaddr.IPv4)
    return PLATFORM_ADDRESSES.has(address.toString()) ? { public: false, reason: "platform address" } : PUBLIC;
  if (!address.match(GLOBAL_UNICAST)) return { public: false, reason: "not a global address" };
  if (EMBEDDING_BLOCKS.some((block) => address.match(block)))
    return { public: false, reason: "special-purpose address" };
  // ISATAP (RFC 5214): the interface id `[02]00:5efe` carries an IPv4 address.
  const [, , , , high = 0, marker = 0] = address.parts;
  if (marker === 0x5efe && (high & 0xfdff) === 0) return { public: false, reason: "tunnel address" };
  return PUBLIC;
}

/** The address inside a URL's `hostname`, or undefined when it is a name. */
export function addressOf(hostname: string): string | undefined {
  if (hostname.startsWith("[") && hostname.endsWith("]")) return hostname.slice(1, -1);
  const bare = hostname.replace(/\.+$/, "");
  return /^[0-9]+(\.[0-9]+){3}$/.test(bare) ? bare : undefined;
}

/** Says whether a host name can mean a public host; names without a dot are found by local search lists only. */
export function judgeName(hostname: string): AddressVerdict {
  const name = bareName(hostname);
  if (name === "") return { public: false, reason: "no host" };
  if (PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`))) {
    return { public: false, reason: "private name" };
  }
  if (!name.includes(".")) return { public: false, reason: "name without a domain" };
  return PUBLIC;
}

/** A host name in lower case and without the dot of a fully qualified name. */
export function bareName(hostname: string): string {
  return hostname.toLowerCase().replace(/\.+$/, "");
}

/** True for what the machine itself answers: used only where a test allows it. */
export function isLoopbackHost(hostname: string): boolean {
  const address = addressOf(hostname);
  if (address === undefined) {
    const name = bareName(hostname);
    return name === "localhost" || name.endsWith(".localhost");
  }
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "loopback";
}
