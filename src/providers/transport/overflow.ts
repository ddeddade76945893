/** What an overflow message says, in tokens; null where it gives no number. */
export type Overflow = {
  readonly category: "prompt_too_long" | "max_tokens_overflow";
  readonly tokenGap: number | null;
  readonly maxTokensAvailable?: number;
};

/** Characters of an error text that are searched: vendors' messages are short, a stranger's need not be. */
const SEARCHED = 16_384;

/**
 * A wording; `{name}` stands for a number, ` … ` for what may lie between two parts of it. Both are bounded, so that no
 * text takes long to search.
 */
function form(text: string): RegExp {
  return new RegExp(
    text
      .replaceAll(" … ", "[\\s\\S]{1,400}?")
      .replace(/\{(\w+)\}/g, (_, name: string) => `(?<${name}>\\d[\\d,_]{0,15})`),
    "i",
  );
}

/** Wordings that tell input and output apart: `input`, `output`, `limit`, sometimes the `total` of both. */
const BOTH: readonly RegExp[] = [
  form("exceed context limit: {input} \\+ {output} > {limit}"),
  form(
    "maximum context length is {limit} … requested {output} output tokens and your prompt contains (?:at least )?{input}(?: … total of (?:at least )?{total})?",
  ),
  form(
    "maximum context length is {limit} … (?:requested|resulted in)(?: about)? {total} tokens \\([^)]{0,200}?\\b{output}(?: tokens)?(?: are)? (?:in|for) (?:the |your )?(?:completion|output)",
  ),
  form("tokens'? is too large: {output} … maximum context length is {limit} … request has {input} input tokens"),
  form(
    "maximum context length of {limit} tokens … total of {total} tokens: {input} tokens from the input messages and {output} tokens for the completion",
  ),
  form("passed {input} input tokens and requested {output} output tokens … context length is only {limit}"),
  form("max_new_tokens` must be <= {limit}\\. Given: {input} `inputs` tokens and {output}"),
];

/** Wordings about the prompt alone: `wanted` and `limit`, or the `gap` itself. */
const PROMPT_ALONE: readonly RegExp[] = [
  form("prompt is too long: {wanted} tokens? > {limit}"),
  form("input token count \\(?{wanted}\\)? exceeds the maximum number of tokens allowed \\(?{limit}"),
  form("input token count is {wanted} but (?:the )?model only supports up to {limit}"),
  form("\\(?{wanted} tokens\\)? exceeds the available context size \\(?{limit}"),
  form(
    "input length \\(?{wanted}(?: tokens)?\\)? exceeds (?:the )?(?:model'?s? )?maximum (?:context length|allowed (?:input )?length)(?: of)? \\(?{limit}",
  ),
  form("(?:input|prompt) \\((?:length )?{wanted}(?: tokens)?\\) is longer than the [\\w' ]*length (?:of )?\\(?{limit}"),
  form("keep the first {wanted} tokens … context length of only {limit}"),
  form("n_keep: {wanted}\\s*>=?\\s*n_ctx: {limit}"),
  form("prompt contains {wanted} tokens … too large for model with {limit} maximum context length"),
  form("input tokens \\({wanted}\\) has exceeded max_prompt_tokens \\({limit}"),
  form("prompt tokens? (?:count of )?\\(?{wanted}\\)? exceeds (?:the )?(?:limit of|context size) \\(?{limit}"),
  form("maximum prompt length is {limit} but the request contains {wanted}"),
  form("exceeded model token limit: {limit} \\(requested: {wanted}"),
  form("configured limit of {limit} tokens … resulted in {wanted}"),
  form(
    "maximum context length is {limit} tokens … (?:resulted in|requested about|requested|prompt contains(?: at least)?) {wanted}(?: input)? tokens",
  ),
  form("exceeded max context length by {gap} tokens"),
];

/** Overflow wordings without numbers. */
const BARE =
  /prompt is too long|input is too long for requested model|context window exceeds limit|(?:exceed(?:s|ed)?|longer than) (?:the |this )?(?:model'?s? )?(?:available |max )?context (?:window|size|length)|maximum context length|maximum prompt length|exceeded model token limit|tokens to keep from the initial prompt is greater|input token count.{0,40}exceeds the maximum|context_length_exceeded|exceed_context_size|reduce the length of the (?:messages|(?:input )?prompt)|context length of only/i;

/** Reads an overflow out of an error text (provider-protocols 1.4). Gap = wanted − limit. */
export function findOverflow(
  whole: string,
  fields: { readonly prompt?: number | undefined; readonly limit?: number | undefined } = {},
): Overflow | undefined {
  if (fields.prompt !== undefined && fields.limit !== undefined && fields.prompt > fields.limit) {
    return { category: "prompt_too_long", tokenGap: fields.prompt - fields.limit };
  }
  const text = whole.slice(0, SEARCHED);
  const both = numbers(BOTH, text);
  if (both?.output !== undefined && both.limit !== undefined)
    return judge(both.input, both.output, both.limit, both.total);
  const alone = numbers(PROMPT_ALONE, text);
  if (alone) {
    const gap = alone.gap ?? (alone.wanted ?? 0) - (alone.limit ?? 0);
    // "… is 8192 tokens. However, your request has 8000 input tokens" without an overrun tells no gap.
    return { category: "prompt_too_long", tokenGap: gap > 0 ? gap : null };
  }
  return BARE.test(text) ? { category: "prompt_too_long", tokenGap: null } : undefined;
}

const OUTPUT_LIMITS: readonly RegExp[] = [
  form("max_(?:completion_|output_)?tokens: {wanted} > {limit}"),
  form("max_(?:completion_)?tokens is too large: {wanted} … at most {limit} (?:completion|output) tokens"),
];

/** Largest `max_tokens` a model takes, when that is what the message complains about. */
export function findOutputLimit(text: string): number | undefined {
  return numbers(OUTPUT_LIMITS, text.slice(0, SEARCHED))?.limit;
}

/** The numbers of the first wording that fits. */
function numbers(forms: readonly RegExp[], text: string): Readonly<Record<string, number | undefined>> | undefined {
  for (const wording of forms) {
    const groups = wording.exec(text)?.groups;
    if (!groups) continue;
    const found: Record<string, number | undefined> = {};
    for (const [name, digits] of Object.entries(groups)) {
      if (digits !== undefined) found[name] = Number(digits.replace(/[,_]/g, ""));
    }
    return found;
  }
  return undefined;
}

function judge(given: number | undefined, output: number, limit: number, sum: number | undefined): Overflow {
  const input = given ?? (sum ?? 0) - output;
  const total = sum ?? input + output;
  const tokenGap = total > limit ? total - limit : null;
  if (input >= limit) return { category: "prompt_too_long", tokenGap };
  return { category: "max_tokens_overflow", tokenGap, maxTokensAvailable: limit - input };
}
