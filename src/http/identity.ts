import { DEFAULT_TENANT } from "../contract/ids.ts";
import type { TenantsPort } from "../contract/tenants.ts";
import type { AppContext, Identity } from "./deps.ts";
import { rawPath } from "./request-path.ts";

/** No token is longer; what is longer is not worth a digest. */
const TOKEN_MAX = 4096;

/** Needs neither a token nor room in a rate limit: the health check and OPTIONS, which reaches no handler (H-1, H-11). */
export function isExempt(c: AppContext): boolean {
  const method = c.req.method;
  if (method === "OPTIONS") return true;
  return (method === "GET" || method === "HEAD") && rawPath(c.req.raw) === "/v1/health";
}

/** Who asks; looked up once a request, by whichever middleware needs it first. */
export async function identify(c: AppContext, tenants: TenantsPort): Promise<Identity> {
  const known = c.get("identity");
  if (known) return known;
  const identity = await lookUp(c.req.header("authorization"), tenants);
  c.set("identity", identity);
  return identity;
}

/**
 * Asks again whether the request's token belongs to its tenant, for streams that outlive the door (G-5). Undefined for a
 * request whose right to ask changes with the deployment only: one without a token, or with the deployment's own.
 */
export function tokenCheck(c: AppContext, tenants: TenantsPort): (() => Promise<boolean>) | undefined {
  const first = c.get("identity");
  if (first?.kind !== "tenant" || first.tenant === DEFAULT_TENANT) return undefined;
  const header = c.req.header("authorization");
  return async () => {
    const now = await lookUp(header, tenants);
    return now.kind === "tenant" && now.tenant === first.tenant;
  };
}

async function lookUp(header: string | undefined, tenants: TenantsPort): Promise<Identity> {
  if (!(await tenants.required())) return { kind: "anonymous" };
  if (header === undefined || header.trim() === "") return { kind: "none" };
  // Scheme in any case, one blank or more (RFC 9110, 11.4). Two header lines arrive joined by a comma and a blank: no token.
  const token = /^bearer +([^\s,]+)$/i.exec(header.trim())?.[1];
  if (token === undefined || token.length > TOKEN_MAX) return { kind: "wrong" };
  const found = await tenants.find(token);
  return found ? { kind: "tenant", ...found } : { kind: "wrong" };
}
