import { DEFAULT_TENANT } from "../contract/ids.ts";
import type { TenantsPort } from "../contract/tenants.ts";

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Looks at every byte, whatever the first ones say (H-11). */
function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.byteLength ^ b.byteLength;
  for (let i = 0; i < a.byteLength; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return difference === 0;
}

/**
 * The tenants of a deployment with one bearer token, or with none (H-11). Digests of equal length are compared, so the
 * time an answer takes says nothing about the token, not even its length. An empty setting counts as unset.
 */
export function createSingleTokenTenants(token: string | undefined): TenantsPort {
  const expected = token === "" ? undefined : token;
  return {
    required: async () => expected !== undefined,
    async find(given) {
      // Both digests anew: a promise made in one request must not be awaited in another (workerd).
      if (expected === undefined || !sameBytes(await digest(given), await digest(expected))) return undefined;
      return { tenant: DEFAULT_TENANT };
    },
  };
}
