import type { ModelRequest } from "../../contract/model.ts";
import { hasText } from "../transport/conversation.ts";
import { nameDecoder } from "../transport/names.ts";
import { endpoint } from "../transport/provider.ts";
import { type ProviderSettings, randomCallId } from "../transport/settings.ts";
import type { Classifier, Wire } from "../transport/wire.ts";
import { createMessagesDecoder } from "./decode.ts";
import type { MessagesEncoder } from "./encode.ts";

/** What a vendor of the Messages wire decides for itself. */
export type MessagesVendor = {
  readonly name: string;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly classifier: Classifier;
  readonly settings: ProviderSettings;
  encoder(model: string): MessagesEncoder;
  caching(model: string): boolean;
  /** Body fields beside model, system, messages and tools; `openLoop`: see `openLoopWithoutThinking`. */
  options(
    request: ModelRequest,
    openLoop: boolean,
  ): { readonly body: Readonly<Record<string, unknown>>; readonly headers?: Readonly<Record<string, string>> };
};

/** Flagged system blocks that get a mark; with the last tool and the end of the history that makes the four allowed. */
const SYSTEM_MARKS = 2;

/** Builds the wire of a Messages vendor (provider-protocols 2 and 5). */
export function messagesWire(vendor: MessagesVendor): Wire {
  const { settings } = vendor;
  const classifier = settings.classifier ?? vendor.classifier;
  return {
    name: vendor.name,
    classifier,
    request(request) {
      const caching = vendor.caching(request.model);
      const encoder = vendor.encoder(request.model);
      const { json, openLoopWithoutThinking } = encoder.messages(request, caching);
      const { body, headers } = vendor.options(request, openLoopWithoutThinking);
      const system = systemBlocks(request, caching);
      const head = JSON.stringify({
        model: request.model,
        stream: true,
        ...body,
        ...(system.length > 0 ? { system } : {}),
      });
      const tools = request.tools.length > 0 ? `,"tools":${encoder.tools(request.tools, caching)}` : "";
      return {
        url: endpoint(vendor.baseUrl, settings.messagePath ?? "/v1/messages"),
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          ...vendor.headers,
          ...headers,
          ...vendor.settings.headers,
        },
        body: `${head.slice(0, -1)}${tools},"messages":${json}}`,
      };
    },
    decoder: (request) =>
      createMessagesDecoder({
        classifier,
        vendor: vendor.name,
        decodeName: nameDecoder(request.tools),
        newCallId: vendor.settings.newCallId ?? randomCallId,
      }),
  };
}

/** Static blocks end a cached prefix, dynamic ones do not. */
function systemBlocks(request: ModelRequest, caching: boolean): readonly unknown[] {
  const blocks = request.system.filter((block) => hasText(block.text));
  const flagged = blocks.filter((block) => block.cache).slice(-SYSTEM_MARKS);
  return blocks.map((block) => ({
    type: "text",
    text: block.text,
    ...(caching && flagged.includes(block) ? { cache_control: { type: "ephemeral" } } : {}),
  }));
}

/** Smallest thinking budget the wire takes. */
const MIN_BUDGET = 1_024;

/** A budget of at least 1,024 and below `max_tokens` (provider-protocols 2); a budget that does not fit is made smaller. */
export function fitThinking(
  budget: number,
  maxTokens: number,
): { readonly budget: number; readonly maxTokens: number } {
  if (maxTokens <= MIN_BUDGET) return { budget: MIN_BUDGET, maxTokens: maxTokens + MIN_BUDGET };
  // A quarter is left for the answer itself.
  const fitting = budget < maxTokens ? budget : Math.floor(maxTokens * 0.75);
  return { budget: Math.max(MIN_BUDGET, fitting), maxTokens };
}

/** Blank stop sequences are refused. */
export function stopSequences(request: ModelRequest): { readonly stop_sequences?: readonly string[] } {
  const list = (request.stopSequences ?? []).filter(hasText);
  return list.length > 0 ? { stop_sequences: list } : {};
}
