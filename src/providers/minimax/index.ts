import type { ModelProvider } from "../../contract/model.ts";
import { createMessagesEncoder } from "../messages-wire/encode.ts";
import { messagesWire } from "../messages-wire/index.ts";
import { createClassifier } from "../transport/classify.ts";
import { keyHeader, providerOf } from "../transport/provider.ts";
import { type ProviderSettings, SYSTEM_CLOCK } from "../transport/settings.ts";
import { options } from "./encode.ts";
import { isM3, minimaxCategory } from "./wire.ts";

export const MINIMAX_BASE_URL = "https://api.minimax.io/anthropic";

// Hold nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const TEXT_ENCODER = createMessagesEncoder({ vendor: "minimax", images: false });
const IMAGE_ENCODER = createMessagesEncoder({ vendor: "minimax", images: true });

/** MiniMax on its native, Anthropic-style wire (provider-protocols 5). */
export function createMinimax(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const key = settings.apiKey ?? "";
  const wire = messagesWire({
    name: "minimax",
    baseUrl: settings.baseUrl ?? MINIMAX_BASE_URL,
    headers: {
      ...keyHeader(key, settings.auth ?? "key", "x-api-key"),
      "anthropic-version": settings.apiVersion ?? "2023-06-01",
    },
    classifier: createClassifier({ provider: "minimax", secrets: [key], now: clock.now, vendor: minimaxCategory }),
    settings,
    encoder: (model) => (isM3(model) ? IMAGE_ENCODER : TEXT_ENCODER),
    caching: (model) => !isM3(model) && (settings.lookup?.(model)?.supports_caching ?? true),
    options: (request) => ({ body: options(request) }),
  });
  return providerOf(wire, settings);
}
