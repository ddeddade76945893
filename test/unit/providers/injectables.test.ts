import { describe, expect, test } from "vitest";
import { createClassifier } from "../../../src/providers/transport/classify.ts";
import { answer, collect, providerWith, REQUEST, sse } from "./support/harness.ts";

const KEYED = ["anthropic", "minimax", "openai", "openrouter"] as const;
const ALL = [...KEYED, "gemini", "ollama", "lmstudio"] as const;

// spec: R-4
describe("what a provider can be given", () => {
  test.each(ALL)("%s reads failures with the classifier it is given", async (name) => {
    const own = createClassifier({ provider: "mine", secrets: [], now: Date.now, vendor: () => "billing" });
    const refused = Response.json({ error: { message: "no" } }, { status: 418 });
    const { provider } = providerWith(name, [refused], { classifier: own });
    expect((await collect(provider)).at(-1)).toMatchObject({
      failure: { category: "billing", message: expect.stringMatching(/^mine: /) },
    });
  });

  test.each(ALL)("%s uses the overflow handler it is given, once", async (name) => {
    const refusals = [1, 2].map(() => Response.json({ error: { message: "odd" } }, { status: 400 }));
    const { provider, sent } = providerWith(name, refusals, {
      overflowHandler: (request) => ({ ...request, maxTokens: 77 }),
    });
    expect((await collect(provider)).at(-1)?.type).toBe("failed");
    expect(sent.map(({ body }) => JSON.stringify(body).includes("77"))).toEqual([false, true]);
  });

  test.each(KEYED)("%s sends its messages to the path it is given", async (name) => {
    const { provider, sent } = providerWith(name, [sse(...answer(name, "ok").whole)], {
      baseUrl: "https://proxy.example/x",
      messagePath: "/own/path",
    });
    await collect(provider, REQUEST);
    expect(sent[0]?.url).toBe("https://proxy.example/x/own/path");
  });

  test.each(KEYED)("%s sends its key as a key or as a bearer token", async (name) => {
    for (const auth of ["key", "bearer"] as const) {
      const { provider, sent } = providerWith(name, [sse(...answer(name, "ok").whole)], { auth });
      await collect(provider, REQUEST);
      const { headers } = sent[0] ?? { headers: new Headers() };
      expect(headers.get("authorization")).toBe(auth === "bearer" ? "Bearer test-key-123456" : null);
      expect(headers.get("x-api-key") ?? headers.get("api-key")).toBe(auth === "key" ? "test-key-123456" : null);
    }
  });

  test.each(["anthropic", "minimax"])("%s names the API version it is given", async (name) => {
    const { provider, sent } = providerWith(name, [sse(...answer(name, "ok").whole)], { apiVersion: "2030-01-01" });
    await collect(provider, REQUEST);
    expect(sent[0]?.headers.get("anthropic-version")).toBe("2030-01-01");
  });
});
