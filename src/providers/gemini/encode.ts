import type { Block, ImageBlock, Message, ToolResultBlock, ToolUseBlock } from "../../contract/messages.ts";
import type { ModelRequest, ToolDefinition } from "../../contract/model.ts";
import { type Answered, hasText, NO_RESULT, resultParts, toTurns } from "../transport/conversation.ts";
import { type NameRule, wireName } from "../transport/names.ts";
import { createTurnJoiner } from "../transport/prefix.ts";
import { remember } from "../transport/remember.ts";
import { geminiParameters } from "./schema.ts";
import { CALL_ID, generation, SIGNATURE, SKIP_SIGNATURE, thinkingStyle } from "./wire.ts";

/** Letters, digits and `_ . : -`, at most 64. */
export const GEMINI_NAME: NameRule = { allowed: /^[A-Za-z0-9_.:-]+$/, max: 64 };

type Encoded = {
  readonly own: readonly { readonly block: Block; readonly json: string }[];
  readonly results: ReadonlyMap<ToolResultBlock, { readonly response: string; readonly images: readonly string[] }>;
};

export type GeminiEncoder = { body(request: ModelRequest, maxOutput: number): string };

/** Encodes requests for generateContent (provider-protocols 6); message texts are kept by identity. */
export function createGeminiEncoder(): GeminiEncoder {
  const joined = createTurnJoiner();
  const encoded = remember((message: Message): Encoded => encodeMessage(message));
  const declarations = remember((tools: readonly ToolDefinition[]): string => {
    const list = tools.map((tool) => {
      const parameters = geminiParameters(tool.inputSchema);
      return {
        name: wireName(tool.name, GEMINI_NAME),
        description: tool.description,
        ...(parameters ? { parameters } : {}),
      };
    });
    return JSON.stringify([{ functionDeclarations: list }]);
  });
  return {
    body(request, maxOutput) {
      const system = request.system.filter((block) => hasText(block.text)).map((block) => ({ text: block.text }));
      const head = JSON.stringify({
        ...(system.length > 0 ? { systemInstruction: { parts: system } } : {}),
        generationConfig: generationConfig(request, maxOutput),
      });
      const tools = request.tools.length > 0 ? `,"tools":${declarations(request.tools)}` : "";
      return `${head.slice(0, -1)}${tools},"contents":[${contents(request, encoded, joined)}]}`;
    },
  };
}

function contents(
  request: ModelRequest,
  encoded: (message: Message) => Encoded,
  joined: ReturnType<typeof createTurnJoiner>,
): string {
  const turns = toTurns(
    request.messages,
    (block, message) => block.type === "tool_result" || encoded(message).own.some((item) => item.block === block),
  );
  const signs = generation(request.model) >= 3;
  const opening = turns[0]?.role === "user" ? "" : content("user", ['{"text":"Continue."}']);
  const rest = joined(request.messages, signs ? "signed" : "", turns, (turn) => {
    const own = turn.messages.flatMap((message) => encoded(message).own);
    if (turn.role === "assistant") {
      // A call whose id came twice has one result, so it is sent once.
      const once = own.filter(({ block }) => block.type !== "tool_use" || turn.calls.includes(block));
      return content("model", signs ? withBypass(once) : once.map((item) => item.json));
    }
    const images: string[] = [];
    const out: string[] = [];
    // All results of one model turn stand in one user turn; what the person says is kept apart from them.
    if (turn.results.length > 0)
      out.push(
        content(
          "user",
          turn.results.map((answered) => response(answered, encoded, images)),
        ),
      );
    const parts = [...images, ...own.map((item) => item.json)];
    if (parts.length > 0) out.push(content("user", parts));
    return out.join(",");
  });
  return opening !== "" && rest !== "" ? `${opening},${rest}` : opening + rest;
}

function content(role: "user" | "model", parts: readonly string[]): string {
  return `{"role":"${role}","parts":[${parts.join(",")}]}`;
}

/** Gemini 3 refuses a step whose first call has no signature; a turn that came from elsewhere gets the documented stand-in. */
function withBypass(own: Encoded["own"]): readonly string[] {
  const first = own.findIndex((item) => item.block.type === "tool_use");
  return own.map(({ block, json }, at) =>
    at === first && block.type === "tool_use" && block.provider_metadata?.[SIGNATURE] === undefined
      ? `${json.slice(0, -1)},"thoughtSignature":"${SKIP_SIGNATURE}"}`
      : json,
  );
}

