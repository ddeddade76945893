import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { minimaxCategory } from "../../../src/providers/minimax/wire.ts";
import { createClassifier } from "../../../src/providers/transport/classify.ts";
import { retryDelayMs } from "../../../src/providers/transport/retry.ts";
import { DEFAULT_RETRY } from "../../../src/providers/transport/settings.ts";

const NOW = Date.parse("2026-11-01T00:00:00Z");
const classifier = createClassifier({ provider: "p", secrets: ["sekret"], now: () => NOW });
const minimax = createClassifier({ provider: "minimax", secrets: [], now: () => NOW, vendor: minimaxCategory });
const http = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  classifier.http(status, new Headers(headers), typeof body === "string" ? body : JSON.stringify(body));
const saying = (message: string, extra: object = {}) => ({ error: { message, ...extra } });

// spec: R-4
describe("overflow", () => {
  test.each([
    ["prompt is too long: 214560 tokens > 200000 maximum", 14_560],
    ["This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens.", 3_072],
    ["Input length (9000) exceeds model's maximum context length (8192).", 808],
    ["Input length 9000 exceeds the maximum allowed input length of 8192 tokens", 808],
    ["This endpoint's maximum context length is 131072 tokens. However, you requested about 145000 tokens", 13_928],
    ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 151_424],
    ["request (9920 tokens) exceeds the available context size (8192 tokens), try increasing it", 1_728],
    [
      "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
      4_904,
    ],
    ["The number of tokens to keep from the initial prompt is greater than the context length", null],
    ["Your input exceeds the context window of this model.", null],
    ["invalid params, context window exceeds limit (2013)", null],
  ])("%s", (message, gap) => {
    expect(http(400, saying(message))).toMatchObject({ category: "prompt_too_long", tokenGap: gap, retryable: false });
  });

  test.each([
    ["input length and `max_tokens` exceed context limit: 190500 + 16384 > 200000, decrease", 6_884, 9_500],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens and your prompt contains at least 5000 input tokens, for a total of at least 9096 tokens.",
      904,
      3_192,
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9096 tokens (5000 in the messages, 4096 in the completion).",
      904,
      3_192,
    ],
  ])("%s", (message, gap, available) => {
    expect(http(400, saying(message))).toMatchObject({
      category: "max_tokens_overflow",
      tokenGap: gap,
      maxTokensAvailable: available,
    });
  });

  test("reads the upstream's text inside a router's answer", () => {
    const raw = JSON.stringify(saying("prompt is too long: 210000 tokens > 200000 maximum"));
    expect(
      http(400, saying("Provider returned error", { code: 400, metadata: { raw, provider_name: "x" } })),
    ).toMatchObject({ category: "prompt_too_long", tokenGap: 10_000 });
  });

  test("takes a list of one error", () => {
    expect(
      http(400, [
        saying("The input token count (20) exceeds the maximum number of tokens allowed (10).", {
          code: 400,
          status: "INVALID_ARGUMENT",
        }),
      ]),
    ).toMatchObject({ category: "prompt_too_long", tokenGap: 10 });
  });

  test("never takes a rate limit for an overflow", () => {
    expect(http(429, saying("too many tokens: prompt is too long: 20 tokens > 10 maximum, please wait"))).toMatchObject(
      { category: "rate_limit", retryable: true },
    );
  });
});

