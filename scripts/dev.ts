import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { newEncryptionKey, wrangler } from "./lib/wrangler.ts";

/** `npm run dev`: the key for sealed credentials (made once), the database's tables, then `wrangler dev` with any further arguments. */
const vars = existsSync(".dev.vars") ? readFileSync(".dev.vars", "utf8") : "";
if (!/^ENCRYPTION_KEY=/m.test(vars)) {
  const gap = vars === "" || vars.endsWith("\n") ? "" : "\n";
  appendFileSync(".dev.vars", `${gap}ENCRYPTION_KEY=${newEncryptionKey()}\n`, { mode: 0o600 });
  console.log("made an ENCRYPTION_KEY in .dev.vars");
}
const migrated = await wrangler(["d1", "migrations", "apply", "DB", "--local"]);
process.exitCode = migrated === 0 ? await wrangler(["dev", ...process.argv.slice(2)]) : migrated;
