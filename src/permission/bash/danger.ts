import { askHigh, deny, type Finding } from "./finding.ts";
import type { Arg, Scope } from "./model.ts";
import { absolutePaths, isCriticalTree, isSystemPath } from "./scope.ts";
import { isLoaderCode, isReverseShellCode } from "./scripts.ts";
import { INTERPRETERS, SHELLS } from "./traits.ts";
import { literalText } from "./words.ts";

const PRIVILEGE =
  /^(sudo|sudoedit|su|doas|pkexec|runuser|run0|gosu|su-exec|chroot|nsenter|unshare|setcap|setpriv|capsh|machinectl|systemd-run|newgrp|sg)$/;
const ACCOUNTS =
  /^(useradd|userdel|usermod|groupadd|groupmod|groupdel|adduser|deluser|addgroup|passwd|chpasswd|gpasswd|visudo|vipw|vigr|chsh|dscl|kextload|insmod|modprobe|rmmod|kexec|setenforce|sysctl|mount|umount|swapoff|swapon)$/;
const DISKS =
  /^(mkfs(\..+)?|mke2fs|mkswap|mkntfs|fdisk|sfdisk|gdisk|cgdisk|sgdisk|cfdisk|parted|wipefs|blkdiscard|cryptsetup|lvremove|vgremove|pvremove|pvcreate|vgcreate|lvcreate|mdadm|zpool|badblocks|hdparm|nvme|diskutil|debugfs|tune2fs|fsck(\..+)?|e2fsck|resize2fs|losetup|format)$/;
const STOPS = /^(shutdown|reboot|halt|poweroff|telinit|killall5)$/;
const NETWORK_RULES = /^(iptables|ip6tables|nft|ufw|firewall-cmd|iptables-restore)$/;
const NETWORK_TOOLS = /^(ip|ifconfig|route|nmcli|networksetup|tc|brctl|ethtool|iwconfig)$/;
const START_UP = /^(crontab|at|batch|update-rc\.d|chkconfig|launchctl|rc-update|insserv)$/;
/** Change every operand, or only the last one. */
const WRITE_ALL =
  /^(tee|touch|truncate|mkdir|rmdir|rm|unlink|shred|mv|patch|srm|chattr|vi|vim|nano|ed|ex|emacs|split|mkfifo|mknod|link)$/;
const WRITE_LAST = /^(cp|install|ln|rsync|scp|ditto)$/;

/** Words after options; options that take a value leave it in, which only makes the check stricter. */
function operandsOf(args: readonly Arg[]): Arg[] {
  const end = args.findIndex((arg) => literalText(arg) === "--");
  return args.filter((arg, index) => (end >= 0 && index > end) || !/^-./.test(arg.texts[0] ?? ""));
}

const hasFlag = (args: readonly Arg[], short: RegExp, long: RegExp): boolean =>
  args.some((arg) => arg.texts.some((text) => (text.startsWith("--") ? long.test(text.slice(2)) : short.test(text))));

/** The folders a word empties: the path itself, and its parent when only a pattern is left at the end. */
function targets(arg: Arg, scope: Scope): string[] {
  const bare = arg.texts.map((text) => {
    // What follows is unknown and may well be empty.
    if (arg.kind === "dynamic") return text;
    const segments = text.split("/");
    while (segments.length > 0 && isAnyName(segments.at(-1) ?? "")) segments.pop();
    if (segments.length === 0) return ".";
    return segments.join("/") || (text.startsWith("/") ? "/" : "");
  });
  return bare.flatMap((text) => (text === "" ? [] : absolutePaths(text, scope)));
}

/** A pattern without a letter of its own. */
function isAnyName(segment: string): boolean {
  return segment.includes("*") && /^[*?[\]!.]+$/.test(segment);
}

