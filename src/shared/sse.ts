import { createParser } from "eventsource-parser";

export type SseMessage = { readonly event?: string | undefined; readonly data: string };

export type SseDecoder = {
  /** Messages completed by this piece of the body. */
  push(bytes: Uint8Array): readonly SseMessage[];
  /** The body ended: an unterminated last message counts when its data is whole JSON or `[DONE]` (provider-protocols 1.1). */
  end(): readonly SseMessage[];
  /** A line or message outgrew the cap; nothing more is decoded. */
  readonly overflowed: boolean;
};

/**
 * Server-sent events from bytes cut anywhere (provider-protocols 1.1): one streaming UTF-8 decoder, fed by hand, because a
 * chain of transform streams costs more than the decoding itself. `maxChars` caps what one message may hold.
 */
export function createSseDecoder(maxChars = 8 * 1024 * 1024): SseDecoder {
  const text = new TextDecoder();
  let messages: SseMessage[] = [];
  let overflowed = false;
  const parser = createParser({
    maxBufferSize: maxChars,
    onEvent: (event) => void messages.push(event),
    onError: (error) => {
      if (error.type === "max-buffer-size-exceeded") overflowed = true;
    },
  });
  const feed = (piece: string): readonly SseMessage[] => {
    if (overflowed) return [];
    messages = [];
    parser.feed(piece);
    return messages;
  };
  return {
    push: (bytes) => feed(text.decode(bytes, { stream: true })),
    end: () => {
      const last = feed(text.decode());
      // Two line ends close whatever line and message are still open; only then can a cut message be told from a whole one.
      return [...last, ...feed("\n\n").filter((message) => isWhole(message.data))];
    },
    get overflowed() {
      return overflowed;
    },
  };
}

function isWhole(data: string): boolean {
  return data.trim() === "[DONE]" || isJson(data);
}

/** Whether the text is whole JSON. */
export function isJson(data: string): boolean {
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
