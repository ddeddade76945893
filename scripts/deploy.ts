import { newEncryptionKey, wrangler, wranglerOutput } from "./lib/wrangler.ts";

/**
 * `npm run deploy`: deploys the Worker (the first time this makes the database and the bucket), brings the database's
 * tables up to date, and makes the ENCRYPTION_KEY secret if there is none.
 */
const deployed = await wrangler(["deploy", ...process.argv.slice(2)]);
if (deployed !== 0) process.exit(deployed);
const migrated = await wrangler(["d1", "migrations", "apply", "DB", "--remote"]);
if (migrated !== 0) process.exit(migrated);
const secrets = wranglerOutput(["secret", "list"]);
if (secrets.code !== 0) process.exit(secrets.code);
if (secrets.text.includes("ENCRYPTION_KEY")) {
  console.log("ENCRYPTION_KEY is set already");
} else {
  process.exitCode = wranglerOutput(["secret", "put", "ENCRYPTION_KEY"], newEncryptionKey()).code;
}
if (!secrets.text.includes("BEARER_TOKEN")) {
  console.log("No BEARER_TOKEN yet: the API answers 403 until you set one: npx wrangler secret put BEARER_TOKEN");
}
