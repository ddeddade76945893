import { type FileStore, type Node, ROOT_INO } from "./file-store.ts";

/** Directories that exist without being stored: programs look for them. Numbers are negative, see `Node.ino`. */
const BIN = -1;
const USR = -2;
const USR_BIN = -3;
const DEV = -4;
const FIRST_DEVICE = -10;
const FIRST_PROGRAM = -100;
const DEVICES = ["null", "stdin", "stdout", "stderr", "tty"];

/** True for `/dev/null` and its like: what is written there goes nowhere. */
export function isDevice(node: Node): boolean {
  return node.ino <= FIRST_DEVICE && node.ino > FIRST_PROGRAM;
}

/** Lays `/bin`, `/usr/bin` and `/dev` over a store; `programs` are the commands the interpreter knows. */
export function withMadeUpNodes(store: FileStore, programs: () => readonly string[]): FileStore {
  const entries = (parent: number): readonly (readonly [string, number])[] => {
    switch (parent) {
      case ROOT_INO:
        return [
          ["bin", BIN],
          ["usr", USR],
          ["dev", DEV],
        ];
      case USR:
        return [["bin", USR_BIN]];
      case BIN:
      case USR_BIN:
        return programs().map((name, i) => [name, FIRST_PROGRAM - i]);
      case DEV:
        return DEVICES.map((name, i) => [name, FIRST_DEVICE - i]);
      default:
        return [];
    }
  };
  const find = (parent: number, name: string) => {
    if (parent === BIN || parent === USR_BIN) {
      // Asked twice for each command that runs, so without building the list.
      const at = programs().indexOf(name);
      return at < 0 ? undefined : madeUp(FIRST_PROGRAM - at);
    }
    const found = entries(parent).find(([each]) => each === name);
    return found && madeUp(found[1]);
  };
  return {
    ...store,
    node: (ino) => (ino < 0 ? madeUp(ino) : store.node(ino)),
    lookup: (parent, name) => {
      if (parent < 0) return find(parent, name);
      return (parent === ROOT_INO ? find(parent, name) : undefined) ?? store.lookup(parent, name);
    },
    children: (parent) => {
      const own = entries(parent).map(([name, ino]) => ({ name, node: madeUp(ino) }));
      return parent < 0 ? own : [...own, ...store.children(parent)];
    },
    isEmpty: (parent) => entries(parent).length === 0 && store.isEmpty(parent),
  };
}

function madeUp(ino: number): Node {
  const kind = ino > FIRST_DEVICE ? "directory" : "file";
  const mode = ino <= FIRST_DEVICE && ino > FIRST_PROGRAM ? 0o666 : 0o755;
  return { ino, kind, mode, size: 0, mtimeMs: 0, target: "", links: 1 };
}
