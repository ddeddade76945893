import { REMOTE_ROOT, REMOTE_TMP } from "../src/contract/sandbox-protocol.ts";

/** How commands are kept apart from the machine: `none` only with `--unsafe`. */
export type Isolation = "bubblewrap" | "none";

export type Guest = {
  readonly isolation: Isolation;
  readonly workFolder: string;
  readonly tmpFolder: string;
  /** Holds `passwd` and `group`. */
  readonly etcFolder: string;
  /** Host user of this sandbox's commands; undefined: the server's own. */
  readonly uid: number | undefined;
  readonly allowNetwork: boolean;
  readonly readOnly: readonly string[];
  readonly limits: GuestLimits;
  /** Files to write the process number to. */
  readonly cgroupJoins: readonly string[];
};

export type GuestLimits = {
  /** Address space of each process; undefined where a cgroup counts memory. */
  readonly maxAddressBytes: number | undefined;
  readonly maxProcesses: number;
  /** Bytes of one file. */
  readonly maxFileBytes: number;
  readonly cpuSeconds: number;
};

/** The command's streams: its working directory at the end goes to 3, its text comes from 4, bubblewrap's settings from 5. */
export const CWD_FD = 3;
export const SCRIPT_FD = 4;
export const SETTINGS_FD = 5;

/** As the guest sees itself. */
const GUEST_UID = 1000;
const SHM_BYTES = 64 * 1024 * 1024;

/**
 * Goes to the working directory, sees to it that the last one is told, and runs the text as `bash -c` would. A text that
 * is an argument may be no longer than 128 KB; one from a stream may.
 */
const SHELL = [
  `cd -- "$1" 2>/dev/null || { echo "bash: $1: the working directory is gone; running in $2" >&2; cd -- "$2"; }`,
  "set --",
  `trap '[ "$PWD" -ef . ] && printf %s "$PWD" >&${CWD_FD}' EXIT`,
  `eval "$(</dev/fd/${SCRIPT_FD})" ${SCRIPT_FD}<&-`,
].join("\n");

/** Joins the cgroups and closes what the server itself was started with, then becomes the rest of the line. */
const OUTER = [
  'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift',
  `for fd in /proc/$$/fd/*; do fd=\${fd##*/}; ((fd > ${SETTINGS_FD} && fd != 255)) && eval "exec $fd>&-"; done`,
  'exec "$@"',
].join("\n");

/** The whole command line, outermost program first, for a clean environment. */
export function commandLine(guest: Guest, cwd: string, root: string): string[] {
  const { limits, uid } = guest;
  const shell = ["/bin/bash", "-c", SHELL, "bash", cwd, root];
  const inner = guest.isolation === "none" ? shell : ["bwrap", "--args", `${SETTINGS_FD}`, "--", ...shell];
  return [
    "/bin/bash",
    "-c",
    OUTER,
    "bash",
    ...guest.cgroupJoins,
    "--",
    ...["nice", "-n", "5"],
    ...(uid === undefined ? [] : ["setpriv", "--reuid", `${uid}`, "--regid", `${uid}`, "--clear-groups"]),
    "prlimit",
    "--core=0",
    `--nproc=${limits.maxProcesses}`,
    `--fsize=${limits.maxFileBytes}`,
    `--cpu=${limits.cpuSeconds}`,
    ...(limits.maxAddressBytes === undefined ? [] : [`--as=${limits.maxAddressBytes}`]),
    ...inner,
  ];
}

/** Bubblewrap's settings, which carry secrets and so never stand on a command line. */
export function bubblewrapSettings(guest: Guest, env: Readonly<Record<string, string>>): string {
  const settings = [
    ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"],
    ...(guest.allowNetwork ? [] : ["--unshare-net"]),
    ...["--uid", `${GUEST_UID}`, "--gid", `${GUEST_UID}`, "--hostname", "sandbox"],
    ...["--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"],
    ...["--ro-bind", "/usr", "/usr"],
    ...["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...["passwd", "group"].flatMap((name) => ["--ro-bind", `${guest.etcFolder}/${name}`, `/etc/${name}`]),
    ...["/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs"].flatMap((path) => ["--ro-bind-try", path, path]),
    ...(guest.allowNetwork ? ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"] : []).flatMap((path) => [
      "--ro-bind-try",
      path,
      path,
    ]),
    ...guest.readOnly.flatMap((path) => ["--ro-bind", path, path]),
    ...["--proc", "/proc", "--dev", "/dev", "--size", `${SHM_BYTES}`, "--tmpfs", "/dev/shm"],
    ...["--bind", guest.tmpFolder, REMOTE_TMP, "--bind", guest.workFolder, REMOTE_ROOT],
    // What is left of the guest's tree lies in memory: nothing may be put there.
    ...["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"],
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
  ];
  return settings.map((each) => `${each}\0`).join("");
}

/** What every command finds beside its own variables. */
export function guestEnvironment(root: string): Record<string, string> {
  return {
    HOME: root,
    PATH: "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    SHELL: "/bin/bash",
    USER: "user",
    LOGNAME: "user",
    LANG: "C.UTF-8",
    TERM: "dumb",
    TMPDIR: REMOTE_TMP,
  };
}
