import { createHash, timingSafeEqual } from "node:crypto";

/** Whether the header carries the token. Digests are compared, so that neither content nor length shows in the time. */
export function isAuthorized(header: string | undefined, token: string): boolean {
  const given = /^bearer (.*)$/i.exec(header ?? "")?.[1] ?? "";
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
