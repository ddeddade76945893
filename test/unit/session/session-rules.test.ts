import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSealer } from "../../../src/secrets/seal.ts";
import { encodeFrame, eventData } from "../../../src/session/frames.ts";
import { pageOf } from "../../../src/session/page.ts";
import { Sequence } from "../../../src/session/sequence.ts";
import { DeltaBuffer, replayFrame } from "../../../src/session/stored-events.ts";

describe("event numbers", () => {
  test("rise strictly and never repeat, whenever the object is lost", () => {
    // spec: E-30
    fc.assert(
      fc.property(fc.array(fc.constantFrom("take", "crash", "settle"), { maxLength: 200 }), (steps) => {
        let stored = 0;
        const open = () => new Sequence(stored, 8, (reserved) => (stored = reserved));
        let sequence = open();
        let last = 0;
        for (const step of steps) {
          if (step === "crash") sequence = open();
          if (step === "settle") sequence.settle();
          if (step !== "take") continue;
          const seq = sequence.take();
          expect(seq).toBeGreaterThan(last);
          expect(seq).toBeLessThanOrEqual(stored);
          last = seq;
        }
      }),
    );
  });

  test("stay dense over an unload in quiet times", () => {
    let stored = 0;
    const open = () => new Sequence(stored, 8, (reserved) => (stored = reserved));
    const first = open();
    expect([first.take(), first.take()]).toEqual([1, 2]);
    first.settle();
    expect(open().take()).toBe(3);
  });
});

describe("frames", () => {
  test("no text can forge a frame", () => {
    // spec: H-10 E
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("\n", "\r", "\u2028", "a", ":", "data: ", "event: done") }),
        (text) => {
          const frame = encodeFrame(7, "text", eventData({ type: "text", text }, "run_1"));
          const lines = frame.split(/\r\n|\r|\n/);
          expect(lines).toHaveLength(5);
          expect(lines.slice(0, 2)).toEqual(["id: 7", "event: text"]);
          expect(JSON.parse(lines[2]?.slice("data: ".length) ?? "")).toEqual({ text, run_id: "run_1" });
        },
      ),
    );
  });
});

describe("stored deltas", () => {
  test("a replay from any cursor shows the rest of the text, once", () => {
    // spec: E-30
    const pieces = fc.array(fc.tuple(fc.constantFrom("text_delta" as const, "thinking_delta" as const), fc.string()), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(pieces, fc.nat(35), (list, cursor) => {
        const buffer = new DeltaBuffer();
        list.forEach(([type, text], i) => {
          buffer.add(i + 1, "run_1", { type, text });
        });
        const frames = buffer.drain().flatMap((row) => replayFrame(row, cursor) ?? []);
        const shown = frames
          .map((frame) => (JSON.parse(/data: (.*)/.exec(frame)?.[1] ?? "{}") as { text: string }).text)
          .join("");
        expect(shown).toBe(
          list
            .slice(cursor)
            .map(([, text]) => text)
            .join(""),
        );
        const ids = frames.map((frame) => Number(/id: (\d+)/.exec(frame)?.[1]));
        expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
        if (frames.length > 0) expect(ids.at(-1)).toBe(list.length);
      }),
    );
  });
});

describe("pages", () => {
  const items = Array.from({ length: 7 }, (_, i) => ({ id: `m${i}` }));

  test("give every item once, whatever the page size", () => {
    for (const limit of [1, 3, 7, 10]) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = pageOf(items, limit, cursor, "life-1");
        if (!page.ok) throw new Error(page.error.message);
        seen.push(...page.value.data.map((item) => item.id));
        cursor = page.value.next_cursor ?? undefined;
      } while (cursor !== undefined);
      expect(seen).toEqual(items.map((item) => item.id));
    }
  });

  test("refuse a cursor that is none, or of another life of the session", () => {
    const first = pageOf(items, 2, undefined, "life-1");
    const cursor = first.ok ? (first.value.next_cursor ?? "") : "";
    for (const bad of ["???", btoa("life-1:m99"), cursor.slice(1)])
      expect(pageOf(items, 2, bad, "life-1").ok).toBe(false);
    expect(pageOf(items, 2, cursor, "life-2").ok).toBe(false);
  });
});

describe("sealed credentials", () => {
  const key = btoa("k".repeat(32));

  test("open only under the same key and in the same place, and show nothing", async () => {
    // spec: R-2
    const sealer = await createSealer(key);
    const sealed = await sealer.seal("secret-value", "tenant/session/run");
    expect(sealed).not.toContain("secret-value");
    expect(await sealer.open(sealed, "tenant/session/run")).toBe("secret-value");
    expect(await sealer.open(sealed, "other/session/run")).toBeUndefined();
    expect(await sealer.open(`${sealed.slice(0, -4)}AAAA`, "tenant/session/run")).toBeUndefined();
    expect(await (await createSealer(btoa("x".repeat(32)))).open(sealed, "tenant/session/run")).toBeUndefined();
  });

  test("a key of the wrong size is refused by name", async () => {
    await expect(createSealer(btoa("short"))).rejects.toThrow("ENCRYPTION_KEY");
  });
});
