import { SessionId } from "../contract/ids.ts";
import { type Answer, refuse } from "../contract/refusal.ts";
import { ok } from "../contract/result.ts";
import type { AppContext } from "./deps.ts";

/** A file path longer than this is a mistake or an attack; Linux allows no more either. */
const FILE_PATH_MAX = 4096;

/**
 * The path as it stands in the URL, no escape decoded. Routing, the exemptions at the door and the ids all look at this
 * one text, so that no spelling is exempt for one and a route for the other.
 */
export function rawPath(request: Request): string {
  const start = request.url.indexOf("/", request.url.indexOf("//") + 2);
  if (start === -1) return "/";
  const end = request.url.slice(start).search(/[?#]/);
  return end === -1 ? request.url.slice(start) : request.url.slice(start, start + end);
}

/** The `id` of the path; what cannot be a session's id names no session (404, H-4). */
export function sessionIdOf(c: AppContext): Answer<string> {
  const id = SessionId.safeParse(c.req.param("id"));
  return id.success ? ok(id.data) : refuse("not_found_error", "session not found");
}

/** The decision's id of the path (H-7). */
export function decisionIdOf(c: AppContext): Answer<string> {
  const id = c.req.param("decision") ?? "";
  return /^[A-Za-z0-9_.-]{1,128}$/.test(id) ? ok(id) : refuse("not_found_error", "no such permission request");
}

/**
 * The workspace path after `/files`, relative to the workspace's root and without a leading slash; "" is the root itself.
 * Escapes are decoded once. URL parsing has folded plain `..` already, so one that is left was hidden on purpose.
 */
export function filePathOf(c: AppContext): Answer<string> {
  const raw = /^\/v1\/sessions\/[^/]+\/files(.*)$/.exec(rawPath(c.req.raw))?.[1] ?? "";
  let decoded: string;
  try {
    decoded = decodeURIComponent(raw);
  } catch {
    return refuse("invalid_request_error", "path has a broken percent escape");
  }
  if (decoded.includes("\0")) return refuse("invalid_request_error", "path must not contain NUL");
  if (decoded.length > FILE_PATH_MAX) {
    return refuse("invalid_request_error", `path must be at most ${FILE_PATH_MAX} characters`);
  }
  const segments = decoded.split("/").filter((segment) => segment !== "");
  if (segments.some((segment) => segment === "." || segment === "..")) {
    return refuse("invalid_request_error", "path must not contain . or ..");
  }
  return ok(segments.join("/"));
}
