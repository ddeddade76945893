import type { Arg, Scope } from "./model.ts";
import { absolutePaths, isSecretFile } from "./scope.ts";
import { literalText } from "./words.ts";

/** What flows through a command: where text comes from and what could happen to it. */
export type Traits = {
  /** Brings text from the network. */
  readonly fetch: boolean;
  /** Turns encoded text into plain text. */
  readonly decode: boolean;
  /** Brings credentials. */
  readonly credential: boolean;
  /** Sends to the network. */
  readonly network: boolean;
  /** Runs text it is given. */
  readonly shell: boolean;
  /** Runs what comes through the pipe. */
  readonly stdinShell: boolean;
  /** A plain connection in both directions. */
  readonly socket: boolean;
};

export const NO_TRAITS: Traits = {
  fetch: false,
  decode: false,
  credential: false,
  network: false,
  shell: false,
  stdinShell: false,
  socket: false,
};

export function union(...all: readonly Traits[]): Traits {
  return all.reduce(
    (left, right) => ({
      fetch: left.fetch || right.fetch,
      decode: left.decode || right.decode,
      credential: left.credential || right.credential,
      network: left.network || right.network,
      shell: left.shell || right.shell,
      stdinShell: left.stdinShell || right.stdinShell,
      socket: left.socket || right.socket,
    }),
    NO_TRAITS,
  );
}

export const SHELLS = /^(ba|z|da|k|mk|a|fi|c|tc|pd)?sh$/;
export const INTERPRETERS =
  /^(python[\d.]*|pypy\d?|perl[\d.]*|ruby[\d.]*|node|nodejs|deno|bun|php[\d.]*|lua[\d.]*|luajit|tclsh|osascript|pwsh|powershell|Rscript|groovy|scala|julia|guile|racket)$/;
const FETCHERS =
  /^(curl|wget|aria2c|http|https|xh|httpie|lynx|links|w3m|fetch|axel|ftp|lftp|sftp|tftp|nc|ncat|netcat|socat|telnet|dig|nslookup|host)$/;
const SENDERS =
  /^(curl|wget|http|https|xh|ftp|lftp|sftp|tftp|scp|ssh|rsync|nc|ncat|netcat|socat|telnet|mail|mailx|mutt|sendmail|swaks|ping|ping6|dig|nslookup|host|gsutil|rclone|s3cmd|websocat|croc|magic-wormhole)$/;
const SOCKETS = /^(nc|ncat|netcat|socat|telnet|websocat)$/;
const UNPACKERS = /^(uudecode|gunzip|zcat|bunzip2|bzcat|unxz|xzcat|unzstd|zstdcat|rev|tr|rot13|base58|ascii85)$/;

/** Reads the traits off one command's words. `reads` are the files its redirections name. */
export function traitsOf(name: string, args: readonly Arg[], reads: readonly string[], scope: Scope): Traits {
  const texts = args.flatMap((arg) => arg.texts);
  const has = (pattern: RegExp) => texts.some((text) => pattern.test(text));
  const first = literalText(args[0]) ?? "";
  const cloud =
    (name === "aws" && first === "s3") ||
    (name === "git" && /^(push|fetch|pull|clone|ls-remote)$/.test(first)) ||
    (name === "gh" && /^(gist|api|release|issue|pr)$/.test(first)) ||
    (name === "openssl" && first === "s_client") ||
    (/^(gcloud|az)$/.test(name) && first === "storage");
  const code = INTERPRETERS.test(name) ? texts.find((text) => text.length > 8) : undefined;
  const codeNetwork =
    code !== undefined && /urllib|requests|https?:\/\/|socket|fetch\(|net\.|LWP|Net::HTTP|fsockopen/.test(code);
  return {
    fetch: FETCHERS.test(name) || cloud,
    decode:
      (/^(base64|base32|basenc|openssl)$/.test(name) && has(/^(-[a-zA-Z]*[dD]|--decode)$/)) ||
      (name === "xxd" && has(/^-[a-z]*r/)) ||
      (/^(gzip|xz|bzip2|zstd|lz4)$/.test(name) && has(/^(-[a-z]*d|--decompress)/)) ||
      ((name === "printf" || name === "echo") && has(/\\(x[0-9a-f]|[0-7]{2,3}|u[0-9a-f])/i)) ||
      UNPACKERS.test(name),
    credential:
      isCredentialSource(name, args) || [...texts.map(operandOf), ...reads].some((text) => namesSecret(text, scope)),
    network: SENDERS.test(name) || cloud || codeNetwork,
    shell: SHELLS.test(name) || INTERPRETERS.test(name) || /^(eval|source|\.)$/.test(name),
    stdinShell: readsScript(name, args),
    socket: SOCKETS.test(name) || (name === "openssl" && first === "s_client"),
  };
}

/** The file inside a word: `@file`, `name=@file`, `of=file`, `host:file`. */
function operandOf(text: string): string {
  return text
    .replace(/^(?:[\w.-]*=)?[@<]/, "")
    .replace(/^--?[\w-]+=@?/, "")
    .replace(/;type=.*$/, "");
}

/** True for a word that names a file which proves who one is. */
export function namesSecret(text: string, scope: Scope): boolean {
  if (text === "" || text.length > 4096 || /\s/.test(text) || /^https?:/.test(text)) return false;
  const home = text.startsWith("~/") ? scope.context.home + text.slice(1) : text;
  return absolutePaths(home, scope).some((path) => isSecretFile(path, scope.context));
}

function isCredentialSource(name: string, args: readonly Arg[]): boolean {
  if (name === "env" || name === "printenv") return args.length === 0 || name === "printenv";
  const words = args.map((arg) => literalText(arg) ?? "?").join(" ");
  if (/^(set|export|declare|typeset)$/.test(name)) return words === "" || /^-[xp]+$/.test(words);
  const line = `${name} ${words}`;
  return /^(gh auth token|aws configure get|gcloud auth (application-default )?print|git credential|security (find|dump)-|pass show|op read|kubectl get secrets?|vault (read|kv get)|secret-tool lookup|az account get-access-token)/.test(
    line,
  );
}

function readsScript(name: string, args: readonly Arg[]): boolean {
  if (/^(source|\.)$/.test(name))
    return /^(\/dev\/stdin|-|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/.test(literalText(args[0]) ?? "");
  // Text known only when it runs may be what the pipe brought.
  if (name === "eval") return args.some((arg) => arg.kind !== "literal");
  if (!SHELLS.test(name) && !INTERPRETERS.test(name)) return false;
  for (const [index, arg] of args.entries()) {
    const text = literalText(arg);
    if (text === undefined) return true;
    if (/^-[a-zA-Z]*c$|^-[ep]$|^-E$|^--eval$|^-r$/.test(text)) return args[index + 1]?.kind !== "literal";
    if (text === "-m") return false;
    if (text === "-s" || text === "-" || /^\/dev\/(stdin|fd\/0)$/.test(text)) return true;
    if (/^-?-?(version|help)$|^-V$/.test(text)) return false;
    if (!text.startsWith("-")) return false;
  }
  return true;
}
