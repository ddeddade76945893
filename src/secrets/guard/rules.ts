import { charClasses, entropy, isDigest, isJwt, isPlaceholder, isUsablePassword, isUuid } from "./filters.ts";
import type { SecretRule } from "./rule.ts";

/** Not inside a longer word. Dashes and underscores count as part of a word where a token may hold them. */
const START = "(?<![A-Za-z0-9_])";
const END = "(?![A-Za-z0-9_])";
const END_DASH = "(?![A-Za-z0-9_-])";

const rule = (
  id: string,
  name: string,
  keywords: readonly string[],
  body: string,
  extra: Partial<Pick<SecretRule, "accept" | "fallback" | "ownFilter">> & {
    end?: string;
    start?: string;
    flags?: string;
  } = {},
): SecretRule => {
  const { end = END, start = START, flags = "", accept, fallback, ownFilter } = extra;
  return {
    id,
    name,
    keywords,
    pattern: new RegExp(`${start}${body}${end}`, `g${flags}`),
    ...(accept === undefined ? {} : { accept }),
    ...(ownFilter === undefined ? {} : { ownFilter }),
    ...(fallback === undefined ? {} : { fallback }),
  };
};

/** A random value, not a word or a run of zeros. */
const random = (least: number) => (secret: string) => entropy(secret) >= least;
const QUOTE = "(?:\\\\{0,3}[\"'`])?";
/**
 * Between a name and its value: `=` and its kin with an optional type in front, the end of a tag, or a further field
 * `value`, as in `name: X, value: Y`.
 */
const ASSIGN = `${QUOTE}\\]?\\s{0,8}(?:=>|:=|(?::\\s{0,4}[A-Za-z][A-Za-z.]{0,20}\\s{1,4})?=|[:>]|,?\\s{0,40}${QUOTE}value${QUOTE}\\s{0,4}[:=])\\s{0,8}${QUOTE}`;

