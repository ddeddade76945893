import { expect, test } from "vitest";
import { createObjectLimiter } from "../../../durable-objects/rate-limiter-port.ts";

/** A namespace whose calls fail as listed first; `stubs` counts the stubs made. */
function namespace(...failures: object[]) {
  const made = { stubs: 0 };
  const stub = {
    take: async () => {
      const failure = failures.shift();
      if (failure) throw Object.assign(new Error("object failed"), failure);
      return { allowed: true, retryAfterMs: 0 };
    },
    giveBack: async () => {
      throw new Error("object failed");
    },
  };
  return {
    made,
    getByName: () => {
      made.stubs++;
      return stub;
    },
  };
}

// spec: H-14
test("makes a call once more, on a new stub, when the platform says it may", async () => {
  const objects = namespace({ retryable: true });
  expect(await createObjectLimiter(objects).take("ip:x", 60)).toEqual({ allowed: true, retryAfterMs: 0 });
  expect(objects.made.stubs).toBe(2);
});

test.each([{}, { retryable: true, overloaded: true }])(
  "leaves an object alone after the failure %j",
  async (failure) => {
    const objects = namespace(failure);
    await expect(createObjectLimiter(objects).take("ip:x", 60)).rejects.toThrow("object failed");
    expect(objects.made.stubs).toBe(1);
  },
);

test("fails no request because a charge could not be returned", async () => {
  await expect(createObjectLimiter(namespace()).giveBack("ip:x")).resolves.toBeUndefined();
});
