import type { ModelProvider } from "../../contract/model.ts";
import { callModel } from "./client.ts";
import { createTransport, type ProviderSettings } from "./settings.ts";
import type { Wire } from "./wire.ts";

/** A provider is a wire on the one transport. */
export function providerOf(wire: Wire, settings: ProviderSettings): ModelProvider {
  const transport = createTransport(settings);
  return {
    name: wire.name,
    stream: (request, signal) => callModel(transport, wire, request, signal),
    models: () => settings.models ?? [],
  };
}

/** The key's header: each wire has a header of its own for `key`. */
export function keyHeader(key: string, how: "key" | "bearer", name: string): Readonly<Record<string, string>> {
  return how === "bearer" ? { authorization: `Bearer ${key}` } : { [name]: key };
}

/** Joins a base URL and a path; trailing slashes and a repeated version segment do no harm. */
export function endpoint(base: string, path: string): string {
  const trimmed = base.replace(/\/+$/, "");
  const version = /^\/(v\d+)\//.exec(path)?.[1];
  return version && trimmed.endsWith(`/${version}`)
    ? `${trimmed}${path.slice(version.length + 1)}`
    : `${trimmed}${path}`;
}
