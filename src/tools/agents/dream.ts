import { z } from "zod";
import { ok } from "../../contract/result.ts";
import type { Tool } from "../../contract/tools.ts";
import { delegatingTool } from "./delegating.ts";

/** The one folder of the workspace that a dreaming agent may write to. */
const MEMORY_FOLDER = ".flyto/memory";

const Input = z.object({
  about: z.string().min(1).max(50_000).describe("What happened and what may be worth keeping"),
});
type Input = z.infer<typeof Input>;

/** Reflects on the session while nobody waits; may read everything and write memory only. */
export function createDreamTool(): Tool<Input> {
  return delegatingTool({
    name: "Dream",
    description:
      "Thinks over what was learned in this session, once the other work is done, and keeps in the memory folder what will " +
      "help later: facts about the project, decisions and their reasons, how the user likes things done. It may read the " +
      "workspace and writes nothing but memory.",
    searchHint: "reflect, remember, consolidate memory",
    input: Input,
    resource: ({ about }) => about.slice(0, 200),
    async delegate({ about }, { sandbox }) {
      const folder = `${sandbox.root}/${MEMORY_FOLDER}`;
      const prompt = `You look back on a session of work and keep what will help in later ones. Read what is in ${folder} already (it may be empty), then write or correct short files there, one subject each, named for it (.md). Keep facts, decisions with their reasons, and how the user likes things done; leave out what the files of the project say themselves, and never write a secret. End with one line that says what you kept.\n\nWhat happened:\n${about}`;
      const spec = {
        description: "reflect on the session",
        prompt,
        background: true,
        whenIdle: true,
        tools: ["Read", "Glob", "Grep", "Write", "Edit"],
        writeDir: folder,
      };
      return ok({ kind: "spawn", agents: [spec] });
    },
  });
}
