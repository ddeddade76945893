import { z } from "zod";
import { McpServers } from "./mcp.ts";
import { PermissionMode, PermissionRules, RISKS } from "./permission.ts";
import { SandboxBackend } from "./sandbox-backend.ts";
import { Skill } from "./skills.ts";

/** A number, as itself or as text in a Worker var, with the contract's default. Blanks are no number, and so never 0. */
const number = (fallback: number, min = 0, max = Number.POSITIVE_INFINITY) => {
  const error = Number.isFinite(max) ? `must be a number from ${min} to ${max}` : `must be a number of at least ${min}`;
  return z.preprocess(fromText, z.number({ error }).min(min, { error }).max(max, { error })).default(fallback);
};
const integer = (fallback: number, min = 0) => {
  const error = `must be an integer of at least ${min}`;
  return z.preprocess(fromText, z.number({ error }).int({ error }).min(min, { error })).default(fallback);
};
const fromText = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? Number(value) : value);
const flag = z
  .union([z.boolean(), z.enum(["true", "false", "1", "0", ""])], { error: "must be true or false" })
  .default(false)
  .transform((value) => value === true || value === "true" || value === "1");
const given = z.string({ error: "must be text" });
const text = given.optional();
const list = given.default("");

const STRICT_PARTS: readonly string[] = ["tool_result_pairing", "compaction"];
const isStrictMode = (value: string) =>
  value.split(",").every((part) => part.trim() === "" || STRICT_PARTS.includes(part.trim()));

/** Whether a text is 32 bytes in base64. */
function isKey(value: string): boolean {
  try {
    return atob(value).length === 32;
  } catch {
    return false;
  }
}

/** JSON in a text var. */
function json<T>(schema: z.ZodType<T>) {
  return z
    .union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())], { error: "must be JSON" })
    .transform((value, context) => {
      if (typeof value !== "string") return value;
      try {
        return JSON.parse(value) as unknown;
      } catch {
        context.addIssue({ code: "custom", message: "must be JSON" });
        return z.NEVER;
      }
    })
    .pipe(schema);
}

