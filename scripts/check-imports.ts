import { cruise } from "dependency-cruiser";
import extractTsConfig from "dependency-cruiser/config-utl/extract-ts-config";

/**
 * The architecture's import rules. Also asserts that the check saw the code at all: a TypeScript the tool does not know
 * makes it see no modules, and then every rule passes.
 */
// @ts-expect-error plain JavaScript, read by the tool itself as well
const { default: config } = await import("../.dependency-cruiser.cjs");
const result = await cruise(
  ["src", "durable-objects", "sandbox-server", "sandbox-container"],
  { ...config.options, ruleSet: { forbidden: config.forbidden }, validate: true },
  undefined,
  { tsConfig: extractTsConfig("tsconfig.json") },
);
const output = result.output;
if (typeof output === "string") throw new Error("expected the result as data");
const { totalCruised, totalDependenciesCruised, violations } = output.summary;
for (const { rule, from, to } of violations) console.error(`${rule.name}: ${from} → ${to}`);
const seen = totalCruised > 50 && (totalDependenciesCruised ?? 0) > 100;
if (!seen) console.error(`the import check saw only ${totalCruised} modules; its parser does not fit`);
console.log(`${totalCruised} modules, ${totalDependenciesCruised} imports, ${violations.length} against the rules`);
process.exitCode = seen && violations.length === 0 ? 0 : 1;
