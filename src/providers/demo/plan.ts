/** One step the stand-in can do: a tool call by the tools' real names (G-2). */
export type Step = { readonly tool: string; readonly input: Readonly<Record<string, unknown>>; readonly about: string };

const QUOTED = /^(["'`])([\s\S]*)\1$/;

function bare(text: string): string {
  const trimmed = text.trim();
  return QUOTED.exec(trimmed)?.[2] ?? trimmed;
}

/** File names: no trailing full stop of the sentence, no quotes. */
function file(text: string): string {
  return bare(text.trim().replace(/(?<=\w)[.!?,]+$/, ""));
}

type Rule = { readonly form: RegExp; readonly step: (match: RegExpExecArray) => Step };

const RULES: readonly Rule[] = [
  { form: /^(?:run|execute)(?: the)?(?: command)?:? (`[^`]+`|"[^"]+"|[\s\S]+)$/i, step: (m) => bash(bare(m[1] ?? "")) },
  {
    form: /^(?:write|save|put) ([\s\S]+?) (?:in)?to (?:the )?(?:file )?(\S+)$/i,
    step: (m) => write(file(m[2] ?? ""), bare(m[1] ?? "")),
  },
  {
    form: /^create (?:an? |the )?(?:new )?(?:file )?(?:named |called )?(\S+) (?:with|containing)(?: the)?(?: content| text)?:? ([\s\S]+)$/i,
    step: (m) => write(file(m[1] ?? ""), bare(m[2] ?? "")),
  },
  {
    form: /^(?:grep|search)(?: the files)?(?: for)? ([\s\S]+?)(?: in (?:the |all )?files)?[.!?]?$/i,
    step: (m) => ({ tool: "Grep", input: { pattern: bare(m[1] ?? "") }, about: `search for ${bare(m[1] ?? "")}` }),
  },
  {
    form: /^(?:find|glob)(?: all)?(?: the)?(?: files)?(?: matching| named| called)? (\S+)$/i,
    step: (m) => ({ tool: "Glob", input: { pattern: file(m[1] ?? "") }, about: `find ${file(m[1] ?? "")}` }),
  },
  {
    form: /^(?:list|show)(?: me)?(?: all)?(?: of)?(?: the)?(?: my)? files(?: here| please| in (?:the|this) (?:workspace|directory|folder))?[.!?]?$/i,
    step: () => ({ tool: "Glob", input: { pattern: "**/*" }, about: "list the files" }),
  },
  {
    form: /^(?:which|what)(?: other)? files (?:are|do you see)(?: here| there| in (?:the|this|my) (?:workspace|directory|folder))?[.!?]?$/i,
    step: () => ({ tool: "Glob", input: { pattern: "**/*" }, about: "list the files" }),
  },
  { form: /^(?:list|show)(?: the)? (?:directory|folder|workspace)[.!?]?$/i, step: () => bash("ls -la") },
  {
    form: /^(?:read|show|open|print|cat)(?: me)?(?: the)?(?: file)? (\S+?)(?: file)?$/i,
    step: (m) => ({ tool: "Read", input: { file_path: file(m[1] ?? "") }, about: `read ${file(m[1] ?? "")}` }),
  },
];

function bash(command: string): Step {
  return { tool: "Bash", input: { command }, about: `run \`${command}\`` };
}

function write(path: string, content: string): Step {
  return { tool: "Write", input: { file_path: path, content }, about: `write ${path}` };
}

/** Splits a request at "then" and ";" outside quotes; each part that a rule knows is a step. */
export function planOf(prompt: string): { readonly steps: readonly Step[]; readonly unknown: readonly string[] } {
  const steps: Step[] = [];
  const unknown: string[] = [];
  for (const part of parts(prompt)) {
    const text = part.replace(/^(?:please|first|now|and|also|could you|can you)[, ]+/i, "").trim();
    if (text === "") continue;
    const step = match(text);
    if (step) steps.push(step);
    else unknown.push(text);
  }
  return { steps, unknown };
}

function match(text: string): Step | undefined {
  for (const { form, step } of RULES) {
    const found = form.exec(text);
    if (found) return step(found);
  }
  return undefined;
}

function parts(prompt: string): readonly string[] {
  const pieces = prompt.trim().match(/`[^`]*`|"[^"]*"|[^`"]+|[`"]/g) ?? [];
  const out = [""];
  for (const piece of pieces) {
    const quoted = piece.length > 1 && /^[`"]/.test(piece);
    const [first = "", ...rest] = quoted ? [piece] : piece.split(/(?:[,.;]\s+|\s+)(?:and\s+)?then\s+|;\s*|\n+/i);
    out[out.length - 1] += first;
    out.push(...rest);
  }
  return out.map((text) => text.trim());
}
