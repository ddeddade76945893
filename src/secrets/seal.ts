import type { Sealer } from "../contract/credentials.ts";
import { toBase64 } from "../shared/base64.ts";

const encoder = new TextEncoder();

/**
 * AES-GCM-256 under a key derived from the deployment's secret (HKDF-SHA-256). A text is bound to its context (tenant,
 * session, run) as additional data, so it opens nowhere else. The form is `v1.<iv>.<ciphertext>`, base64.
 */
export async function createSealer(secretBase64: string): Promise<Sealer> {
  const secret = fromBase64(secretBase64);
  if (secret === undefined || secret.length !== 32) throw new Error("ENCRYPTION_KEY must be 32 bytes in base64");
  const master = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  const key = await crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info: encoder.encode("flyto run credentials v1") },
    master,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"],
  );
  return {
    async seal(clear, context) {
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const algorithm = { name: "AES-GCM", iv, additionalData: encoder.encode(context) };
      const sealed = await crypto.subtle.encrypt(algorithm, key, encoder.encode(clear));
      return `v1.${toBase64(iv)}.${toBase64(new Uint8Array(sealed))}`;
    },
    async open(sealed, context) {
      const [version, ivText, bodyText] = sealed.split(".");
      const iv = fromBase64(ivText ?? "");
      const body = fromBase64(bodyText ?? "");
      if (version !== "v1" || !iv || !body) return undefined;
      try {
        const algorithm = { name: "AES-GCM", iv, additionalData: encoder.encode(context) };
        return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, body));
      } catch {
        return undefined;
      }
    },
  };
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