describe("category", () => {
  test.each([
    [401, saying("bad", { type: "invalid_request_error", code: "invalid_api_key" }), "auth"],
    [
      400,
      saying("API key not valid. Please pass a valid API key.", {
        status: "INVALID_ARGUMENT",
        details: [{ reason: "API_KEY_INVALID" }],
      }),
      "auth",
    ],
    [402, saying("Insufficient credits", { code: 402 }), "billing"],
    [403, saying("no", { type: "permission_error" }), "permission"],
    [403, saying("flagged", { code: 403, metadata: { reasons: ["violence"] } }), "content_filter"],
    [404, saying("no such model", { type: "not_found_error" }), "not_found"],
    [408, {}, "timeout"],
    [413, saying("big", { type: "request_too_large" }), "request_too_large"],
    [500, saying("x", { type: "api_error" }), "server"],
    [502, "<html><title>Bad</title></html>", "server"],
    [503, "<!doctype html><p>x", "overloaded"],
    [504, "", "timeout"],
    [524, "", "timeout"],
    [525, "", "ssl"],
    [526, "", "ssl"],
    [407, "", "proxy"],
    [529, saying("Overloaded", { type: "overloaded_error" }), "overloaded"],
    [
      429,
      saying("You exceeded your current quota", { type: "insufficient_quota", code: "insufficient_quota" }),
      "billing",
    ],
    [422, { detail: [{ msg: "field required" }] }, "invalid_request"],
  ])("%i %j is %s", (status, body, category) => {
    expect(http(status, body)).toMatchObject({ category, status });
  });

  test.each([
    [1000, "server", true],
    [1001, "timeout", true],
    [1002, "rate_limit", true],
    [1004, "auth", false],
    [1008, "billing", false],
    [1026, "content_filter", false],
    [1039, "rate_limit", true],
    [2013, "invalid_request", false],
    [2049, "auth", false],
  ])("MiniMax code %i is %s", (code, category, retryable) => {
    expect(minimax.inBand({ base_resp: { status_code: code, status_msg: "x" } })).toMatchObject({
      category,
      retryable,
    });
    const body = JSON.stringify({
      type: "error",
      error: { type: "api_error", message: `x (${code})`, http_code: "400" },
    });
    expect(minimax.http(400, new Headers(), body)).toMatchObject({ category, retryable });
  });

  test("a daily quota without a delay is not retried", () => {
    const details = [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: [{ quotaId: "GenerateRequestsPerDayPerProject" }],
      },
    ];
    expect(http(429, saying("quota", { status: "RESOURCE_EXHAUSTED", details }))).toMatchObject({
      category: "rate_limit",
      retryable: false,
      retryAfterMs: null,
    });
  });

  test("a certificate fault carries a hint and is not retried", () => {
    const error = new TypeError("fetch failed", {
      cause: Object.assign(new Error("unable to verify the first certificate"), {
        code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      }),
    });
    expect(classifier.thrown(error)).toMatchObject({ category: "ssl", retryable: false, hint: expect.any(String) });
  });

  test("any body at any status gives a failure with a bounded, clean message", () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, body) => {
        const failure = classifier.http(status, new Headers(), body);
        expect(failure.message.length).toBeLessThan(600);
        expect(failure.retryAfterMs === null || Number.isFinite(failure.retryAfterMs)).toBe(true);
      }),
    );
  });
});

describe("retry wait", () => {
  test.each<[Record<string, string>, unknown, number | null]>([
    [{ "retry-after-ms": "1500", "retry-after": "2" }, {}, 1_500],
    [{ "retry-after": "2.5" }, {}, 2_500],
    [{ "retry-after": "Sun, 01 Nov 2026 00:00:30 GMT" }, {}, 30_000],
    [{ "retry-after": "soon" }, {}, null],
    [{ "retry-after": "-3" }, {}, null],
    [{}, saying("Please try again in 1.5s."), 1_500],
    [{}, saying("Please try again in 20ms."), 20],
    [{}, saying("Please try again in 6m0s."), 360_000],
    [{}, saying("retry in 12 seconds"), 12_000],
    [{}, saying("x", { details: [{ retryDelay: "37.412s" }] }), 37_412],
    [{ "anthropic-ratelimit-requests-reset": "2026-11-01T00:00:20Z" }, {}, 20_000],
    [
      {
        "anthropic-ratelimit-requests-reset": "2026-11-01T00:00:20Z",
        "anthropic-ratelimit-requests-remaining": "5",
        "anthropic-ratelimit-tokens-reset": "2026-11-01T00:00:40Z",
        "anthropic-ratelimit-tokens-remaining": "0",
      },
      {},
      40_000,
    ],
    [{}, saying("too many requests"), null],
  ])("%j %j → %s", (headers, body, expected) => {
    expect(http(429, body, headers).retryAfterMs).toBe(expected);
  });

  test("waits at least what was asked, up to the cap, and never longer than the backoff's ceiling without it", () => {
    fc.assert(
      fc.property(
        fc.option(fc.nat(10_000_000)),
        fc.integer({ min: 2, max: 40 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (asked, next, random) => {
          const wait = retryDelayMs(
            { category: "rate_limit", message: "", retryable: true, retryAfterMs: asked },
            next,
            { ...DEFAULT_RETRY, random: () => random },
          );
          const least = asked === null ? 0 : Math.min(asked, DEFAULT_RETRY.retryAfterMaxMs);
          expect(wait).toBeGreaterThanOrEqual(least);
          expect(wait).toBeLessThanOrEqual(asked === null ? DEFAULT_RETRY.maxMs : least + 1_000);
        },
      ),
    );
  });
});
