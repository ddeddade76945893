import type { ModelRequest } from "../../contract/model.ts";
import { nameDecoder } from "../transport/names.ts";
import { endpoint, keyHeader } from "../transport/provider.ts";
import { type ProviderSettings, randomCallId } from "../transport/settings.ts";
import type { Classifier, Wire } from "../transport/wire.ts";
import { createChatDecoder } from "./decode.ts";
import type { ChatEncoder } from "./encode.ts";
import type { ChatDialect } from "./wire.ts";

/** What a vendor of the Chat Completions wire decides for itself. */
export type ChatVendor = {
  readonly dialect: ChatDialect;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly classifier: Classifier;
  readonly settings: ProviderSettings;
  readonly encoder: ChatEncoder;
  /** Cache marks on content parts. */
  caching(model: string): boolean;
  /** Body fields beside model, messages, tools and stream. */
  options(request: ModelRequest): Readonly<Record<string, unknown>>;
};

/** Builds the wire of a Chat Completions vendor (provider-protocols 3). */
export function chatWire(vendor: ChatVendor): Wire {
  const { settings } = vendor;
  const classifier = settings.classifier ?? vendor.classifier;
  return {
    name: vendor.dialect.name,
    classifier,
    request(request) {
      const head = JSON.stringify({
        model: request.model,
        stream: true,
        stream_options: { include_usage: true },
        ...vendor.options(request),
      });
      const tools = request.tools.length > 0 ? `,"tools":${vendor.encoder.tools(request.tools)}` : "";
      return {
        url: endpoint(vendor.baseUrl, settings.messagePath ?? "/chat/completions"),
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          ...(vendor.apiKey === "" ? {} : keyHeader(vendor.apiKey, settings.auth ?? "bearer", "api-key")),
          ...vendor.headers,
          ...vendor.settings.headers,
        },
        body: `${head.slice(0, -1)}${tools},"messages":${vendor.encoder.messages(request, vendor.caching(request.model))}}`,
      };
    },
    decoder: (request) =>
      createChatDecoder({
        classifier,
        dialect: vendor.dialect,
        decodeName: nameDecoder(request.tools),
        newCallId: vendor.settings.newCallId ?? randomCallId,
      }),
  };
}

/** The plain options most servers know. */
export function commonOptions(request: ModelRequest): Record<string, unknown> {
  const stop = request.stopSequences ?? [];
  return {
    max_tokens: request.maxTokens,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    // At most four are taken; the engine finds the others in the output itself.
    ...(stop.length > 0 ? { stop: stop.slice(0, 4) } : {}),
  };
}

/** Reasoning effort: as asked for, or what a token budget comes down to. */
export function effortOf(request: ModelRequest): "low" | "medium" | "high" | undefined {
  const budget = request.thinkingBudget ?? 0;
  return request.effort ?? (budget <= 0 ? undefined : budget <= 4_096 ? "low" : budget <= 16_384 ? "medium" : "high");
}
