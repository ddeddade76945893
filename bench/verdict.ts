import { existsSync, readFileSync } from "node:fs";
import { forEachChild, parse, type SyntaxNode } from "unbash";
import { judgeCommand } from "../src/permission/bash/classify.ts";
import { ASKING, DENIED, HARMLESS } from "../test/unit/permission/bash-commands.ts";
import { HOSTILE_COMMANDS } from "./hostile-commands.ts";
import { median, quantile } from "./statistics.ts";

/**
 * Time of a verdict on a command line, against the parser alone on the same text (parsed, and every node looked at, since
 * it parses inner texts only then), both in turn: `npm run bench:verdict`. Goals, over medians of a text's rounds: 99 % of
 * the corpus under 5 ms, the worst of all texts, made to be slow, under 100 ms.
 */
const [ROUNDS, WARM] = [7, 2];
const [P99_MS, WORST_MS] = [5, 100];
const CASES = "../shared/cases/security/bash.json";
const context = { workspace: "/workspace", cwd: "/workspace", home: "/home/user" };

type Row = { readonly name: string; readonly ours: number; readonly slowest: number; readonly bare: number };

/** The command lines of the case file, or those of the unit tests where it is missing. */
function corpus(): string[] {
  if (!existsSync(CASES)) return [...HARMLESS, ...ASKING, ...DENIED];
  const file = JSON.parse(readFileSync(CASES, "utf8")) as {
    cases: { command?: string; commandBuild?: [string, number][] }[];
  };
  return file.cases.map(
    ({ command, commandBuild }) => command ?? (commandBuild ?? []).map(([text, times]) => text.repeat(times)).join(""),
  );
}

function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

function parseAlone(text: string): void {
  const queue: SyntaxNode[] = [parse(text)];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    forEachChild(node, (child) => {
      queue.push(child);
    });
  }
}

function measure(name: string, text: string): Row {
  const rounds: { ours: number; bare: number }[] = [];
  for (let round = 0; round < ROUNDS + WARM; round++) {
    const pair = { ours: timed(() => judgeCommand(text, context)), bare: timed(() => parseAlone(text)) };
    if (round >= WARM) rounds.push(pair);
  }
  const ours = rounds.map((pair) => pair.ours);
  return { name, ours: median(ours), slowest: Math.max(...ours), bare: median(rounds.map((pair) => pair.bare)) };
}

function slowest(rows: readonly Row[]): Row | undefined {
  return rows.toSorted((a, b) => b.ours - a.ours)[0];
}

const ms = (value: number): string => `${value < 1 ? value.toFixed(3) : value.toFixed(1)} ms`;
const usual = corpus().map((text) => measure(text.slice(0, 60), text));
const [ours, bare] = [usual.map((row) => row.ours), usual.map((row) => row.bare)];
const ratio = median(usual.map((row) => row.ours / row.bare));
console.log(
  `${usual.length} commands: ${ratio.toFixed(2)}× the parser alone; median ${ms(median(ours))} against ${ms(median(bare))}, ` +
    `99 % ${ms(quantile(ours, 0.99))} against ${ms(quantile(bare, 0.99))}`,
);
const hostile = Object.entries(HOSTILE_COMMANDS).map(([name, text]) => measure(name, text));
for (const row of hostile.toSorted((a, b) => b.ours - a.ours).slice(0, 8)) {
  console.log(`  ${row.name}: ${ms(row.ours)} (slowest round ${ms(row.slowest)}) against ${ms(row.bare)}`);
}
const worst = slowest([...usual, ...hostile]);
const p99 = quantile(ours, 0.99);
console.log(
  `worst of ${usual.length + hostile.length}: ${ms(worst?.ours ?? 0)} (${worst?.name}); goals: 99 % under ${P99_MS} ms, worst under ${WORST_MS} ms`,
);
if (p99 >= P99_MS || (worst?.ours ?? 0) >= WORST_MS) {
  console.error("a goal is missed");
  process.exitCode = 1;
}
