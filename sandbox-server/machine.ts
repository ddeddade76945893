import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { REMOTE_ROOT } from "../src/contract/sandbox-protocol.ts";
import { type Cgroups, openCgroups } from "./cgroup.ts";
import { DiskUsage } from "./disk-usage.ts";
import { type Machine, makeGuest } from "./exec-route.ts";
import type { Isolation } from "./guest.ts";
import { runCommand } from "./run-command.ts";
import type { Settings } from "./settings.ts";

/** Tells of a sandbox in which nothing of the machine shows and from which no further one can be made. */
const PROOF =
  "[ $(id -u) = 1000 ] && [ ! -e /etc/shadow ] && [ $$ -lt 100 ] && ! unshare -U true 2>/dev/null && echo isolated";

export type Started = { readonly machine: Machine; readonly notes: readonly string[]; close(): Promise<void> };

/**
 * Makes ready what commands need and tries whether isolation works here, by running one. A text says why the server must
 * not start.
 */
export async function startMachine(settings: Settings): Promise<Started | string> {
  // In memory where there is such a folder: commands' variables pass through it.
  const privateFolder = await mkdtemp("/dev/shm/flyto-sandbox-").catch(() => mkdtemp(`${tmpdir()}/flyto-sandbox-`));
  const close = () => rm(privateFolder, { recursive: true, force: true });
  const etcFolder = `${settings.dir}/etc`;
  await mkdir(etcFolder, { recursive: true, mode: 0o755 });
  await chmod(settings.dir, 0o711);
  await writeFile(`${etcFolder}/passwd`, `root:x:0:0::/:/bin/false\nuser:x:1000:1000::${REMOTE_ROOT}:/bin/bash\n`);
  await writeFile(`${etcFolder}/group`, "root:x:0:\nuser:x:1000:\n");
  const make = (isolation: Isolation, cgroups: Cgroups | undefined): Machine => ({
    settings,
    isolation,
    cgroups,
    privateFolder,
    etcFolder,
    running: 0,
  });
  const cgroups = await openCgroups();
  const notes = cgroups ? [] : ["no writable cgroup: memory is limited for each process, not for a sandbox"];
  const isolated = make("bubblewrap", cgroups);
  const said = await prove(isolated);
  if (said === "isolated\n") return { machine: isolated, notes, close };
  const failed = `bubblewrap does not isolate commands here (${said.trim() || "no answer"})`;
  if (settings.unsafe) return { machine: make("none", undefined), notes: [...notes, `UNSAFE: ${failed}`], close };
  await close();
  return `${failed}; install it (Debian: apt-get install bubblewrap), allow user namespaces, or start with --unsafe`;
}

/** What a first command says. */
async function prove(machine: Machine): Promise<string> {
  const { settings, privateFolder } = machine;
  const uid = process.getuid?.() === 0 ? 199_999 : undefined;
  const folder = await mkdtemp(`${settings.dir}/trial-`);
  let said = "";
  try {
    await chmod(folder, 0o777);
    const place = { id: "trial", mounts: new Map(), workFolder: folder, tmpFolder: folder, uid, maxBytes: 1 << 20 };
    const usage = new DiskUsage([folder], { maxBytes: 1 << 20, maxFiles: 100 });
    const guest = await makeGuest(machine, { ...place, usage }, 10_000);
    const body = { command: PROOF, cwd: REMOTE_ROOT, env: {}, timeout_ms: 10_000, exec_id: "trial" };
    await runCommand(
      { guest, root: REMOTE_ROOT, privateFolder, usage, maxOutputBytes: 4096 },
      body,
      async (_, data) => {
        said += Buffer.from(data).toString();
      },
      new AbortController().signal,
    );
  } catch (error) {
    said += String(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return said;
}
