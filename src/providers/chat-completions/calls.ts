import { type Arguments, isRecord, readArguments } from "../transport/tool-arguments.ts";
import type { CallFragment } from "./wire.ts";

export type PendingCall = {
  readonly index: number | undefined;
  id: string;
  name: string;
  json: string;
  /** The newest piece of `json` that is not empty. */
  newest: string;
  /** Every piece so far began with the piece before it. */
  grew: boolean;
};

/**
 * Puts tool-call fragments together (provider-protocols 3.1): by `index`; where it is missing or 0 for every call, a new id,
 * or a new name after complete arguments, begins a new call.
 */
export class CallAssembler {
  readonly #calls: PendingCall[] = [];

  get calls(): readonly PendingCall[] {
    return this.#calls;
  }

  add(fragment: CallFragment): void {
    const index = typeof fragment.index === "number" ? fragment.index : undefined;
    const id = typeof fragment.id === "string" ? fragment.id : "";
    const name = typeof fragment.function?.name === "string" ? fragment.function.name : "";
    const json = argumentText(fragment.function?.arguments);
    const call = this.#target(index, id, name, json) ?? this.#begin(index, id);
    // Names and ids come once; servers that repeat them or leave them empty later do not change them.
    if (call.id === "") call.id = id;
    if (call.name === "") call.name = name;
    if (json === "") return;
    call.grew &&= json.startsWith(call.newest);
    call.json += json;
    call.newest = json;
  }

  #begin(index: number | undefined, id: string): PendingCall {
    const call = { index, id, name: "", json: "", newest: "", grew: true };
    this.#calls.push(call);
    return call;
  }

  #target(index: number | undefined, id: string, name: string, json: string): PendingCall | undefined {
    const same = index === undefined ? this.#calls : this.#calls.filter((call) => call.index === index);
    // A fragment without a name can only go on with a call; some servers count the index up on the way.
    const named = name !== "" || same.length > 0 ? same : this.#calls;
    const known = id === "" ? undefined : named.findLast((call) => call.id === id);
    const last = known ?? same.at(-1);
    // The same id, name and arguments once more: a server that sends the whole call again.
    if (!last || (beginsNew(last, name, json) && !(known && name === last.name && json === last.json)))
      return undefined;
    if (known || id === "" || last.id === "") return last;
    // A new id begins a new call, but for servers that make one up for every piece of the arguments.
    return name === "" && argumentsOf(last) === "broken" ? last : undefined;
  }
}

/**
 * What a call's arguments are in the end. Some servers send all of them again, at every piece or once at the end: where
 * the pieces together are no JSON, the newest is then the whole.
 */
export function finalArguments({ json, newest, grew }: PendingCall): Arguments {
  const args = readArguments(json);
  if (args.kind !== "broken" || !(grew || json === newest + newest)) return args;
  const again = readArguments(newest);
  return again.kind === "object" ? again : args;
}

function beginsNew(last: PendingCall, name: string, json: string): boolean {
  if (name === "" || last.name === "") return false;
  const args = argumentsOf(last);
  if (name !== last.name) return args !== "broken";
  return args === "object" && json.trim() !== "";
}

/**
 * What the arguments are so far. Servers that repeat names ask this at every piece, so text is read only where its end
 * allows a whole object or `null`.
 */
function argumentsOf({ json, newest }: PendingCall): "object" | "empty" | "broken" {
  return /[^}l\s]$/.test(newest) ? "broken" : readArguments(json).kind;
}

/** Some servers send the arguments as an object instead of its text. */
function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return isRecord(value) ? JSON.stringify(value) : "";
}
