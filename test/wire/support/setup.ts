import { rm } from "node:fs/promises";
import type { TestProject } from "vitest/node";
import { buildBundle } from "../../support/server-bundle.ts";

declare module "vitest" {
  interface ProvidedContext {
    bundleDir: string;
  }
}

/** Bundles the Worker once for all tests that start it as a process. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bundleDir = await buildBundle();
  project.provide("bundleDir", bundleDir);
  return () => rm(bundleDir, { recursive: true, force: true });
}
