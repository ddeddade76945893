import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { helpText, readSettings, Settings } from "../../../sandbox-server/settings.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

test("--help prints every option with its default and starts nothing, without a token too", () => {
  // spec: X-3
  const printed = execFileSync("node_modules/.bin/node", ["sandbox-server/main.ts", "--help"], {
    cwd: root,
    encoding: "utf8",
    env: { PATH: process.env.PATH },
  });
  expect(printed).toBe(`${helpText()}\n`);
  for (const name of Object.keys(Settings.shape)) {
    expect(printed).toContain(`  --${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} `);
  }
  expect(printed).toMatch(/--port … +0 takes a free one \(8788\)/);
  expect(printed).not.toContain("undefined");
});

test.each([
  [["--port", "http"], "SANDBOX_PORT must be a whole number from 0 to 65535"],
  [["--max-execs", "0"], "SANDBOX_MAX_EXECS must be a whole number above 0"],
  [["--token", "short"], "SANDBOX_TOKEN needs at least 16 characters"],
])("a wrong option is told in plain words: %j", (argv, text) => {
  expect(readSettings(argv, { SANDBOX_TOKEN: "sandbox-token-0123" })).toBe(text);
});
