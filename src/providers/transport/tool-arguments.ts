import type { ProviderMetadata, ToolUseBlock } from "../../contract/messages.ts";

export type Arguments =
  | { readonly kind: "object"; readonly input: Record<string, unknown> }
  | { readonly kind: "empty" }
  | { readonly kind: "broken"; readonly raw: string };

/** Reads a call's argument text: absent, blank and `null` mean no arguments; anything but an object is broken (provider-protocols 3). */
export function readArguments(text: string): Arguments {
  if (text.trim() === "") return { kind: "empty" };
  try {
    return fromValue(JSON.parse(text), text);
  } catch {
    return { kind: "broken", raw: text };
  }
}

export function fromValue(value: unknown, raw = JSON.stringify(value)): Arguments {
  if (value === null || value === undefined) return { kind: "empty" };
  if (!isRecord(value)) return { kind: "broken", raw };
  return { kind: "object", input: value };
}

export function toolUse(id: string, name: string, args: Arguments, metadata?: ProviderMetadata): ToolUseBlock {
  return {
    type: "tool_use",
    id,
    name,
    input: args.kind === "object" ? args.input : {},
    ...(args.kind === "broken" ? { input_error: true as const, raw_input: args.raw } : {}),
    ...(metadata ? { provider_metadata: metadata } : {}),
  };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A token figure as reported, or undefined when it is none. */
export function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined;
}
