import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "../../../src/context/estimate.ts";
import { PROSE } from "./prose.ts";

const root = new URL("../../../", import.meta.url);
const file = (path: string): string => readFileSync(new URL(path, root), "utf8");

/** Sentences of the compiler's messages; the weights were fitted on the first ones only. */
function messages(language: string): string {
  const texts: Record<string, string> = JSON.parse(
    file(`node_modules/typescript/lib/${language}/diagnosticMessages.generated.json`),
  );
  return Object.values(texts).join("\n").slice(-2_000);
}

function randomBytes(count: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(count / 32) }, (_, at) =>
    createHash("sha256").update(`${at}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, count);
}

const RECORDS = Array.from({ length: 48 }, (_, at) => ({
  id: `ord_${(at * 7_919 + 104_729).toString(36)}`,
  customer: { name: ["Grace Hopper", "Alan Kay", "Edsger Dijkstra"][at % 3], email: `customer${at}@shop.example` },
  total: (at * 1_237) % 9_973,
  paid: at % 3 === 0,
  items: [{ sku: `A-${1_000 + at}`, quantity: 1 + (at % 4), price: 19.99 }],
  note: at % 5 === 0 ? null : "leave the parcel with the neighbour",
}));

const CSV = ["order,customer,country,total,paid_at,state"].concat(
  RECORDS.map(
    ({ id, customer, total }, at) =>
      `${id},${customer.name},${at % 2 ? "DE" : "FR"},${total}.50,2026-03-${10 + (at % 20)},sent`,
  ),
);

const LOG = RECORDS.map(({ id, total }, at) => {
  const time = `2026-11-0${1 + (at % 9)}T12:${10 + at}:07.${100 + at}Z`;
  if (at % 4 === 0)
    return `-rw-r--r-- 1 root root ${total * 31} Nov  ${1 + (at % 9)} 12:${10 + at} src/http/routes/${id}.ts`;
  if (at % 4 === 1)
    return `${time} ERROR [worker-${at}] request failed: connect ECONNREFUSED 10.0.${at}.7:5432 (attempt ${at})`;
  if (at % 4 === 2) return `    at Object.handle (/app/dist/server/handlers/${id}.js:${total}:17)`;
  return ` ✓ test/unit/orders/${id}.test.ts (${at} tests) ${total}ms`;
}).join("\n");

const PYTHON = `import dataclasses
from collections import defaultdict
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Reading:
    """One measurement of a weather station."""

    station: str
    celsius: float
    humidity: int = 0

    def is_plausible(self) -> bool:
        return -90.0 < self.celsius < 60.0 and 0 <= self.humidity <= 100


def load_readings(folder: Path, *, strict: bool = False) -> dict[str, list[Reading]]:
    """Read all CSV files below *folder*, grouped by station."""
    by_station: dict[str, list[Reading]] = defaultdict(list)
    for path in sorted(folder.rglob("*.csv")):
        with path.open(encoding="utf-8") as handle:
            for number, line in enumerate(handle, start=1):
                if not line.strip() or line.startswith("#"):
                    continue
                try:
                    station, celsius, humidity = line.rstrip().split(",")
                    reading = Reading(station, float(celsius), int(humidity))
                except ValueError as error:
                    if strict:
                        raise RuntimeError(f"{path}:{number}: {error}") from error
                    continue
                if reading.is_plausible():
                    by_station[station].append(reading)
    return dict(by_station)


def averages(readings: dict[str, list[Reading]]) -> list[tuple[str, float]]:
    result = []
    for name, values in readings.items():
        total = sum(value.celsius for value in values)
        result.append((name, round(total / max(len(values), 1), 2)))
    return sorted(result, key=lambda pair: pair[1], reverse=True)


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print("usage: stations.py FOLDER", file=sys.stderr)
        return 64
    for name, mean in averages(load_readings(Path(argv[1]))):
        print(f"{name:<20} {mean:>8.2f} °C")
    return 0


if __name__ == "__main__":
    # The exit code tells cron whether to send a mail about it.
    raise SystemExit(main(sys.argv))
`;

const MIXED = PROSE.zh
  .split("\n")
  .flatMap((text, at) => [text, "```ts", file("test/support/folded.ts").slice(at * 400, at * 400 + 400), "```"]);

const SAMPLES: readonly (readonly [name: string, text: string])[] = [
  ["English prose", PROSE.en],
  ["German prose", `${PROSE.de}\n${messages("de")}`],
  ["Russian prose", `${PROSE.ru}\n${messages("ru")}`],
  ["Chinese prose", `${PROSE.zh}\n${messages("zh-cn")}`],
  ["Japanese prose", `${PROSE.ja}\n${messages("ja")}`],
  ["Chinese mixed with code", `${MIXED.join("\n")}\n${messages("zh-cn").slice(-1_000)}`],
  ["Markdown", file("node_modules/@biomejs/biome/README.md")],
  ["Chinese Markdown", file("node_modules/@biomejs/biome/README.zh-CN.md")],
  ["TypeScript", file("test/support/server.ts") + file("test/support/sse-client.ts")],
  ["Python", PYTHON],
  ["pretty JSON", JSON.stringify(RECORDS, null, 2)],
  ["minified JSON", JSON.stringify(RECORDS)],
  ["logs and shell output", LOG],
  ["CSV", CSV.join("\n")],
];
/** Random strings vary more, and nobody sends them in bulk. */
const RANDOM: readonly (readonly [name: string, text: string])[] = [
  ["base64", randomBytes(3_000).toString("base64")],
  ["hex", randomBytes(3_000).toString("hex")],
];

const error = (text: string): number => estimateTokens(text) / countTokens(text) - 1;

describe("the estimate of tokens", () => {
  it.each(SAMPLES)("is good to 10 % for %s", (_name, text) => {
    expect(text.length).toBeGreaterThanOrEqual(2_000);
    expect(Math.abs(error(text))).toBeLessThanOrEqual(0.1);
  });

  it.each(RANDOM)("is good to 15 % for %s", (_name, text) => {
    expect(text.length).toBeGreaterThanOrEqual(2_000);
    expect(Math.abs(error(text))).toBeLessThanOrEqual(0.15);
  });

  it("takes nothing for nothing and at least one for anything", () => {
    expect(estimateTokens("")).toBe(0);
    for (const text of ["a", " ", "\n", "7", "{", "中", "й", "🚀", "\ud800", "'"]) {
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(1);
    }
  });

  it("grows in step with the text, however its pieces run on", () => {
    for (const piece of ["a", "A", "7", " ", "\n", "-", "中", "й", "🚀", "'", " \n", "a'", "aB"]) {
      const once = estimateTokens(piece.repeat(10_000));
      expect(estimateTokens(piece.repeat(20_000)) / once).toBeCloseTo(2, 1);
    }
  });
});
