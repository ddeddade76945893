/** Words of documentation and templates inside a value. */
const PLACEHOLDER =
  /example|changeme|change_me|change-me|placeholder|your[-_ ]?|xxxx|\.\.\.|dummy|redacted|sample|insert[-_ ]|replace[-_ ]?me|todo|<[^>]*>|\*{3}|\$\{|\$\(|\{\{|%[A-Za-z_]\w*%|process\.env|getenv|os\.environ|\[SECRET:/i;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for a value that stands for a secret without being one. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value) || hasLongRun(value) || isSequence(value);
}

/** One character many times over, as in `xxxxxxxx` or `00000000`. */
function hasLongRun(value: string): boolean {
  return /(.)\1{7}/.test(value);
}

/** The alphabet, or digits in order. */
function isSequence(value: string): boolean {
  let run = 1;
  for (let index = 1; index < value.length && index < 400; index += 1) {
    run = value.charCodeAt(index) === value.charCodeAt(index - 1) + 1 ? run + 1 : 1;
    if (run >= 9) return true;
  }
  return false;
}

export function isUuid(value: string): boolean {
  return UUID.test(value);
}

/** A digest as tools print them: hexadecimal digits of a usual length and nothing else. */
export function isDigest(value: string): boolean {
  return /^[0-9a-f]+$/i.test(value) && [32, 40, 56, 64, 96, 128].includes(value.length);
}

/** Bits per character. Random base64 of 20 characters has about 4, words about 3. */
export function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

/** How many of lower case, upper case and digits a value has. */
export function charClasses(value: string): number {
  return Number(/[a-z]/.test(value)) + Number(/[A-Z]/.test(value)) + Number(/[0-9]/.test(value));
}

/** True when a JWT's first two parts are JSON objects. */
export function isJwt(value: string): boolean {
  const [header, payload, signature] = value.split(".");
  return signature !== undefined && isJsonObject(header ?? "") && isJsonObject(payload ?? "");
}

function isJsonObject(part: string): boolean {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

/** True for a password in an address that somebody could use. */
export function isUsablePassword(user: string, password: string): boolean {
  if (password === "" || password === user || isPlaceholder(password) || /^[$%{<]/.test(password)) return false;
  if (
    /^(password|passwd|pass|pwd|secret|postgres|root|admin|test|guest|user|mysql|redis|token|changeme|example|\[.*\]|\*+|x+)$/i.test(
      password,
    )
  )
    return false;
  return password.length >= 6;
}
