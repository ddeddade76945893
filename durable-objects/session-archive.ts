import { type Answer, refuse } from "../src/contract/refusal.ts";
import { ok } from "../src/contract/result.ts";
import type { Sandbox } from "../src/contract/sandbox.ts";

/** One part of an archive: well below what one call between objects may carry (32 MiB). */
const PART_BYTES = 8 * 1024 * 1024;
const TIMEOUT_MS = 120_000;
/** What a failed command said, as far as it is told. */
const SAID_CHARACTERS = 300;

/**
 * Packs a workspace on another machine into an archive in a folder beside its files, in parts that `readPart` gives: a copy keeps
 * links and modes, and files that change meanwhile are noticed by `tar`. Gives how many parts there are.
 */
export async function packWorkspace(sandbox: Sandbox, archive: string): Promise<Answer<number>> {
  // In a folder of their own: a new file beside the others would look to tar like a change.
  const pack = `tar -czf - --exclude='./.fork-*' . | split -b ${PART_BYTES} -a 4 -d - ${archive}/`;
  const packed = await run(sandbox, `set -o pipefail; mkdir -p ${archive} && ${pack} && ls ${archive} | wc -l`);
  return packed.ok ? ok(Number(packed.value)) : packed;
}

export async function readPart(sandbox: Sandbox, archive: string, part: number): Promise<Answer<Uint8Array>> {
  const read = await sandbox.files.readFile(pathOf(sandbox, archive, part));
  return read.ok ? ok(read.value) : refuse("internal_error", read.error.message);
}

export async function writePart(
  sandbox: Sandbox,
  archive: string,
  part: number,
  bytes: Uint8Array,
): Promise<Answer<void>> {
  const written = await sandbox.files.writeFile(pathOf(sandbox, archive, part), bytes);
  return written.ok ? ok(undefined) : refuse("internal_error", written.error.message);
}

/** Unpacks the parts that were written, and removes them. */
export async function unpackWorkspace(sandbox: Sandbox, archive: string): Promise<Answer<void>> {
  const unpacked = await run(sandbox, `set -o pipefail; cat ${archive}/* | tar -xzf - && rm -rf ${archive}`);
  return unpacked.ok ? ok(undefined) : unpacked;
}

/** Parts that are left lie in nobody's way; where even that fails, they go with the workspace. */
export async function dropArchive(sandbox: Sandbox, archive: string): Promise<void> {
  await run(sandbox, `rm -rf ${archive}`);
}

/** An archive's folder; `id` has no character that means something to a shell. */
export function archiveName(id: string): string {
  return `.fork-${id}`;
}

function pathOf({ root }: Sandbox, archive: string, part: number): string {
  return `${root}/${archive}/${String(part).padStart(4, "0")}`;
}

async function run(sandbox: Sandbox, command: string): Promise<Answer<string>> {
  const request = { command, cwd: sandbox.root, env: {}, timeoutMs: TIMEOUT_MS };
  const [out, err] = [new TextDecoder(), new TextDecoder()];
  let [stdout, stderr] = ["", ""];
  for await (const event of sandbox.exec(request, new AbortController().signal)) {
    if (event.type === "stdout") stdout += out.decode(event.data, { stream: true });
    if (event.type === "stderr") stderr += err.decode(event.data, { stream: true });
    if (event.type === "exit" && event.exitCode === 0) return ok(stdout.trim());
  }
  return refuse("conflict_error", `the session's files could not be copied: ${stderr.slice(-SAID_CHARACTERS).trim()}`);
}
