import type { CaseExpectation, Reply } from "./http-types.ts";

type ErrorBody = { readonly error?: { readonly type?: unknown; readonly message?: unknown } };

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads an event stream as a browser does: CR, LF and CRLF all end a line. */
export function parseEvents(text: string): { readonly type: string; readonly data: unknown }[] {
  const events: { type: string; data: unknown }[] = [];
  let type = "message";
  let data: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === "") {
      if (data.length > 0) events.push({ type, data: parseJson(data.join("\n")) });
      type = "message";
      data = [];
    } else if (line.startsWith("event:")) type = line.slice(6).trimStart();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return events;
}

/** What of an expectation the replies do not keep, in plain words. Replies stand in the order of their requests. */
export function checkReplies(expected: CaseExpectation, replies: readonly Reply[], raw: boolean): string[] {
  const failures: string[] = [];
  const last = replies.at(-1);
  if (!last) return ["no reply"];
  const want = (holds: boolean, text: string) => {
    if (!holds) failures.push(text);
  };
  const statuses = replies.map((reply) => reply.status);
  if (expected.status !== undefined) {
    want(
      last.status === expected.status,
      `status ${last.status}, expected ${expected.status}: ${last.text.slice(0, 200)}`,
    );
  }
  if (expected.statusIn)
    want(expected.statusIn.includes(last.status), `status ${last.status} not in ${expected.statusIn}`);
  if (expected.lastStatus !== undefined) {
    want(last.status === expected.lastStatus, `last status ${last.status}, expected ${expected.lastStatus}`);
  }
  if (expected.statuses) {
    const sorted = (list: readonly number[]) => [...list].sort((a, b) => a - b).join();
    want(sorted(statuses) === sorted(expected.statuses), `statuses ${statuses}, expected ${expected.statuses}`);
  }
  checkError(expected, last, raw, want);
  checkHeaders(expected, last, want);
  if (expected.bodyKeys) {
    const keys = Object.keys((parseJson(last.text) as object | undefined) ?? {});
    want(
      expected.bodyKeys.every((key) => keys.includes(key)),
      `body has ${keys}, expected ${expected.bodyKeys}`,
    );
  }
  if (expected.stream) want(/^text\/event-stream/.test(last.headers["content-type"] ?? ""), "no event stream");
  checkEvents(expected, last, want);
  if (expected.maxMs !== undefined) want(last.ms <= expected.maxMs, `took ${Math.round(last.ms)} ms`);
  return failures;
}

type Want = (holds: boolean, text: string) => void;

function checkError(expected: CaseExpectation, last: Reply, raw: boolean, want: Want): void {
  if (last.status < 400) {
    want(expected.errorType === undefined, `no error but ${last.status}`);
    return;
  }
  const { error } = (parseJson(last.text) as ErrorBody | undefined) ?? {};
  // The runtime itself may answer what never was a request, or one with too long a head (431).
  if (!raw && last.status !== 431) {
    const shaped = typeof error?.type === "string" && typeof error.message === "string";
    want(shaped, `the error is not of the JSON shape: ${last.text.slice(0, 200)}`);
  }
  if (expected.errorType !== undefined) want(error?.type === expected.errorType, `error type ${error?.type}`);
  if (expected.message !== undefined) want(error?.message === expected.message, `message ${error?.message}`);
}

function checkHeaders(expected: CaseExpectation, last: Reply, want: Want): void {
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    want(last.headers[name] === value, `header ${name}: ${last.headers[name]}, expected ${value}`);
  }
  if (expected.noHeader !== undefined)
    want(last.headers[expected.noHeader] === undefined, `header ${expected.noHeader}`);
  for (const [name, pattern] of Object.entries(expected.headerPattern ?? {})) {
    want(new RegExp(pattern).test(last.headers[name] ?? ""), `header ${name}: ${last.headers[name]}`);
  }
  if (expected.vary !== undefined) {
    const vary = (last.headers.vary ?? "").toLowerCase().split(/, */);
    want(vary.includes(expected.vary), `vary: ${last.headers.vary}`);
  }
}

function checkEvents(expected: CaseExpectation, last: Reply, want: Want): void {
  const events = parseEvents(last.text);
  for (const [type, count] of Object.entries(expected.events ?? {})) {
    const seen = events.filter((event) => event.type === type).length;
    want(seen === count, `${seen} events ${type}, expected ${count}`);
  }
  if (expected.joinedText !== undefined) {
    const deltas = events.filter((event) => event.type === "text_delta");
    const text = deltas.map((event) => (event.data as { text?: string } | undefined)?.text ?? "").join("");
    want(text === expected.joinedText, `joined text ${JSON.stringify(text)}`);
  }
}
