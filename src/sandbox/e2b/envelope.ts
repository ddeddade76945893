/**
 * Connect's envelope: one byte of flags, four bytes of length (big endian), the message. A set second bit marks the last
 * one, which holds the error or nothing. Followed: connectrpc.com/docs/protocol, "Streaming RPCs".
 */
export const END_OF_STREAM = 0b10;
const COMPRESSED = 0b1;
const HEAD_BYTES = 5;
/** envd reads output in pieces of 32 KiB (44 KiB as base64); one megabyte leaves room for another server's habits. */
const MAX_MESSAGE_BYTES = 1 << 20;

export type Envelope = { readonly flags: number; readonly data: Uint8Array };

export function encodeEnvelope(message: unknown): Uint8Array<ArrayBuffer> {
  const data = new TextEncoder().encode(JSON.stringify(message));
  const whole = new Uint8Array(HEAD_BYTES + data.length);
  new DataView(whole.buffer).setUint32(1, data.length);
  whole.set(data, HEAD_BYTES);
  return whole;
}

/** Cuts a body into envelopes, wherever its pieces break. Throws on what is no envelope, and on a body that ends in one. */
export async function* readEnvelopes(body: ReadableStream<Uint8Array>): AsyncGenerator<Envelope> {
  let held: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces(body)) {
    held = held.length === 0 ? piece : concat(held, piece);
    for (let size = messageBytes(held); held.length >= HEAD_BYTES + size; size = messageBytes(held)) {
      const flags = held[0] ?? 0;
      if ((flags & COMPRESSED) !== 0) throw new Error("a compressed message nobody asked for");
      yield { flags, data: held.subarray(HEAD_BYTES, HEAD_BYTES + size) };
      held = held.subarray(HEAD_BYTES + size);
    }
  }
  if (held.length > 0) throw new Error("the stream ended within a message");
}

/** Length of the first message; infinite while its head is not whole. */
function messageBytes(held: Uint8Array): number {
  if (held.length < HEAD_BYTES) return Number.POSITIVE_INFINITY;
  const size = new DataView(held.buffer, held.byteOffset, HEAD_BYTES).getUint32(1);
  if (size > MAX_MESSAGE_BYTES) throw new Error(`a message of ${size} bytes is longer than this client takes`);
  return size;
}

/** A body piece by piece; gives the connection back when the reader leaves early. */
export async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

export function concat(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Bytes of a base64 text; undefined when it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return undefined;
  }
}
