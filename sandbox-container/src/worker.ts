import { CreateSandbox, SandboxId } from "../../src/contract/sandbox-protocol.ts";
import { refuse } from "./answers.ts";

export type Door = {
  readonly token: string;
  /** The one machine of a sandbox. */
  machine(id: string): { fetch(request: Request): Promise<Response> };
  readonly newId: () => string;
};

/** The sandbox protocol (`docs/sandbox-protocol.yaml`): lets in who knows the token, and hands on to the sandbox's object. */
export async function handle(request: Request, door: Door): Promise<Response> {
  const url = new URL(request.url);
  if (url.pathname === "/v1/health" && request.method === "GET") return Response.json({ ok: true });
  if (!(await isAuthorized(request.headers.get("authorization"), door.token))) {
    return refuse("unauthorized", "the bearer token is missing or wrong");
  }
  const [, id, rest = ""] = /^\/v1\/sandbox(?:\/([^/]+)(\/.*)?)?$/.exec(url.pathname) ?? [];
  if (id !== undefined) {
    if (!SandboxId.safeParse(id).success) return refuse("no_sandbox", "there is no such sandbox: create it first");
    return door.machine(id).fetch(new Request(new URL(`${rest || "/"}${url.search}`, "http://machine"), request));
  }
  if (url.pathname !== "/v1/sandbox" || request.method !== "POST") return refuse("no_route", "no such route");
  const body = CreateSandbox.safeParse(await request.json().catch(() => undefined));
  if (!body.success) return refuse("invalid", "the body must be {id?, max_bytes?}");
  const made = { id: body.data.id ?? door.newId(), max_bytes: body.data.max_bytes };
  const create = new Request("http://machine/create", { method: "POST", body: JSON.stringify(made) });
  return door.machine(made.id).fetch(create);
}

/** Digests are compared, so that neither content nor length shows in the time. An empty token lets nobody in. */
async function isAuthorized(header: string | null, token: string): Promise<boolean> {
  const given = /^bearer (.*)$/i.exec(header ?? "")?.[1] ?? "";
  const [a, b] = await Promise.all([given, token].map(digest));
  let different = token === "" ? 1 : 0;
  for (let at = 0; at < 32; at++) different |= (a?.[at] ?? 0) ^ (b?.[at] ?? 1);
  return different === 0;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}
