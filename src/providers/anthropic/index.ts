import type { ModelProvider, ModelRequest } from "../../contract/model.ts";
import { createMessagesEncoder } from "../messages-wire/encode.ts";
import { messagesWire } from "../messages-wire/index.ts";
import { createClassifier } from "../transport/classify.ts";
import { keyHeader, providerOf } from "../transport/provider.ts";
import { type ProviderSettings, SYSTEM_CLOCK } from "../transport/settings.ts";
import { options } from "./encode.ts";
import { ANTHROPIC_VERSION } from "./wire.ts";

export const ANTHROPIC_BASE_URL = "https://api.anthropic.com";

// Holds nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const ENCODER = createMessagesEncoder({ vendor: "anthropic", images: true });

/** Anthropic Messages API (provider-protocols 2). */
export function createAnthropic(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const key = settings.apiKey ?? "";
  const wire = messagesWire({
    name: "anthropic",
    baseUrl: settings.baseUrl ?? ANTHROPIC_BASE_URL,
    headers: {
      "anthropic-version": settings.apiVersion ?? ANTHROPIC_VERSION,
      ...(settings.bearerToken
        ? keyHeader(settings.bearerToken, "bearer", "")
        : keyHeader(key, settings.auth ?? "key", "x-api-key")),
    },
    classifier: createClassifier({ provider: "anthropic", secrets: [key, settings.bearerToken ?? ""], now: clock.now }),
    settings,
    encoder: () => ENCODER,
    caching: (model) => settings.lookup?.(model)?.supports_caching ?? true,
    options: (request: ModelRequest, openLoop) =>
      options(request, { openLoop, thinks: settings.lookup?.(request.model)?.supports_thinking ?? true }),
  });
  return providerOf(wire, settings);
}
