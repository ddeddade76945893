import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";

/** Limits of all commands of one sandbox together: without a cgroup each process has its own share only. */
export type CgroupLimits = { readonly maxMemoryBytes: number; readonly maxProcesses: number };

export type Cgroup = {
  /** A process joins by writing its number to each of these. */
  readonly joins: readonly string[];
  remove(): Promise<void>;
};

export type Cgroups = { readonly version: 1 | 2; make(name: string, limits: CgroupLimits): Promise<Cgroup> };

const ROOT = "/sys/fs/cgroup";
const PARENT = "flyto-sandbox";

/** The machine's cgroups when they can be written, else undefined: in most containers they cannot. */
export async function openCgroups(): Promise<Cgroups | undefined> {
  const isTwo = existsSync(`${ROOT}/cgroup.controllers`);
  try {
    const cgroups = isTwo ? await versionTwo() : versionOne();
    const folders = isTwo ? [`${ROOT}/${PARENT}`] : [`${ROOT}/memory/${PARENT}`, `${ROOT}/pids/${PARENT}`];
    await Promise.all(folders.map(sweep));
    const trial = await cgroups.make(`${process.pid}-trial`, { maxMemoryBytes: 1 << 28, maxProcesses: 10 });
    await trial.remove();
    return cgroups;
  } catch {
    return undefined;
  }
}

async function versionTwo(): Promise<Cgroups> {
  const parent = `${ROOT}/${PARENT}`;
  await mkdir(parent, { recursive: true });
  for (const folder of [ROOT, parent]) {
    const enabled = (await readFile(`${folder}/cgroup.subtree_control`, "utf8")).split(/\s+/);
    const wanted = ["memory", "pids"].filter((name) => !enabled.includes(name)).map((name) => `+${name}`);
    if (wanted.length > 0) await writeFile(`${folder}/cgroup.subtree_control`, wanted.join(" "));
  }
  return {
    version: 2,
    async make(name, limits) {
      const folder = `${parent}/${name}`;
      await mkdir(folder, { recursive: true });
      await writeFile(`${folder}/memory.max`, String(limits.maxMemoryBytes));
      await writeFile(`${folder}/memory.swap.max`, "0").catch(() => {});
      await writeFile(`${folder}/pids.max`, String(limits.maxProcesses));
      return { joins: [`${folder}/cgroup.procs`], remove: () => removeAll([folder]) };
    },
  };
}

function versionOne(): Cgroups {
  return {
    version: 1,
    async make(name, limits) {
      const [memory, pids] = [`${ROOT}/memory/${PARENT}/${name}`, `${ROOT}/pids/${PARENT}/${name}`];
      await Promise.all([memory, pids].map((folder) => mkdir(folder, { recursive: true })));
      await writeFile(`${memory}/memory.limit_in_bytes`, String(limits.maxMemoryBytes));
      await writeFile(`${pids}/pids.max`, String(limits.maxProcesses));
      const folders = [memory, pids];
      return { joins: folders.map((folder) => `${folder}/cgroup.procs`), remove: () => removeAll(folders) };
    },
  };
}

/** Removes what servers that are gone have left; names begin with a server's process number. */
async function sweep(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const gone = names.filter((name) => /^\d+-/.test(name) && !existsSync(`/proc/${Number.parseInt(name, 10)}`));
  await removeAll(gone.map((name) => `${parent}/${name}`));
}

/** A group whose last process is still going cannot be removed; it is empty then and costs little. */
async function removeAll(folders: readonly string[]): Promise<void> {
  await Promise.all(folders.map((folder) => rmdir(folder).catch(() => {})));
}