/** Judges one call by what it would do at its worst; undefined when nothing stands out. spec: S-1 */
export function dangerOf(name: string, args: readonly Arg[], scope: Scope): Finding | undefined {
  const { context } = scope;
  const texts = args.flatMap((arg) => arg.texts);
  const operands = operandsOf(args);
  if (PRIVILEGE.test(name) || ACCOUNTS.test(name)) return deny(`${name} changes privileges or the system`);
  if (DISKS.test(name)) return deny(`${name} works on disks`);
  if (STOPS.test(name) || (name === "init" && texts.some((text) => /^[06]$/.test(text))))
    return deny(`${name} stops the machine`);
  if (NETWORK_RULES.test(name)) return deny(`${name} changes the firewall`);
  if (NETWORK_TOOLS.test(name))
    return texts.some((text) => /^(set|add|del(ete)?|flush|change|replace|append|up|down|modify|off|on)$/.test(text))
      ? deny(`${name} changes the network`)
      : askHigh(`${name} works on the network`);
  if (
    name === "mv" &&
    operands.slice(0, -1).some((arg) => targets(arg, scope).some((path) => isCriticalTree(path, context)))
  )
    return deny("moves the root, a home folder, a system folder or a parent of the workspace away");
  if (START_UP.test(name))
    return texts[0] === "-l" ? askHigh(`${name} shows scheduled work`) : deny(`${name} schedules or starts programs`);
  if (name === "systemctl" || name === "service") return serviceDanger(texts);

  if (name === "rm" || name === "srm" || name === "find") {
    const recursive =
      name !== "find"
        ? hasFlag(args, /[rR]/, /^r(e|$)/)
        : texts.some((text) => /^-delete$|^-exec(dir)?$|^-ok(dir)?$/.test(text));
    const removes =
      name !== "find" || texts.includes("-delete") || texts.some((text) => /(^|\/)(rm|shred|unlink|srm)$/.test(text));
    if (recursive && removes) {
      const starts =
        name === "find"
          ? operandsOf(
              args.slice(
                0,
                Math.max(
                  0,
                  args.findIndex((arg) => /^-[a-z]{2}/.test(arg.texts[0] ?? "")),
                ),
              ),
            )
          : operands;
      if (starts.some((arg) => targets(arg, scope).some((path) => isCriticalTree(path, context)))) {
        return deny("deletes the root, a home folder, a system folder or a parent of the workspace");
      }
      return askHigh("deletes a tree of files");
    }
    if (texts.some((text) => text.startsWith("--no-pre"))) return deny("deletes the root");
  }
  return (
    modeDanger(name, args, operands, scope) ??
    writeDanger(name, args, operands, scope) ??
    processDanger(name, texts, args) ??
    containerDanger(name, texts, scope) ??
    codeDanger(name, texts) ??
    riskyTools(name, texts)
  );
}

function serviceDanger(texts: readonly string[]): Finding {
  const harmless = texts.some((text) =>
    /^(status|show|cat|list-units|list-unit-files|is-active|is-enabled)$/.test(text),
  );
  return harmless ? askHigh("asks the service manager") : deny("changes services of the machine");
}

function modeDanger(name: string, args: readonly Arg[], operands: readonly Arg[], scope: Scope): Finding | undefined {
  if (!/^(chmod|chown|chgrp|chattr|setfacl)$/.test(name)) return undefined;
  const mode =
    args.flatMap((arg) => arg.texts).find((text) => !text.startsWith("--") && !/^-[RvcfHLP]+$/.test(text)) ?? "";
  if (name === "chmod" && (/[+=][rwxXt]*s/.test(mode) || /^0*[2-7][0-7]{3}$/.test(mode)))
    return deny("gives a program the rights of its owner");
  if (name === "chown" && /^\+?(root|0)(:|\.|$)/.test(mode)) return deny("hands a file to the superuser");
  const paths = operands.flatMap((arg) => targets(arg, scope));
  const recursive = hasFlag(args, /R/, /^recursive/);
  if (paths.some((path) => isSystemPath(path, scope.context) || (recursive && isCriticalTree(path, scope.context)))) {
    return deny("changes the rights of system or home files");
  }
  return askHigh("changes file rights");
}

function writeDanger(name: string, args: readonly Arg[], operands: readonly Arg[], scope: Scope): Finding | undefined {
  const values = args.flatMap((arg) => arg.texts).flatMap((text) => /^(?:--?[\w-]+|of)=(.+)$/.exec(text)?.[1] ?? []);
  const inPlace = /^(sed|perl|ruby|gawk|awk|yq)$/.test(name) && hasFlag(args, /^-[a-zA-Z]*i/, /^in-?place/);
  let changed: string[] = [];
  if (WRITE_ALL.test(name) || inPlace) changed = operands.flatMap((arg) => targets(arg, scope));
  else if (WRITE_LAST.test(name)) {
    const into = args.findIndex((arg) => /^(-t|--target-directory)$/.test(literalText(arg) ?? ""));
    changed = [...operands.slice(-1), ...args.slice(into + 1, into < 0 ? 0 : into + 2)].flatMap((arg) =>
      targets(arg, scope),
    );
    changed.push(...values.flatMap((value) => absolutePaths(value, scope)));
  } else if (name === "dd") {
    const out = args.flatMap((arg) => arg.texts).flatMap((text) => /^of=(.+)$/.exec(text)?.[1] ?? []);
    changed = out.flatMap((text) => absolutePaths(text.replace(/^~(?=\/|$)/, scope.context.home), scope));
  } else if (/^(curl|wget|tar|unzip|sort|openssl|gpg|ssh-keygen|git|7z|cpio)$/.test(name)) {
    const outs = args.flatMap((arg, at) =>
      /^(-[a-zA-Z]*[oOCdf]|--output|--output-document|--directory(-prefix)?|-P|-out)$/.test(literalText(arg) ?? "")
        ? args.slice(at + 1, at + 2)
        : [],
    );
    changed = [
      ...outs.flatMap((arg) => targets(arg, scope)),
      ...values.flatMap((value) => absolutePaths(value, scope)),
    ];
    if (name === "tar" && !hasFlag(args, /^-?[a-zA-Z]*x/, /^extract|^get/)) changed = [];
    if (name === "git") changed = changed.filter((path) => path !== "/");
  }
  if (changed.some((path) => isSystemPath(path, scope.context))) return deny("writes a system, login or start-up file");
  return undefined;
}

