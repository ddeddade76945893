import type { TestProject } from "vitest/node";
import { ScriptedUpstream } from "./scripted-upstream.ts";

declare module "vitest" {
  interface ProvidedContext {
    upstreamUrl: string;
  }
}

/** Starts the scripted model server once for all tests that run inside workerd. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const upstream = await ScriptedUpstream.start();
  project.provide("upstreamUrl", upstream.url);
  return () => upstream.close();
}
