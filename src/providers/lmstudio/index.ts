import type { ModelProvider } from "../../contract/model.ts";
import { createChatEncoder } from "../chat-completions/encode.ts";
import { chatWire } from "../chat-completions/index.ts";
import type { ChatDialect } from "../chat-completions/wire.ts";
import { createClassifier } from "../transport/classify.ts";
import { providerOf } from "../transport/provider.ts";
import { type ProviderSettings, SYSTEM_CLOCK } from "../transport/settings.ts";
import { options } from "./encode.ts";
import { hints, lmstudioCategory } from "./wire.ts";

export const LMSTUDIO_BASE_URL = "http://localhost:1234/v1";

const DIALECT: ChatDialect = { name: "lmstudio", thinkTags: true, reasoningDetails: false };
// Holds nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const ENCODER = createChatEncoder(DIALECT);

/** LM Studio's compatible server (provider-protocols 8); needs no key. */
export function createLmstudio(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const apiKey = settings.apiKey ?? "";
  const baseUrl = settings.baseUrl ?? LMSTUDIO_BASE_URL;
  const wire = chatWire({
    dialect: DIALECT,
    baseUrl,
    apiKey,
    classifier: createClassifier({
      provider: "lmstudio",
      secrets: [apiKey],
      now: clock.now,
      hints: hints(baseUrl),
      vendor: lmstudioCategory,
    }),
    settings,
    encoder: ENCODER,
    caching: () => false,
    options,
  });
  return providerOf(wire, settings);
}