function encodeMessage(message: Message): Encoded {
  const own: { block: Block; json: string }[] = [];
  const results = new Map<ToolResultBlock, { response: string; images: string[] }>();
  for (const block of message.content) {
    if (block.type === "tool_result") results.set(block, encodeResult(block));
    else {
      const part = encodeBlock(block);
      if (part) own.push({ block, json: JSON.stringify(part) });
    }
  }
  return { own: own.every(({ block }) => block.type === "thinking") ? [] : own, results };
}

function encodeBlock(block: Exclude<Block, ToolResultBlock>): unknown {
  const signature = block.type === "image" ? undefined : block.provider_metadata?.[SIGNATURE];
  const signed = signature === undefined ? {} : { thoughtSignature: signature };
  switch (block.type) {
    case "text":
      return hasText(block.text) || signature !== undefined ? { text: block.text, ...signed } : undefined;
    case "image":
      return inline(block);
    case "thinking":
      // Summaries of thoughts are not sent back; what carries a signature is.
      return signature === undefined ? undefined : { text: block.text, thought: true, ...signed };
    case "tool_use":
      return {
        functionCall: { ...callId(block), name: wireName(block.name, GEMINI_NAME), args: block.input },
        ...signed,
      };
    default:
      return block satisfies never;
  }
}

/** Ids the provider gave are echoed; made-up ones stay here. */
function callId(call: ToolUseBlock): { readonly id?: string } {
  const id = call.provider_metadata?.[CALL_ID];
  return id === undefined ? {} : { id };
}

function inline(block: ImageBlock): unknown {
  return { inlineData: { mimeType: block.media_type, data: block.data } };
}

function encodeResult(block: ToolResultBlock): { response: string; images: string[] } {
  const parts = resultParts(block);
  const text = parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .filter((t) => t !== "")
    .join("\n");
  const images = parts.filter((part): part is ImageBlock => part.type === "image");
  const shown = text || (images.length > 0 ? "(image, see below)" : "");
  return {
    response: JSON.stringify(block.is_error ? { error: shown || "error" } : { output: shown }),
    images: images.map((i) => JSON.stringify(inline(i))),
  };
}

function response({ call, result }: Answered, encoded: (message: Message) => Encoded, images: string[]): string {
  const known = result && encoded(result.message).results.get(result.block);
  if (known) images.push(...known.images);
  const head = JSON.stringify({ ...callId(call), name: wireName(call.name, GEMINI_NAME) });
  return `{"functionResponse":${head.slice(0, -1)},"response":${known?.response ?? JSON.stringify({ error: NO_RESULT })}}}`;
}

/** Thinking counts against `maxOutputTokens`: the budget is added, so that the answer keeps its own allowance. */
function generationConfig(request: ModelRequest, maxOutput: number): Record<string, unknown> {
  const { config, reserve } = thinking(request);
  const stop = request.stopSequences ?? [];
  return {
    maxOutputTokens: Math.max(request.maxTokens, Math.min(request.maxTokens + reserve, maxOutput)),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(stop.length > 0 ? { stopSequences: stop.slice(0, 5) } : {}),
    ...(config ? { thinkingConfig: config } : {}),
  };
}

/** Budgets: Flash 0 to 24,576, Pro 128 to 32,768 and never off. Left out means on, so "no thinking" is said. */
function thinking(request: ModelRequest): { readonly config?: Record<string, unknown>; readonly reserve: number } {
  const wanted = request.thinkingBudget ?? 0;
  const style = thinkingStyle(request.model);
  if (style === "none") return { reserve: 0 };
  if (style === "level") {
    const level = request.effort ?? (wanted > 8_192 ? "high" : "low");
    const asked = wanted > 0 || request.effort !== undefined;
    return { config: { thinkingLevel: level, ...(asked ? { includeThoughts: true } : {}) }, reserve: wanted };
  }
  const pro = /-pro/.test(request.model);
  const budget = pro ? Math.min(Math.max(wanted, 128), 32_768) : Math.min(wanted, 24_576);
  return { config: { thinkingBudget: budget, ...(wanted > 0 ? { includeThoughts: true } : {}) }, reserve: budget };
}
