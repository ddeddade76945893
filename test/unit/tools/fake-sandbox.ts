import type { SessionFacts, ToolFact } from "../../../src/contract/facts.ts";
import { err, ok } from "../../../src/contract/result.ts";
import type { ExecEvent, ExecRequest, FileAnswer, FileStat, Sandbox } from "../../../src/contract/sandbox.ts";
import type { EgressFetch, Tool, ToolContext, ToolOutcome } from "../../../src/contract/tools.ts";

type Node = { bytes: Uint8Array; mtimeMs: number; link?: string };

const encoder = new TextEncoder();

/** Files in a map, directories implied by them; one level of links to files and folders. */
export class FakeWorld {
  readonly nodes = new Map<string, Node>();
  readonly requests: ExecRequest[] = [];
  readonly progress: { fraction: number; detail: string }[] = [];
  readonly controller = new AbortController();
  script: ExecEvent[] = [];
  fetch: EgressFetch = async () => new Response("none");
  env: Record<string, string> = {};
  facts: SessionFacts = { cwd: "/workspace", filesSeen: new Map(), todos: [] };

  put(path: string, content: string | Uint8Array, mtimeMs = 1_000): void {
    this.nodes.set(path, { bytes: typeof content === "string" ? encoder.encode(content) : content, mtimeMs });
  }

  link(path: string, target: string): void {
    this.nodes.set(path, { bytes: new Uint8Array(), mtimeMs: 1_000, link: target });
  }

  text(path: string): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.nodes.get(path)?.bytes);
  }

  /** Runs a tool the way the engine does: the input is parsed, and the facts are folded afterwards. */
  async run<I>(tool: Tool<I>, input: unknown): Promise<ToolOutcome> {
    const outcome = await tool.run(tool.input.parse(input), this.context());
    for (const fact of outcome.facts ?? []) this.fold(fact);
    return outcome;
  }

  context(): ToolContext {
    return {
      callId: "call_1",
      signal: this.controller.signal,
      sandbox: this.sandbox,
      facts: this.facts,
      env: this.env,
      fetch: (url, init) => this.fetch(url, init),
      progress: (fraction, detail) => this.progress.push({ fraction, detail }),
    };
  }

  private fold(fact: ToolFact): void {
    if (fact.kind === "cwd") this.facts = { ...this.facts, cwd: fact.path };
    else if (fact.kind === "todos") this.facts = { ...this.facts, todos: fact.items };
    else this.facts = { ...this.facts, filesSeen: new Map(this.facts.filesSeen).set(fact.path, fact.digest) };
  }

  private real(path: string): string {
    for (const [key, { link }] of this.nodes) {
      if (link !== undefined && (path === key || path.startsWith(`${key}/`))) return link + path.slice(key.length);
    }
    return path;
  }

  private isDirectory(path: string): boolean {
    const prefix = path === "/" ? "/" : `${path}/`;
    return path === "/workspace" || [...this.nodes.keys()].some((key) => key.startsWith(prefix));
  }

  private look(path: string): FileAnswer<FileStat> {
    const node = this.nodes.get(path);
    if (node) {
      const kind = node.link === undefined ? "file" : "symlink";
      return ok({ path, kind, size: node.bytes.length, mode: 0o644, mtimeMs: node.mtimeMs });
    }
    if (this.isDirectory(path)) return ok({ path, kind: "directory", size: 0, mode: 0o755, mtimeMs: 0 });
    return err({ code: "not_found", message: `${path}: no such file or directory` });
  }

  readonly sandbox: Sandbox = {
    backend: "fake",
    root: "/workspace",
    files: {
      readFile: async (path) => {
        const node = this.nodes.get(this.real(path));
        if (node) return ok(node.bytes);
        if (this.isDirectory(path)) return err({ code: "is_directory", message: `${path}: is a directory` });
        return err({ code: "not_found", message: `${path}: no such file or directory` });
      },
      writeFile: async (path, bytes) => {
        this.nodes.set(this.real(path), { bytes, mtimeMs: 2_000 });
        return ok(undefined);
      },
      stat: async (path) => {
        const answer = this.look(this.real(path));
        return answer.ok ? ok({ ...answer.value, path }) : answer;
      },
      lstat: async (path) => this.look(path),
      list: async () => err({ code: "unavailable", message: "not needed" }),
      walk: (path, limit) => this.walk(path, limit),
      remove: async () => err({ code: "unavailable", message: "not needed" }),
      mkdir: async () => ok(undefined),
      realPath: async (path) => ok(this.real(path)),
    },
    exec: (request) => {
      this.requests.push(request);
      return this.play();
    },
  };

  private async *walk(path: string, limit: number): AsyncGenerator<FileStat> {
    const folder = this.real(path);
    const below = [...this.nodes.keys()].filter((key) => key.startsWith(`${folder}/`)).sort();
    for (const key of below.slice(0, limit)) {
      const stat = this.look(key);
      if (stat.ok) yield { ...stat.value, path: `${path}${key.slice(folder.length)}` };
    }
  }

  private async *play(): AsyncGenerator<ExecEvent> {
    yield* this.script;
  }
}

export function textOf(outcome: ToolOutcome): string {
  if (typeof outcome.content === "string") return outcome.content;
  return outcome.content.map((block) => (block.type === "text" ? block.text : `[${block.media_type}]`)).join("\n");
}

/** The words of an error outcome; fails the test when it is none or is not marked as the model expects. */
export function errorOf(outcome: ToolOutcome): string {
  const words = textOf(outcome);
  if (!outcome.isError || !words.startsWith("error: ")) throw new Error(`no error outcome: ${words}`);
  return words;
}
