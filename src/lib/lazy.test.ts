import { describe, expect, test } from "vitest";
import { Lazy } from "./lazy.ts";

describe("lazy", () => {
  test("the first caller makes the value, once", async () => {
    let made = 0;
    const lazy = new Lazy(() => Promise.resolve(++made));
    expect(await lazy.peek()).toBeUndefined();
    expect(await Promise.all([lazy.get(), lazy.get()])).toEqual([1, 1]);
    expect(await lazy.peek()).toBe(1);
  });

  test("a failure rejects all waiting callers, and the next call tries again", async () => {
    let tries = 0;
    const lazy = new Lazy(() =>
      ++tries === 1 ? Promise.reject(new Error("no descriptors")) : Promise.resolve(tries),
    );
    const first = lazy.get();
    expect(await lazy.peek()).toBeUndefined();
    await expect(first).rejects.toThrow("no descriptors");
    expect(await lazy.peek()).toBeUndefined();
    expect(await lazy.get()).toBe(2);
  });
});