function processDanger(name: string, texts: readonly string[], args: readonly Arg[]): Finding | undefined {
  if (!/^(kill|killall|pkill|skill)$/.test(name)) return undefined;
  const last = texts.at(-1) ?? "";
  if (name === "kill" && args.length > 1 && texts.slice(1).some((text) => /^(-1|1|-0*1|0)$/.test(text)))
    return deny("ends every process");
  if (name === "kill" && last === "1") return deny("ends the first process");
  if (name !== "kill" && texts.some((text) => /^(\.|\.\*|-u|--uid|-U|--euid|init|systemd)$/.test(text)))
    return deny("ends every process of a user");
  return askHigh("ends processes");
}

function containerDanger(name: string, texts: readonly string[], scope: Scope): Finding | undefined {
  if (!/^(docker|podman|nerdctl|kubectl|docker-compose|lxc|ctr|crictl)$/.test(name)) return undefined;
  const opens = texts.some((text, index) => {
    if (
      /^--privileged|^--(pid|ipc|uts|userns|network|net)=host$|^--cap-add|^--device|^--security-opt|docker\.sock/.test(
        text,
      )
    )
      return true;
    const value = /^(-v|--volume|--mount)$/.test(texts[index - 1] ?? "")
      ? text
      : /^(?:-v|--volume=|--mount=)(.+)$/.exec(text)?.[1];
    const source = /(?:^|,)(?:source|src)=([^,]+)/.exec(value ?? "")?.[1] ?? value?.split(":")[0];
    return (
      source !== undefined && /^[/~]/.test(source) && isCriticalTree(source.replace(/(.)\/+$/, "$1"), scope.context)
    );
  });
  return opens ? deny("gives a container the machine") : askHigh(`${name} starts or changes containers`);
}

function codeDanger(name: string, texts: readonly string[]): Finding | undefined {
  if (
    /^(nc|ncat|netcat)$/.test(name) &&
    texts.some((text) => /^(-[a-zA-Z]*[ec]|--(exec|sh-exec|lua-exec).*)$/.test(text))
  )
    return deny("opens a remote shell");
  if (name === "socat" && texts.some((text) => /^(exec|system|shell)[:=]/i.test(text) || /,?exec:/i.test(text)))
    return deny("opens a remote shell");
  if (/^g?awk$|^mawk$/.test(name) && texts.some((text) => /\/inet\d?\//.test(text)))
    return deny("opens a remote shell");
  if (!INTERPRETERS.test(name) && !SHELLS.test(name)) return undefined;
  if (isReverseShellCode(texts.join(" "))) return deny("opens a remote shell");
  if (INTERPRETERS.test(name) && texts.some(isLoaderCode)) return deny("runs fetched or decoded text");
  return askHigh(`${name} can run anything`);
}

function riskyTools(name: string, texts: readonly string[]): Finding | undefined {
  if (name === "git") return gitDanger(texts);
  if (/^(curl|wget|nc|ncat|scp|rsync|ssh|sftp|ftp|telnet|socat)$/.test(name))
    return askHigh(`${name} talks to the network`);
  if (
    /^(npm|yarn|pnpm|cargo|twine|gem)$/.test(name) &&
    texts.some((text) => /^(publish|push|unpublish|login|adduser|token)$/.test(text))
  )
    return askHigh("publishes a package");
  if (/^(terraform|pulumi|helm|ansible-playbook|vagrant|aws|gcloud|az|heroku|fly|wrangler|vercel|netlify)$/.test(name))
    return askHigh(`${name} changes services`);
  return undefined;
}

function gitDanger(texts: readonly string[]): Finding | undefined {
  const has = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  const forced = has(/^push$/) && has(/^(-f|--force.*|--mirror|--delete|\+.+)$/);
  if (forced || (has(/^reset$/) && has(/^--hard$/)) || has(/^(clean|filter-branch|filter-repo|update-ref)$/))
    return askHigh("throws work away for good");
  if (
    has(
      /^(--global|--system|--upload-pack.*|--receive-pack.*|--exec.*|--config-env.*)$|^(-c)?(core\.(hookspath|fsmonitor|pager|editor|sshcommand)|diff\.external|alias\.)/i,
    )
  ) {
    return askHigh("changes what git runs");
  }
  return undefined;
}