/** Every setting of a deployment that is a plain value, with its default: the one place (G-1, G-2, H-15). */
export const Config = z.object({
  BEARER_TOKEN: text,
  ALLOW_ANONYMOUS: flag,
  CORS_ORIGINS: list,
  /** Requests per minute and client; 0 = off. */
  RATE_LIMIT_PER_MINUTE: integer(60),
  /** Header that names the client; empty: one shared bucket (for runs behind no Cloudflare). */
  CLIENT_IP_HEADER: given.default("CF-Connecting-IP"),
  MAX_BODY_BYTES: integer(10 * 1024 * 1024, 1),
  MAX_PROMPT_CHARS: integer(100_000, 1),
  MAX_TURNS: integer(50, 1),
  MAX_OUTPUT_TOKENS: integer(8_192, 1),
  PERMISSION_TIMEOUT_SECONDS: number(300),
  PERMISSION_MODE: PermissionMode.default("default"),
  /** `{"allow": [...], "ask": [...], "deny": [...]}` as JSON, each a list like `Bash(git status)`. */
  PERMISSION_RULES: json(PermissionRules).optional(),
  /** Let the fast model answer questions of at most this risk; `off`: every question goes to a person. */
  PERMISSION_CLASSIFIER: z.enum(["off", ...RISKS]).default("off"),
  /** Time the check of one call may take, its look-ups in the sandbox included. */
  PERMISSION_CHECK_SECONDS: number(10, 0.05),
  KEEPALIVE_SECONDS: number(15, 0.05),
  HEARTBEAT_SECONDS: number(20, 0.1),
  /** How often the token of an open stream is looked at again. */
  TOKEN_CHECK_SECONDS: number(20, 0.05),
  UPSTREAM_IDLE_SECONDS: number(60, 0.05),
  UPSTREAM_FIRST_EVENT_SECONDS: number(300, 0.05),
  UPSTREAM_TOTAL_SECONDS: number(1_800, 0.05),
  /** Tries of one model call, the first one included. */
  UPSTREAM_TRIES: integer(4, 1),
  /** Longest wait a provider's Retry-After may ask for, seconds. */
  RETRY_AFTER_MAX_SECONDS: number(60),
  TOOL_OUTPUT_MAX_BYTES: integer(100 * 1024, 1024),
  TOOL_TIMEOUT_SECONDS: number(120, 0.05),
  TOOL_TIMEOUT_MAX_SECONDS: number(600, 0.05),
  MAX_PARALLEL_TOOLS: integer(4, 1),
  SANDBOX_BACKEND: SandboxBackend.default("virtual"),
  /** Domains that `curl` in the virtual sandbox may reach, comma list; empty: no network. */
  SANDBOX_ALLOWED_DOMAINS: list,
  /** Bytes of all files of one session's virtual workspace. */
  WORKSPACE_MAX_BYTES: integer(256 * 1024 * 1024, 1024),
  /** A run is given up after so long, waiting included. */
  RUN_MAX_SECONDS: number(24 * 3600, 0.05),
  /** A message that waits behind a run is given up after so long. */
  QUEUE_TIMEOUT_SECONDS: number(3600, 0.05),
  RUN_MAX_RESTARTS: integer(5),
  /** Event rows a session keeps for clients that come back; older ones are answered with a snapshot. */
  EVENTS_KEPT: integer(100_000, 1),
  /** How long a session keeps the events of a run after its end, seconds; 0: as long as the session. */
  EVENTS_MAX_AGE_SECONDS: number(0),
  /** Seals what requests bring along, and the audit. */
  ENCRYPTION_KEY: given.refine(isKey, "must be 32 bytes in base64").optional(),
  DEFAULT_PROVIDER: text,
  DEFAULT_MODEL: text,
  MODEL_MAIN: text,
  MODEL_FAST: text,
  MODEL_THINKING: text,
  MODEL_OVERRIDES: text,
  ALLOWED_MODELS: text,
  ALLOW_REQUEST_BASE_URL: flag,
  ALLOWED_DOMAINS: list,
  /** DNS-over-HTTPS (JSON form) that names are looked up with before WebFetch asks for them. */
  DNS_RESOLVER_URL: text,
  /** Replaces the static sections of the prompt bundle. */
  SYSTEM_PROMPT: text,
  /** Added to the prompt of every run. */
  APPEND_PROMPT: text,
  /** The language answers are to be in. */
  PROMPT_LANGUAGE: text,
  /** Which prompt bundle runs use; the family is guessed from the model when it is not set. */
  DEFAULT_MODEL_FAMILY: text,
  DEFAULT_SCENARIO: given.default("programming"),
  /** `[{"name", "description", "prompt", "tools"?}]` as JSON: named prompts that the Skill tool runs. */
  SKILLS: json(z.array(Skill).max(64)).optional(),
  /** `[{"name", "url", "headers"?, "timeout_seconds"?, "read_only_tools"?}]` as JSON: servers whose tools runs may use. */
  MCP_SERVERS: json(McpServers).optional(),
  /** Share of the model's window at which the context is made smaller. */
  COMPACT_AT: number(0.8, 0.1, 1),
  /** One call of the fast model: a summary, a classification. */
  FAST_CALL_SECONDS: number(90, 0.05),
  MAX_PARALLEL_MODEL_CALLS: integer(4, 1),
  /** Sub-agents a session may have at work at once. */
  MAX_SUBAGENTS: integer(64, 0),
  /** Silent repairs that end the run instead: `tool_result_pairing`, `compaction`; comma list. */
  STRICT_MODE: list.refine(isStrictMode, `must be a comma list of ${STRICT_PARTS.join(", ")}`),
  /** Scan what Write and Edit would store for secrets, and hide those found in tool output. */
  SECRET_GUARD: z.enum(["on", "off"]).default("on"),
  /** Parts of paths the guard leaves alone, comma list. */
  SECRET_GUARD_EXEMPT: list,
  /** Rules beside the built-in ones, JSON `[{"id", "regex", "keywords"?}]`. */
  SECRET_RULES: list,
});
export type Config = z.infer<typeof Config>;
