import type { ExecResult, ResolvedCommandContext } from "just-bash";

type Run = (args: string[], context: ResolvedCommandContext) => Promise<ExecResult>;

const nothing: ExecResult = { stdout: "", stderr: "", exitCode: 0 };

/**
 * `rm` and `mv` for links that lead nowhere or in circles: the interpreter's own look at what a link points to and then
 * cannot find it. Such links are handled here, everything else by the built-in commands.
 */
export const LINK_COMMANDS: Readonly<Record<"rm" | "mv", Run>> = { rm, mv };

async function rm(args: string[], context: ResolvedCommandContext): Promise<ExecResult> {
  const { options, operands } = split(args);
  const rest: string[] = [];
  for (const operand of operands) {
    const path = context.fs.resolvePath(context.cwd, operand);
    if (!operand.endsWith("/") && (await isLink(path, context))) await context.fs.rm(path);
    else rest.push(operand);
  }
  if (rest.length === 0 && operands.length > 0) return nothing;
  return builtIn([...options, "--", ...rest], context);
}

async function mv(args: string[], context: ResolvedCommandContext): Promise<ExecResult> {
  const { operands } = split(args);
  const [from, to] = operands.map((operand) => context.fs.resolvePath(context.cwd, operand));
  if (operands.length !== 2 || from === undefined || to === undefined) return builtIn(args, context);
  const leads = await context.fs.exists(from);
  if (leads || !(await isLink(from, context))) return builtIn(args, context);
  const into = await context.fs.stat(to).catch(() => undefined);
  try {
    await context.fs.mv(from, into?.isDirectory ? `${to}/${from.slice(from.lastIndexOf("/") + 1)}` : to);
    return nothing;
  } catch (error) {
    return { stdout: "", stderr: `mv: ${error instanceof Error ? error.message : "failed"}\n`, exitCode: 1 };
  }
}

async function builtIn(args: string[], context: ResolvedCommandContext): Promise<ExecResult> {
  return (await context.origCommand?.(args)) ?? nothing;
}

async function isLink(path: string, context: ResolvedCommandContext): Promise<boolean> {
  const stat = await context.fs.lstat(path).catch(() => undefined);
  return stat?.isSymbolicLink === true;
}

function split(args: readonly string[]): { readonly options: readonly string[]; readonly operands: readonly string[] } {
  const end = args.indexOf("--");
  const before = end < 0 ? args : args.slice(0, end);
  const isOption = (arg: string) => arg.startsWith("-") && arg !== "-";
  return {
    options: before.filter(isOption),
    operands: [...before.filter((arg) => !isOption(arg)), ...(end < 0 ? [] : args.slice(end + 1))],
  };
}
