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
    [
      "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5600>= n_ctx: 4096)",
      1_504,
    ],
    [
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300500 tokens. Please reduce the length of the messages.",
      28_500,
    ],
    ["the input token count is 1200000 but model only supports up to 1048576. Reduce it", 151_424],
    ["The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 904],
    ["The input (9000 tokens) is longer than the model's context length (8192 tokens).", 808],
    ["Input length (9000 tokens) exceeds the maximum allowed length (8192 tokens).", 808],
    ["Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32_905],
    ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 406_740],
    ["Your request exceeded model token limit: 262144 (requested: 300000)", 37_856],
    ["number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.", 1_951],
    ["prompt token count of 130000 exceeds the limit of 128000", 2_000],
    ["prompt too long; exceeded max context length by 4 tokens", 4],
    ["You passed 8193 input tokens and requested 0 output tokens. However, the model's context length is only 8192", 1],
    ["Input is too long for requested model.", null],
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
    [
      "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of 9000 tokens: 5000 tokens from the input messages and 4000 tokens for the completion.",
      808,
      3_192,
    ],
    [
      "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens and 2000 `max_new_tokens`",
      904,
      1_096,
    ],
    [
      "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (120000 of text input, 20000 in the output).",
      8_928,
      11_072,
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

describe("rate limits that speak of tokens", () => {
  test("a status of 429 goes before a code for overflow", () => {
    expect(http(429, saying("too many tokens", { code: "context_length_exceeded" }))).toMatchObject({
      category: "rate_limit",
      retryable: true,
    });
  });

  test("a vendor's own number for a rate limit goes before numbers of tokens", () => {
    const status_msg = "token rate limit: prompt is too long: 20 tokens > 10";
    expect(minimax.inBand({ base_resp: { status_code: 1039, status_msg } })).toMatchObject({ category: "rate_limit" });
  });
});

describe("markup", () => {
  test.each([
    [502, "<h1>Bad Gateway</h1><p>inner</p>", "server"],
    [503, "<!-- x --><html><title>Down</title>inner</html>", "overloaded"],
    [403, "<?xml version='1.0'?><Error><Code>inner</Code></Error>", "permission"],
    [500, saying("<h1>inner</h1>"), "server"],
  ])("%i %j shows nothing of the page", (status, body, category) => {
    const failure = http(status, body);
    expect(failure).toMatchObject({ category, status });
    expect(failure.message).not.toMatch(/<|inner/);
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
    [403, saying("off", { status: "PERMISSION_DENIED", details: [{ reason: "BILLING_DISABLED" }] }), "billing"],
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
    [400, saying("Output blocked by content filtering policy", { type: "invalid_request_error" }), "content_filter"],
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

  test("a MiniMax code counts wherever it stands in the text", () => {
    const body = JSON.stringify({
      type: "error",
      error: { type: "api_error", message: "too fast (1002) [see (9999)]" },
    });
    expect(minimax.http(400, new Headers(), body)).toMatchObject({ category: "rate_limit" });
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

  test("the server's word on trying again counts, but not for what waiting does not cure", () => {
    const yes = { "x-should-retry": "true" };
    expect(http(409, saying("conflict"), yes)).toMatchObject({ retryable: true });
    expect(http(429, saying("spent"), { "x-should-retry": "false" })).toMatchObject({ retryable: false });
    expect(http(400, saying("prompt is too long: 20 tokens > 10 maximum"), yes)).toMatchObject({ retryable: false });
    expect(http(429, saying("x", { code: "insufficient_quota" }), yes)).toMatchObject({ retryable: false });
  });

  test.each(["HOSTNAME_MISMATCH", "INVALID_CA", "CRL_HAS_EXPIRED", "CERT_HAS_EXPIRED"])(
    "%s is a certificate fault",
    (code) => {
      const cause = Object.assign(new Error("x"), { code });
      expect(classifier.thrown(new TypeError("fetch failed", { cause }))).toMatchObject({ category: "ssl" });
    },
  );

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
    [{ "retry-after": "Sunday, 01-Nov-26 00:00:45 GMT" }, {}, 45_000],
    [{ "retry-after": "Sun Nov  1 00:00:40 2026" }, {}, 40_000],
    [{ "retry-after": "Infinity" }, {}, null],
    [{ "retry-after": "soon" }, {}, null],
    [{ "retry-after": "-3" }, {}, null],
    [{}, saying("Please try again in 1.5s."), 1_500],
    [{}, saying("Please try again in 20ms."), 20],
    [{}, saying("Please try again in 6m0s."), 360_000],
    [{}, saying("retry in 12 seconds"), 12_000],
    [{}, saying("Please retry in 7 s"), 7_000],
    [{}, saying("try again in 250 ms"), 250],
    [{}, saying("wait 2 minutes"), 120_000],
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
