import { expect, test } from "vitest";
import { createProvider, PROVIDER_NAMES } from "../../../src/providers/index.ts";

const refusal = (name: string, settings = {}) => {
  const made = createProvider(name, settings);
  return made.ok ? undefined : made.error.message;
};

// spec: G-2 R-2
test("names the missing key's setting", () => {
  for (const name of ["anthropic", "openai", "openrouter", "minimax", "gemini"])
    expect(refusal(name)).toContain(`${name.toUpperCase()}_API_KEY`);
  for (const name of ["ollama", "lmstudio", "demo"]) expect(refusal(name)).toBeUndefined();
});

test("lists the valid names for an unknown provider", () => {
  for (const name of PROVIDER_NAMES) expect(refusal("nope")).toContain(name);
  expect(refusal("constructor")).toContain("provider must be one of");
});

test.each(["not a url", "ftp://x.example", "https://user:pw@x.example", "https://x.example/?a=1"])(
  "refuses the base URL %s by its setting",
  (baseUrl) => {
    expect(refusal("openai", { apiKey: "k", baseUrl })).toMatch(/^OPENAI_BASE_URL /);
  },
);

test("asks for the base URL of Vertex", () => {
  expect(refusal("gemini", { bearerToken: "t" })).toContain("GEMINI_BASE_URL");
});

test("refuses a key a header cannot carry without repeating it", () => {
  const message = refusal("openai", { apiKey: "abc\ndef" });
  expect(message).toContain("OPENAI_API_KEY");
  expect(message).not.toContain("abc");
});
