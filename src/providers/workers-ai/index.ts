import type { ModelProvider } from "../../contract/model.ts";
import { createChatEncoder } from "../chat-completions/encode.ts";
import { chatWire } from "../chat-completions/index.ts";
import type { ChatDialect } from "../chat-completions/wire.ts";
import { createClassifier } from "../transport/classify.ts";
import { providerOf } from "../transport/provider.ts";
import { type AiBinding, type ProviderSettings, SYSTEM_CLOCK } from "../transport/settings.ts";
import { toChunk } from "./decode.ts";
import { options } from "./encode.ts";
import { thrownFault, workersAiCategory } from "./wire.ts";

const DIALECT: ChatDialect = {
  name: "workers-ai",
  thinkTags: true,
  reasoningDetails: false,
  textOnly: true,
  toChunk,
};
// Holds nothing but encodings of messages, keyed by the messages themselves: gone when they are.
const ENCODER = createChatEncoder(DIALECT);

/** Workers AI through its binding, on the one transport. Not proven against the real service. */
export function createWorkersAi(settings: ProviderSettings): ModelProvider {
  const clock = settings.clock ?? SYSTEM_CLOCK;
  const wire = chatWire({
    dialect: DIALECT,
    // Never dialled: the binding stands in for fetch.
    baseUrl: "https://workers-ai.invalid",
    apiKey: "",
    classifier: createClassifier({
      provider: "workers-ai",
      secrets: [],
      now: clock.now,
      vendor: workersAiCategory,
      hints: { not_found: "Models are named like @cf/meta/llama-3.3-70b-instruct-fp8-fast." },
    }),
    settings,
    encoder: ENCODER,
    caching: () => false,
    options,
  });
  return providerOf(wire, { ...settings, fetch: bindingFetch(settings.binding) });
}

/** A `fetch` whose other end is the binding, so that retries, guards and limits are the transport's. */
function bindingFetch(binding: AiBinding | undefined): typeof fetch {
  return async (_input, init) => {
    if (!binding) throw new Error("the binding AI is not set");
    const {
      model,
      stream_options: _,
      ...inputs
    } = JSON.parse(String(init?.body)) as { model: string } & Record<string, unknown>;
    try {
      const answer = await binding.run(model, inputs, { signal: init?.signal ?? undefined });
      if (answer instanceof Response) return answer;
      if (answer instanceof ReadableStream)
        return new Response(answer, { headers: { "content-type": "text/event-stream" } });
      // A model that does not stream answers in one object and has no mark of its end.
      return new Response(`data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`);
    } catch (error) {
      const fault = thrownFault(error);
      if (!fault) throw error;
      return Response.json({ error: fault }, { status: 400 });
    }
  };
}
