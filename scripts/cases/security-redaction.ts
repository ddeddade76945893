import { createRedactor, secretProblem } from "../../src/secrets/redactor/redactor.ts";
import { type Build, buildText, runEach, type SecurityFile, type SecurityReport } from "./security-shared.ts";

type RedactionCase = {
  readonly id: string;
  readonly secrets: Readonly<Record<string, string>>;
  readonly channel?: string;
  readonly chunks?: readonly string[];
  readonly build?: Build;
  readonly json?: unknown;
  readonly register?: boolean;
  readonly maxMs?: number;
  readonly expect: {
    readonly text?: string;
    readonly mustNotContain?: readonly string[];
    readonly contains?: readonly string[];
    readonly validJson?: boolean;
    readonly frames?: number;
    readonly reject?: string;
    readonly accept?: boolean;
  };
};

export function runRedactionCases(file: SecurityFile<RedactionCase>): Promise<SecurityReport> {
  return runEach(file.cases, (testCase) => (testCase.register === true ? registration(testCase) : redaction(testCase)));
}

function registration({ secrets, expect }: RedactionCase): string | undefined {
  const problems = Object.entries(secrets).map(([name, value]) => secretProblem(name, value));
  const [problem] = problems;
  return problem === expect.reject ? undefined : `answered ${problem ?? "nothing"}`;
}

function redaction({ secrets, channel, chunks, build, json, maxMs, expect }: RedactionCase): string | undefined {
  // The next request has its own secrets: none.
  const redactor = createRedactor(channel === "next_request" ? {} : secrets);
  const pieces = build ? [buildText(build)] : (chunks ?? []);
  const started = performance.now();
  let output: string;
  if (json !== undefined) output = JSON.stringify(redactor.redactJson(json));
  else {
    const stream = redactor.createStream();
    output = pieces.map((piece) => stream.push(piece)).join("") + stream.flush();
  }
  const spent = performance.now() - started;
  if (maxMs !== undefined && spent > maxMs) return `took ${Math.round(spent)} ms`;
  if (channel === "sse_frame") output = `event: text\ndata: ${JSON.stringify({ text: output })}\n\n`;

  const wanted = expect.text === "unchanged" ? pieces.join("") : expect.text;
  if (wanted !== undefined && output !== wanted) return `gave ${JSON.stringify(output.slice(0, 200))}`;
  for (const text of expect.mustNotContain ?? [])
    if (output.includes(text)) return `still contains ${JSON.stringify(text)}`;
  for (const text of expect.contains ?? [])
    if (!output.includes(text)) return `does not contain ${text}: ${output.slice(0, 200)}`;
  if (expect.frames !== undefined && output.split("\n\n").length - 1 !== expect.frames) return "not one frame";
  if (expect.validJson === true) JSON.parse(output.replace(/^event: \w+\ndata: /, ""));
  return undefined;
}
