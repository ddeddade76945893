import type { ModelProvider } from "../../contract/model.ts";
import { createChatEncoder } from "../chat-completions/encode.ts";
import { chatWire } from "../chat-completions/index.ts";
import type { ChatDialect } from "../chat-completions/wire.ts";
import { createClassifier } from "../transport/classify.ts";
import { providerOf } from "../transport/provider.ts";
import { type ProviderSettings, SYSTEM_CLOCK } from "../transport/settings.ts";
import { options } from "./encode.ts";
import { isOfficial } from "./wire.ts";

export const OPENAI_BASE_URL = "https://api.openai.com/v1";

const DIALECT: ChatDialect = { name: "openai", thinkTags: false, reasoningDetails: false };
// Holds nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const ENCODER = createChatEncoder(DIALECT);

/** OpenAI Chat Completions, and servers that copy it (provider-protocols 3). */
export function createOpenai(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const apiKey = settings.apiKey ?? "";
  const baseUrl = settings.baseUrl ?? OPENAI_BASE_URL;
  const wire = chatWire({
    dialect: DIALECT,
    baseUrl,
    apiKey,
    classifier: createClassifier({ provider: "openai", secrets: [apiKey], now: clock.now }),
    settings,
    encoder: ENCODER,
    // Caching is automatic on this wire.
    caching: () => false,
    options: (request) => options(request, isOfficial(baseUrl)),
  });
  return providerOf(wire, settings);
}
