import { type Answer, refuse } from "../src/contract/refusal.ts";
import { ok } from "../src/contract/result.ts";
import type { FileError, Sandbox } from "../src/contract/sandbox.ts";
import type { FileContent, FileListing } from "../src/contract/sessions.ts";

/** Files of a session over HTTP: paths are relative to the workspace and never leave it, links included. */
export async function getFile(sandbox: Sandbox, path: string): Promise<Answer<FileContent | FileListing>> {
  const place = await inside(sandbox, path);
  if (!place.ok) return place;
  const stat = await sandbox.files.stat(place.value);
  if (!stat.ok) return refusalOf(sandbox, stat.error);
  if (stat.value.kind === "directory") {
    const list = await sandbox.files.list(place.value);
    if (!list.ok) return refusalOf(sandbox, list.error);
    const entries = list.value.map(({ path: full, kind, size }) => ({
      name: full.split("/").at(-1) ?? "",
      kind,
      size,
    }));
    return ok({ kind: "directory", entries });
  }
  const bytes = await sandbox.files.readFile(place.value);
  return bytes.ok ? ok({ kind: "file", bytes: bytes.value }) : refusalOf(sandbox, bytes.error);
}

export async function putFile(sandbox: Sandbox, path: string, bytes: Uint8Array): Promise<Answer<void>> {
  const place = await inside(sandbox, path);
  if (!place.ok) return place;
  const written = await sandbox.files.writeFile(place.value, bytes);
  return written.ok ? ok(undefined) : refusalOf(sandbox, written.error);
}

/** Removes the file, tree or link itself, never what a link points to. */
export async function removeFile(sandbox: Sandbox, path: string): Promise<Answer<void>> {
  const cut = path.lastIndexOf("/");
  const name = path.slice(cut + 1);
  if (name === "") return refuse("invalid_request_error", "path must not be the workspace itself");
  const parent = await inside(sandbox, path.slice(0, Math.max(cut, 0)));
  if (!parent.ok) return parent;
  const removed = await sandbox.files.remove(`${parent.value}/${name}`, { recursive: true });
  return removed.ok ? ok(undefined) : refusalOf(sandbox, removed.error);
}

async function inside(sandbox: Sandbox, path: string): Promise<Answer<string>> {
  const real = await sandbox.files.realPath(`${sandbox.root}/${path}`);
  if (!real.ok) return refusalOf(sandbox, real.error);
  if (real.value === sandbox.root || real.value.startsWith(`${sandbox.root}/`)) return ok(real.value);
  return refuse("permission_error", "path leads out of the workspace");
}

/** The caller's mistake, but for a backend that cannot be reached: that is the deployment's (H-10). */
function refusalOf(sandbox: Sandbox, error: FileError) {
  switch (error.code) {
    case "not_found":
      return refuse("not_found_error", error.message);
    case "unavailable":
      return refuse("internal_error", `the ${sandbox.backend} sandbox backend cannot be used: ${error.message}`);
    default:
      return refuse("invalid_request_error", error.message);
  }
}
