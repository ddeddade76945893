import type { ModelProvider } from "../../contract/model.ts";
import { createChatEncoder } from "../chat-completions/encode.ts";
import { chatWire } from "../chat-completions/index.ts";
import type { ChatDialect } from "../chat-completions/wire.ts";
import { createClassifier } from "../transport/classify.ts";
import { providerOf } from "../transport/provider.ts";
import { type ProviderSettings, SYSTEM_CLOCK } from "../transport/settings.ts";
import { options, takesCacheMarks } from "./encode.ts";

export const OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1";

const DIALECT: ChatDialect = { name: "openrouter", thinkTags: false, reasoningDetails: true };
// Holds nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const ENCODER = createChatEncoder(DIALECT);

/** OpenRouter (provider-protocols 4). `settings.headers` may carry `HTTP-Referer` and `X-Title`. */
export function createOpenrouter(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const apiKey = settings.apiKey ?? "";
  const wire = chatWire({
    dialect: DIALECT,
    baseUrl: settings.baseUrl ?? OPENROUTER_BASE_URL,
    apiKey,
    classifier: createClassifier({ provider: "openrouter", secrets: [apiKey], now: clock.now }),
    settings,
    encoder: ENCODER,
    caching: (model) => takesCacheMarks(model) && (settings.lookup?.(model)?.supports_caching ?? true),
    options,
  });
  return providerOf(wire, settings);
}
