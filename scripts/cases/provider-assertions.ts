import { isDeepStrictEqual } from "node:util";

export type Sent = { readonly method: string; readonly url: string; readonly headers: Headers; readonly body: unknown };

type Assertion = Readonly<Record<string, unknown>> & {
  readonly path?: string;
  readonly any_of?: readonly (readonly Assertion[])[];
};

export type RequestChecks = {
  readonly method?: string;
  readonly url?: string;
  readonly url_matches?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly headers_absent?: readonly string[];
  readonly any_header?: readonly Readonly<Record<string, string>>[];
  readonly body?: readonly Assertion[] | { readonly any_of: readonly (readonly Assertion[])[] };
};

/** What is wrong with a request that left, or undefined. */
export function checkRequest(checks: RequestChecks, sent: Sent): string | undefined {
  if (checks.method !== undefined && sent.method !== checks.method) return `method ${sent.method}`;
  if (checks.url !== undefined && sent.url !== checks.url) return `url ${sent.url}, expected ${checks.url}`;
  if (checks.url_matches !== undefined && !new RegExp(checks.url_matches).test(sent.url))
    return `url ${sent.url} does not match ${checks.url_matches}`;
  const missing = wrongHeader(checks.headers ?? {}, sent.headers);
  if (missing) return missing;
  const extra = (checks.headers_absent ?? []).find((name) => sent.headers.has(name));
  if (extra) return `header ${extra} must be absent`;
  if (checks.any_header && !checks.any_header.some((set) => wrongHeader(set, sent.headers) === undefined))
    return `none of the header sets ${JSON.stringify(checks.any_header)}`;
  const body = checks.body ?? [];
  const list: readonly Assertion[] = Array.isArray(body) ? body : [body as Assertion];
  for (const assertion of list) {
    const why = check(assertion, sent.body);
    if (why !== undefined) return why;
  }
  return undefined;
}

function wrongHeader(set: Readonly<Record<string, string>>, headers: Headers): string | undefined {
  for (const [name, value] of Object.entries(set))
    if (headers.get(name) !== value) return `header ${name}: ${headers.get(name)}, expected ${value}`;
  return undefined;
}

const ABSENT = Symbol("absent");

/** Follows `a.b[0].c`; `[*]` takes all elements and skips what is absent in them. */
function follow(path: string, root: unknown): unknown {
  const steps = path.match(/[^.[\]]+|\[\*\]|\[\d+\]/g) ?? [];
  const walk = (value: unknown, at: number): unknown => {
    const step = steps[at];
    if (step === undefined) return value;
    if (step === "[*]") {
      if (!Array.isArray(value)) return ABSENT;
      const rest = value.map((item) => walk(item, at + 1)).filter((item) => item !== ABSENT);
      return steps.slice(at + 1).includes("[*]") ? rest.flat() : rest;
    }
    const key = step.startsWith("[") ? Number(step.slice(1, -1)) : step;
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return ABSENT;
    return walk((value as Record<string | number, unknown>)[key], at + 1);
  };
  return walk(root, 0);
}

function check(assertion: Assertion, body: unknown): string | undefined {
  if (assertion.any_of) {
    const reasons = assertion.any_of.map((set) => set.map((a) => check(a, body)).find((why) => why !== undefined));
    return reasons.some((why) => why === undefined) ? undefined : `none of the alternatives: ${reasons.join(" | ")}`;
  }
  const path = assertion.path ?? "";
  const value = follow(path, body);
  for (const [operator, operand] of Object.entries(assertion)) {
    if (operator === "path") continue;
    const test = OPERATORS[operator];
    if (!test) return `unknown operator ${operator}`;
    if (!test(value, operand, body))
      return `${path} ${operator} ${JSON.stringify(operand)}; found ${value === ABSENT ? "nothing" : JSON.stringify(value)}`;
  }
  return undefined;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const json = (value: unknown) => (value === ABSENT ? "" : (JSON.stringify(value) ?? ""));

const OPERATORS: Readonly<Record<string, (value: unknown, operand: unknown, body: unknown) => boolean>> = {
  equals: (value, operand) => isDeepStrictEqual(value, operand),
  absent: (value, operand) =>
    operand === false ? value !== ABSENT : value === ABSENT || (isList(value) && value.length === 0),
  matches: (value, operand) => typeof value === "string" && new RegExp(String(operand)).test(value),
  every_matches: (value, operand) =>
    isList(value) && value.every((item) => typeof item === "string" && new RegExp(String(operand)).test(item)),
  min: (value, operand) => typeof value === "number" && value >= Number(operand),
  less_than_path: (value, operand, body) => typeof value === "number" && value < Number(follow(String(operand), body)),
  length: (value, operand) => (isList(value) || typeof value === "string") && value.length === operand,
  contains: (value, operand) =>
    typeof value === "string"
      ? value.includes(String(operand))
      : isList(value) && value.some((item) => isDeepStrictEqual(item, operand)),
  not_contains: (value, operand) =>
    typeof value === "string"
      ? !value.includes(String(operand))
      : !isList(value) || !value.some((item) => isDeepStrictEqual(item, operand)),
  set_equals: (value, operand) =>
    isList(value) && isList(operand) && isDeepStrictEqual(value.map(json).sort(), operand.map(json).sort()),
  joined_equals: (value, operand) => isList(value) && value.join("") === operand,
  json_equals: (value, operand) => typeof value === "string" && isDeepStrictEqual(JSON.parse(value), operand),
  json_contains: (value, operand) => json(value).includes(String(operand)),
  json_excludes: (value, operand) => !json(value).includes(String(operand)),
};