/** The built-in rules, 45 of them. Prefixes first in each expression, so that a text without them costs one pass. */
export const BUILTIN_RULES: readonly SecretRule[] = [
  rule(
    "aws-access-key-id",
    "AWS access key id",
    ["akia", "asia", "abia", "acca"],
    "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
    { accept: random(3) },
  ),
  rule(
    "aws-secret-access-key",
    "AWS secret access key",
    ["aws"],
    `aws[A-Za-z0-9_.-]{0,30}(?:secret|key)[A-Za-z0-9_.-]{0,30}(?:${ASSIGN}|["'\`]?\\s{1,8}["'\`]?)(?<secret>[A-Za-z0-9/+]{40})`,
    {
      start: "",
      end: "(?![A-Za-z0-9/+=_-])",
      flags: "id",
      accept: (secret) => entropy(secret) >= 4 && !isDigest(secret),
    },
  ),
  rule("aws-bedrock-key", "Amazon Bedrock API key", ["absk"], "ABSK[A-Za-z0-9+/]{109,269}={0,2}", {
    end: "(?![A-Za-z0-9+/=])",
    accept: random(4),
  }),
  rule("github-pat", "GitHub classic personal token", ["ghp_"], "ghp_[A-Za-z0-9]{36}", { accept: random(3) }),
  rule("github-fine-grained-pat", "GitHub fine-grained token", ["github_pat_"], "github_pat_[A-Za-z0-9_]{82}", {
    accept: random(3),
  }),
  rule(
    "github-app-token",
    "GitHub OAuth, app and refresh tokens",
    ["gho_", "ghu_", "ghs_", "ghr_"],
    "gh[ousr]_[A-Za-z0-9]{36}",
    { accept: random(3) },
  ),
  rule(
    "gitlab-token",
    "GitLab access tokens",
    ["gl"],
    "(?:glpat|gldt|glrt|glrtr|glcbt|glptt|glft|glimt|glagent|glsoat|glffct|gloas)-[A-Za-z0-9_=.-]{20,300}",
    { end: END_DASH, accept: random(3) },
  ),
  rule(
    "slack-token",
    "Slack tokens",
    ["xox", "xapp-"],
    "(?:xox[bpares]-(?:[0-9A-Za-z]{1,20}-){1,4}[A-Za-z0-9]{14,250}|xox[os](?:-\\d{8,14}){3}-[A-Fa-f0-9]{6,64}|xoxe\\.xox[bp]-\\d-[A-Za-z0-9]{100,250}|xapp-\\d-[A-Z0-9]{6,20}-\\d{6,20}-[A-Za-z0-9]{20,128})",
    { end: END_DASH, accept: random(3) },
  ),
  rule(
    "slack-webhook",
    "Slack webhook address",
    ["hooks.slack.com"],
    "(?:https?://)?hooks\\.slack\\.com/(?:services|workflows|triggers)/T[A-Za-z0-9]{6,12}/[A-Z][A-Za-z0-9]{6,20}/[A-Za-z0-9]{20,46}",
    { accept: random(3.8) },
  ),
  rule(
    "stripe-key",
    "Stripe secret and restricted keys",
    ["k_live_", "k_test_"],
    "[sr]k_(?:live|test)_[A-Za-z0-9]{24,99}",
    { accept: random(3) },
  ),
  rule("stripe-webhook-secret", "Stripe webhook signing secret", ["whsec_"], "whsec_[A-Za-z0-9+/]{32,100}={0,2}", {
    end: "(?![A-Za-z0-9+/=])",
    accept: random(3),
  }),
  rule("openai-key", "OpenAI keys", ["t3blbkfj"], "sk-[A-Za-z0-9_-]{10,100}T3BlbkFJ[A-Za-z0-9_-]{10,100}", {
    end: END_DASH,
    start: "(?<![A-Za-z0-9_-])",
    accept: random(3),
  }),
  rule("anthropic-key", "Anthropic keys", ["sk-ant-"], "sk-ant-(?:api|admin|oat|sid)\\d{2}-[A-Za-z0-9_-]{80,120}", {
    end: END_DASH,
    accept: (secret) => entropy(secret) >= 3.5,
  }),
  rule("openrouter-key", "OpenRouter key", ["sk-or-v1-"], "sk-or-v1-[a-f0-9]{64}", { accept: random(3) }),
  rule("google-api-key", "Google API key (Gemini, Maps, Cloud)", ["aiza"], "AIza[A-Za-z0-9_-]{35}", {
    end: END_DASH,
    accept: random(3),
  }),
  rule(
    "gcp-service-account",
    "Google service account file",
    ["service_account"],
    '"private_key"\\s{0,4}:\\s{0,4}"(?<secret>-----BEGIN (?:RSA )?PRIVATE KEY-----[A-Za-z0-9+/=\\\\\\s]{64,5000}-----END (?:RSA )?PRIVATE KEY-----(?:\\\\n)?)"',
    { start: "", end: "", flags: "d", ownFilter: true, accept: (secret) => pemBody(secret) },
  ),
  rule("google-oauth-secret", "Google OAuth client secret", ["gocspx-"], "GOCSPX-[A-Za-z0-9_-]{28}", {
    end: END_DASH,
    accept: random(3),
  }),
  rule("huggingface-token", "Hugging Face token", ["hf_"], "hf_[A-Za-z]{34}", {
    accept: (secret) => entropy(secret) >= 3.5 && charClasses(secret.slice(3)) === 2,
  }),
  rule("groq-key", "Groq key", ["gsk_"], "gsk_[A-Za-z0-9]{52}", { accept: random(3.5) }),
  rule("xai-key", "xAI key", ["xai-"], "xai-[A-Za-z0-9]{80}", { accept: random(3.5) }),
  rule("perplexity-key", "Perplexity key", ["pplx-"], "pplx-[A-Za-z0-9]{48}", { accept: random(3.5) }),
  rule(
    "minimax-key",
    "MiniMax key",
    ["minimax"],
    `minimax[\\s\\S]{0,60}?(?:key|token|secret)[A-Za-z0-9_]{0,20}${ASSIGN}(?<secret>[A-Za-z0-9_.-]{40,1200})`,
    {
      start: "",
      end: "(?![A-Za-z0-9_.-])",
      flags: "id",
      accept: (secret) => entropy(secret) >= 4 && charClasses(secret) === 3,
    },
  ),
  rule(
    "sk-vendor-key",
    "DeepSeek, DashScope, Moonshot style key",
    [
      "deepseek",
      "dashscope",
      "moonshot",
      "qwen",
      "kimi",
      "bailian",
      "aliyun",
      "siliconflow",
      "zhipu",
      "volcengine",
      "stepfun",
      "baichuan",
      "lingyi",
    ],
    "sk-[A-Za-z0-9]{32,64}",
    {
      start: "(?<![A-Za-z0-9_-])",
      end: END_DASH,
      accept: (secret, _match, around) =>
        entropy(secret) >= 3 &&
        /deepseek|dashscope|moonshot|qwen|kimi|bailian|aliyun|siliconflow|zhipu|volcengine|stepfun|baichuan|lingyi/i.test(
          around,
        ),
    },
  ),
  rule("aliyun-access-key-id", "Alibaba Cloud access key id", ["ltai"], "LTAI[A-Za-z0-9]{12,21}", {
    accept: (secret) => entropy(secret) >= 3 && (/\d/.test(secret) || isMixed(secret.slice(4))),
  }),
  rule("tencent-secret-id", "Tencent Cloud secret id", ["akid"], "AKID[A-Za-z0-9]{32}", { accept: random(3.5) }),
  rule("azure-client-secret", "Azure client secret", ["q~"], "[A-Za-z0-9_~.]{3}\\dQ~[A-Za-z0-9_~.-]{31,34}", {
    start: "(?<![A-Za-z0-9_~.-])",
    // A full stop may end the sentence.
    end: "(?![A-Za-z0-9_~-]|\\.[A-Za-z0-9_~-])",
    accept: random(3.5),
  }),
  rule(
    "azure-storage-key",
    "Azure storage connection string",
    ["accountkey="],
    "AccountKey=(?<secret>[A-Za-z0-9+/]{86}==)",
    { start: "", end: "", flags: "id", accept: random(4) },
  ),
  rule(
    "cloudflare-token",
    "Cloudflare tokens",
    ["cfut_", "cfat_", "cfk_"],
    "cf(?:ut|at|k)_[A-Za-z0-9_-]{40}[a-f0-9]{8}",
    { end: END_DASH, accept: random(3.5) },
  ),
  rule("digitalocean-token", "DigitalOcean tokens", ["_v1_"], "do[por]_v1_[a-f0-9]{64}", { accept: random(3) }),
  rule("vercel-token", "Vercel tokens", ["vcp_", "vci_", "vca_", "vcr_", "vck_"], "vc[piark]_[A-Za-z0-9]{20,60}", {
    accept: (secret) => entropy(secret) >= 3.5 && charClasses(secret.slice(4)) === 3,
  }),
  rule("databricks-token", "Databricks token", ["dapi"], "dapi[a-f0-9]{32}(?:-\\d)?", {
    end: END_DASH,
    accept: random(3),
  }),
  rule(
    "npm-token",
    "npm token",
    ["npm_", "_authtoken"],
    `(?:npm_[A-Za-z0-9]{36}|(?<=_authToken\\s{0,3}=\\s{0,3}["']?)(?!npm_)[A-Za-z0-9_=./+-]{20,200})`,
    {
      end: "(?![A-Za-z0-9_-])",
      start: "(?<![A-Za-z0-9_-])",
      accept: (secret) => entropy(secret) >= 3 && /\d/.test(secret),
    },
  ),
  rule("pypi-token", "PyPI upload token", ["pypi-ageichlwas5vcmc"], "pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,1000}", {
    end: END_DASH,
    accept: random(3.5),
  }),
  rule("docker-pat", "Docker personal token", ["dckr_"], "dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,32}", {
    end: END_DASH,
    accept: random(3),
  }),
  rule("twilio-key", "Twilio key", ["sk"], "SK[a-f0-9]{32}", { accept: random(3) }),
  rule("sendgrid-key", "SendGrid key", ["sg."], "SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}", {
    end: END_DASH,
    accept: random(3.5),
  }),
  rule("telegram-bot-token", "Telegram bot token", [":aa"], "(?:bot)?(?<secret>\\d{8,10}:AA[A-Za-z0-9_-]{33})", {
    end: END_DASH,
    start: "(?<![A-Za-z0-9])",
    flags: "d",
    accept: random(3.5),
  }),
  rule(
    "vault-token",
    "HashiCorp Vault token",
    ["hvs.", "hvb."],
    "hv(?:s\\.[A-Za-z0-9_-]{90,120}|b\\.[A-Za-z0-9_-]{138,300})",
    { end: END_DASH, accept: random(3.5) },
  ),
  rule(
    "grafana-token",
    "Grafana tokens",
    ["glsa_", "glc_"],
    "(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,2})",
    { end: "(?![A-Za-z0-9+/=_])", accept: random(3.5) },
  ),
  rule("shopify-token", "Shopify tokens", ["shp"], "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", { accept: random(3) }),
  rule(
    "private-key",
    "Private key block",
    ["private key"],
    // A block that was cut off has no end.
    "-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----)[\\s\\S]){64,20000}-----END (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----|(?:(?:\\\\[nr]|\\s){1,40}(?:[A-Z][A-Za-z-]{2,20}: [^\\n\\\\]{1,100}|[A-Za-z0-9+/=]{16,100})){2,400})",
    { start: "", end: "", ownFilter: true, accept: (secret) => pemBody(secret) },
  ),
  rule(
    "jwt",
    "JSON Web Token",
    ["eyj"],
    "eyJ[A-Za-z0-9_-]{6,2000}\\.eyJ[A-Za-z0-9_-]{6,8000}\\.[A-Za-z0-9_-]{16,2000}",
    { end: END_DASH, start: "(?<![A-Za-z0-9_-])", accept: (secret) => isJwt(secret) },
  ),
  rule(
    "database-url",
    "Database address with a password",
    ["://"],
    "(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\\+srv)?|rediss?|amqps?|mssql|sqlserver|cockroachdb|clickhouse)(?:\\+[a-z0-9]{1,12})?://[^\\s:@/\"'`<>]{0,80}:[^\\s@/\"'`<>]{1,200}@[^\\s\"'`<>]{1,300}",
    { end: "", flags: "i", ownFilter: true, accept: usableUrl },
  ),
  rule(
    "basic-auth-url",
    "Web address with a password",
    ["://"],
    "(?:https?|ftps?)://[^\\s:@/\"'`<>]{1,80}:[^\\s@/\"'`<>]{1,200}@[^\\s\"'`<>]{1,300}",
    { end: "", flags: "i", ownFilter: true, accept: usableUrl },
  ),
  rule(
    "generic-secret",
    "Assignment of a random value to a secret-like name",
    ["key", "token", "secret", "pass", "pwd", "credential", "auth"],
    `[A-Za-z0-9_.-]{0,40}(?:api[_-]?key|access[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|secret|token|passw(?:or)?d|passphrase|[_-]pass|pwd|credentials?|auth[_-]?key|[_-]key|key)[A-Za-z0-9_-]{0,20}(?:${ASSIGN}|(?<=--[A-Za-z0-9-]{2,40})[ \\t]{1,4}["']?)(?<secret>[A-Za-z0-9_+/=.~!@#$%^&*-]{16,256})`,
    { start: "(?<![A-Za-z0-9_.-])", end: "", flags: "id", fallback: true, accept: isGenericSecret },
  ),
];

