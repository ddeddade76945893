import type { ModelProvider } from "../../contract/model.ts";
import { createClassifier } from "../transport/classify.ts";
import { nameDecoder } from "../transport/names.ts";
import { providerOf } from "../transport/provider.ts";
import { type ProviderSettings, randomCallId, SYSTEM_CLOCK } from "../transport/settings.ts";
import type { Wire } from "../transport/wire.ts";
import { createGeminiDecoder } from "./decode.ts";
import { createGeminiEncoder, GEMINI_NAME } from "./encode.ts";

export const GEMINI_BASE_URL = "https://generativelanguage.googleapis.com/v1beta";

// Holds nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const ENCODER = createGeminiEncoder();

/** Largest `maxOutputTokens` of the current models. */
const MAX_OUTPUT = 65_536;

/** Gemini on AI Studio (key) or, with a bearer token and the publisher's base URL, on Vertex (provider-protocols 6). */
export function createGemini(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const base = (settings.baseUrl ?? GEMINI_BASE_URL).replace(/\/+$/, "");
  const [key, bearer] = [settings.apiKey ?? "", settings.bearerToken ?? ""];
  const classifier =
    settings.classifier ?? createClassifier({ provider: "gemini", secrets: [key, bearer], now: clock.now });
  const wire: Wire = {
    name: "gemini",
    classifier,
    request: (request) => ({
      url: `${base}/${modelPath(request.model)}:streamGenerateContent?alt=sse`,
      // The key goes into a header: URLs get logged.
      headers: {
        "content-type": "application/json",
        ...(bearer === "" ? { "x-goog-api-key": key } : { authorization: `Bearer ${bearer}` }),
        ...settings.headers,
      },
      body: ENCODER.body(request, MAX_OUTPUT),
    }),
    decoder: (request) =>
      createGeminiDecoder({
        classifier,
        decodeName: nameDecoder(request.tools, GEMINI_NAME),
        newCallId: settings.newCallId ?? randomCallId,
      }),
  };
  return providerOf(wire, settings);
}

/** `gemini-2.5-pro` and `models/gemini-2.5-pro` are one model; tuned models have a collection of their own. */
function modelPath(model: string): string {
  const path = model.includes("/") ? model : `models/${model}`;
  return path.split("/").map(encodeURIComponent).join("/");
}
