import type { ModelProvider } from "./contract/model.ts";
import type { Skill } from "./contract/skills.ts";
import type { PermissionClass, Tool } from "./contract/tools.ts";
import type { KeyedBundle } from "./prompts/index.ts";

/** What a deployment adds to the engine in code; read once, when the Worker is loaded. */
export type Extensions = {
  /** Providers of your own: objects with `name`, `stream`, `models`. Chosen by name like the built-in ones. */
  readonly providers: readonly ModelProvider[];
  /** Tools beside the built-in ones; a name that is taken stops the Worker from starting. */
  readonly tools: readonly Tool[];
  /** Permission classes of tools by name, in place of what their metadata says (S-1). */
  readonly toolClasses: Readonly<Record<string, PermissionClass>>;
  /** Prompt bundles beside the built-in ones; one for a key that is taken replaces it (B-5). */
  readonly bundles: readonly KeyedBundle[];
  /** Named prompts for the Skill tool, beside those of the `SKILLS` var and the workspace. */
  readonly skills: readonly Skill[];
};

/** Checks the extensions of a deployment; throws on a provider name that is none or there twice. */
export function createFlyto(extensions: Partial<Extensions>): Extensions {
  const providers = extensions.providers ?? [];
  for (const { name } of providers) {
    const twice = providers.filter((other) => other.name === name).length > 1;
    if (twice || !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
      throw new Error(`extensions: provider ${JSON.stringify(name)}`);
  }
  return {
    providers,
    tools: extensions.tools ?? [],
    toolClasses: extensions.toolClasses ?? {},
    bundles: extensions.bundles ?? [],
    skills: extensions.skills ?? [],
  };
}

/** Edit this to extend your deployment. */
export const extensions: Extensions = createFlyto({});
