/** What an overflow message says, in tokens; null where it gives no number. */
export type Overflow = {
  readonly category: "prompt_too_long" | "max_tokens_overflow";
  readonly tokenGap: number | null;
  readonly maxTokensAvailable?: number;
};

const N = "([\\d][\\d,_]*)";

/** Texts that name the limit and the size of the prompt alone. `order` tells which number comes first. */
const PROMPT_ALONE: readonly { readonly text: RegExp; readonly order: "wanted_limit" | "limit_wanted" }[] = [
  { text: new RegExp(`prompt is too long: ${N} tokens? > ${N}`, "i"), order: "wanted_limit" },
  {
    text: new RegExp(`input token count \\(?${N}\\)? exceeds the maximum number of tokens allowed \\(?${N}`, "i"),
    order: "wanted_limit",
  },
  { text: new RegExp(`\\(?${N} tokens\\)? exceeds the available context size \\(?${N}`, "i"), order: "wanted_limit" },
  {
    text: new RegExp(
      `input length \\(?${N}\\)? exceeds (?:the )?(?:model'?s )?maximum (?:context length|allowed input length)(?: of)? \\(?${N}`,
      "i",
    ),
    order: "wanted_limit",
  },
  { text: new RegExp(`keep the first ${N} tokens[\\s\\S]*context length of only ${N}`, "i"), order: "wanted_limit" },
  {
    text: new RegExp(
      `maximum context length is ${N} tokens[\\s\\S]*?(?:resulted in|requested about|requested|prompt contains(?: at least)?) ${N}(?: input)? tokens`,
      "i",
    ),
    order: "limit_wanted",
  },
];

/** Overflow wordings without numbers. */
const BARE =
  /prompt is too long|context window exceeds limit|exceeds? (?:the |this )?(?:model'?s? )?(?:available )?context (?:window|size|length)|maximum context length|tokens to keep from the initial prompt is greater|input token count.{0,40}exceeds the maximum|context_length_exceeded|exceed_context_size|reduce the length of the (?:messages|prompt)|context length of only/i;

/** Reads an overflow out of an error text (provider-protocols 1.4). Gap = wanted − limit. */
export function findOverflow(
  text: string,
  fields: { readonly prompt?: number | undefined; readonly limit?: number | undefined } = {},
): Overflow | undefined {
  if (fields.prompt !== undefined && fields.limit !== undefined && fields.prompt > fields.limit) {
    return { category: "prompt_too_long", tokenGap: fields.prompt - fields.limit };
  }
  const both = inputAndOutput(text);
  if (both) return judge(both.input, both.output, both.limit, both.total);
  for (const { text: form, order } of PROMPT_ALONE) {
    const match = form.exec(text);
    if (!match) continue;
    const [first, second] = [number(match[1]), number(match[2])];
    const gap = order === "wanted_limit" ? first - second : second - first;
    // "… is 8192 tokens. However, your request has 8000 input tokens" without an overrun tells no gap.
    return { category: "prompt_too_long", tokenGap: gap > 0 ? gap : null };
  }
  return BARE.test(text) ? { category: "prompt_too_long", tokenGap: null } : undefined;
}

/** Largest `max_tokens` a model takes, when that is what the message complains about. */
export function findOutputLimit(text: string): number | undefined {
  const match =
    new RegExp(`max_(?:completion_|output_)?tokens: ${N} > ${N}`, "i").exec(text) ??
    new RegExp(
      `max_(?:completion_)?tokens is too large: ${N}[\\s\\S]*?at most ${N} (?:completion|output) tokens`,
      "i",
    ).exec(text);
  return match ? number(match[2]) : undefined;
}

type Sizes = { readonly input: number; readonly output: number; readonly limit: number; readonly total?: number };

/** Forms that tell input and output apart. */
function inputAndOutput(text: string): Sizes | undefined {
  const sum = new RegExp(`exceed context limit: ${N} \\+ ${N} > ${N}`, "i").exec(text);
  if (sum) return { input: number(sum[1]), output: number(sum[2]), limit: number(sum[3]) };
  const limit = number(new RegExp(`maximum context length is ${N}`, "i").exec(text)?.[1]);
  if (Number.isNaN(limit)) return undefined;
  const vllm = new RegExp(
    `requested ${N} output tokens and your prompt contains (?:at least )?${N}(?:[\\s\\S]*?total of (?:at least )?${N})?`,
    "i",
  ).exec(text);
  if (vllm) return sizes(number(vllm[2]), number(vllm[1]), limit, number(vllm[3]));
  const parts = new RegExp(`(?:requested|resulted in)(?: about)? ${N} tokens \\(([^)]*)\\)`, "i").exec(text);
  const output = number(
    new RegExp(`${N}(?: tokens)?(?: are)? (?:in|for) (?:the |your )?(?:completion|output)`, "i").exec(
      parts?.[2] ?? "",
    )?.[1],
  );
  if (parts && !Number.isNaN(output)) return sizes(number(parts[1]) - output, output, limit, number(parts[1]));
  const large = new RegExp(`tokens'? is too large: ${N}[\\s\\S]*request has ${N} input tokens`, "i").exec(text);
  if (large) return sizes(number(large[2]), number(large[1]), limit, Number.NaN);
  return undefined;
}

function sizes(input: number, output: number, limit: number, total: number): Sizes {
  return Number.isNaN(total) ? { input, output, limit } : { input, output, limit, total };
}

function judge(input: number, output: number, limit: number, total = input + output): Overflow {
  const tokenGap = total > limit ? total - limit : null;
  if (input >= limit) return { category: "prompt_too_long", tokenGap };
  return { category: "max_tokens_overflow", tokenGap, maxTokensAvailable: limit - input };
}

function number(text: string | undefined): number {
  return text === undefined ? Number.NaN : Number(text.replace(/[,_]/g, ""));
}