function pemBody(block: string): boolean {
  // An encrypted block starts with header lines.
  const body = block
    .replace(/-----[^-]*-----/g, "")
    .replaceAll("\\n", "\n")
    .replace(/^[\w-]+:.*$/gm, "")
    .replace(/\s/g, "");
  // Real ones hold long runs of one letter: the format of OpenSSH begins with zeros.
  return (
    body.length >= 64 &&
    !/\.\.\.|<[^>]*>|\$[{(]|\{\{|\*{3}|example|placeholder|redacted/i.test(body) &&
    entropy(body) >= 4
  );
}

function usableUrl(url: string): boolean {
  const match = /:\/\/([^:@/]*):([^@/]*)@/.exec(url);
  return match !== null && isUsablePassword(match[1] ?? "", match[2] ?? "");
}

/** Letters of both cases in no order of words. */
function isMixed(text: string): boolean {
  return (text.match(/[a-z][A-Z]|[A-Z][a-z]/g)?.length ?? 0) >= text.length / 3;
}

/** Names that say where a secret is kept, or that are public. */
const NAME_ENDS =
  /^(names?|ref|file|path|id|type|url|uri|host|hostname|endpoint|header|prefix|suffix|label|checksum|etag|color|format|count|limit|max|length|size|version|field|column|expiry|ttl)$/;
const NAME_PARTS =
  /^(public|publishable|pub(key)?\d*|site|sitekey|hotkeys?|shortcuts?|keyboard|keywords?|monkey|author|turkey|hockey|integrity)$/;

function isNameOnly(name: string): boolean {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  return NAME_ENDS.test(parts.at(-1) ?? "") || parts.some((part) => NAME_PARTS.test(part)) || /vault_?key/i.test(name);
}

function isGenericSecret(secret: string, match: string): boolean {
  const name = /^[A-Za-z0-9_.-]*/.exec(match)?.[0] ?? "";
  if (isNameOnly(name)) return false;
  const value = secret.replace(/[.,;]+$/, "");
  if (
    value.length < 16 ||
    isUuid(value) ||
    isDigest(value) ||
    isPlaceholder(value) ||
    /^[$%{@/~.]|^https?|^sha\d|^AAAA|^ENC|:\/\//.test(value)
  )
    return false;
  if (
    /^(pk_|sess_|perm_|toolu_|msg_|h1:)/.test(value) ||
    (/^[A-Za-z]+([._/-][A-Za-z0-9]+)+$/.test(value) && charClasses(value) < 3)
  )
    return false;
  // Code rather than a value: a call, a property, a path.
  if (/[()[\]{}]/.test(value) || /^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)+$/.test(value)) return false;
  return charClasses(value) >= 3
    ? entropy(value) >= 3.4 && /\d/.test(value)
    : charClasses(value) === 2 && /\d/.test(value) && entropy(value) >= 3.7 && !/[-_.]/.test(value);
}
