import { expect, it } from "vitest";
import { Lru, remember } from "../../../src/engine/bytes/collections.ts";

it("gives up what was used longest ago", () => {
  const kept = new Lru<string, string>(2);
  const made: string[] = [];
  const get = (key: string): string =>
    kept.get(key, () => {
      made.push(key);
      return key.toUpperCase();
    });
  expect([get("a"), get("b"), get("a"), get("c"), get("a"), get("b")]).toEqual(["A", "B", "A", "C", "A", "B"]);
  expect(made).toEqual(["a", "b", "c", "b"]);
  expect([...kept.values()]).toEqual(["A", "B"]);
});

it("counts sizes, and returns without keeping what is larger than all of it", () => {
  const kept = new Lru<number, string>(10, (text) => text.length);
  kept.get(1, () => "four");
  kept.get(2, () => "five5");
  kept.get(3, () => "xx");
  expect([...kept.values()]).toEqual(["five5", "xx"]);
  expect(kept.get(4, () => "longer than ten")).toBe("longer than ten");
  expect(kept.size).toBe(0);
  kept.get(5, () => "0123456789");
  expect(kept.peek(5)).toBe("0123456789");
});

it("makes a promise once, and again after it was rejected", async () => {
  const kept = new Lru<string, Promise<number>>(4);
  let calls = 0;
  const read = (): Promise<number> =>
    remember(kept, "row", async () => {
      calls++;
      if (calls === 1) throw new Error("broken JPEG");
      return calls;
    });
  const [first, same] = [read(), read()];
  await expect(first).rejects.toThrow("broken JPEG");
  await expect(same).rejects.toThrow("broken JPEG");
  expect(await Promise.all([read(), read()])).toEqual([2, 2]);
});
