import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import type { CaseRequest, Reply } from "./http-types.ts";

const build = (pieces: readonly (readonly [string, number])[]) =>
  pieces.map(([text, times]) => text.repeat(times)).join("");

/** Header values travel as bytes; what is beyond Latin-1 goes as its UTF-8 bytes. */
const headerValue = (text: string) => Buffer.from(text, "utf8").toString("latin1");

function bodyOf(request: CaseRequest): Buffer | undefined {
  let body: Buffer | undefined;
  if (request.bodyHex !== undefined) body = Buffer.from(request.bodyHex, "hex");
  else if (request.bodyBuild) body = Buffer.from(build(request.bodyBuild));
  else if (request.jsonBuild) {
    const fields = Object.entries(request.jsonBuild).map(([name, pieces]) => [name, build(pieces)]);
    body = Buffer.from(JSON.stringify(Object.fromEntries(fields)));
  } else if (request.body !== undefined) body = Buffer.from(request.body);
  return body && request.gzip ? gzipSync(body) : body;
}

/** Sends a case's request once; `fill` replaces what stands in braces. */
export async function send(baseUrl: string, request: CaseRequest, fill: (text: string) => string): Promise<Reply> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = headerValue(fill(value));
  for (const [name, pieces] of Object.entries(request.headersBuild ?? {})) headers[name] = build(pieces);
  const body = bodyOf(request);
  const path = fill(request.path);
  const start = performance.now();
  if (request.raw || request.pathAsIs) return await sendRaw(baseUrl, request.method, path, headers, body, start);
  const response = await fetch(baseUrl + path, {
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body: request.stream ? streamOf(body) : new Uint8Array(body) }),
    // A streamed body has no length; fetch wants to be told that the answer comes after it.
    ...(request.stream ? { duplex: "half" } : {}),
    redirect: "manual",
  } as RequestInit);
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
    ms: performance.now() - start,
  };
}

function streamOf(body: Buffer): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, at + 65_536)));
      at += 65_536;
    },
  });
}

/** One request byte by byte over a socket: nothing is normalised, added or corrected on the way. */
function sendRaw(
  baseUrl: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer | undefined,
  start: number,
): Promise<Reply> {
  const { hostname, port } = new URL(baseUrl);
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${hostname}:${port}`, "connection: close"];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body && !names.has("content-length")) lines.push(`content-length: ${body.length}`);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ""));
    const parts: Buffer[] = [];
    const end = () => {
      socket.destroy();
      const reply = parseReply(Buffer.concat(parts).toString("latin1"), performance.now() - start);
      if (reply) resolve(reply);
      else reject(new Error("the server closed the connection without an answer"));
    };
    // A refusal may come before the body was taken; what was received by then counts.
    socket.setTimeout(10_000, end);
    socket.on("data", (part) => parts.push(part));
    socket.on("end", end);
    socket.on("error", (error) => (parts.length > 0 ? end() : reject(error)));
    socket.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
    if (body) socket.write(body);
  });
}

function parseReply(text: string, ms: number): Reply | undefined {
  const cut = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, cut === -1 ? undefined : cut).split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3})/.exec(first)?.[1];
  if (status === undefined) return undefined;
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  let body = cut === -1 ? "" : text.slice(cut + 4);
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") body = unchunk(body);
  return { status: Number(status), headers, text: Buffer.from(body, "latin1").toString("utf8"), ms };
}

function unchunk(text: string): string {
  let rest = text;
  let whole = "";
  for (;;) {
    const line = rest.indexOf("\r\n");
    const size = Number.parseInt(rest.slice(0, line), 16);
    if (line === -1 || !(size > 0)) return whole;
    whole += rest.slice(line + 2, line + 2 + size);
    rest = rest.slice(line + 2 + size + 2);
  }
}
