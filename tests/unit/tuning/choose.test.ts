import { describe, expect, it } from "vitest";
import { median } from "../../../src/engine/bytes/collections.ts";
import { choose, type Measured, ratioOf, worthMeasuring } from "../../../src/plugins/tuner/choose.ts";

/** A machine that is slower and slower: only neighbouring rounds compare. */
const LOAD = [1, 1, 2, 3, 4];
const form = (name: string, seconds: number, right = true): Measured => ({
  form: name,
  right,
  seconds: LOAD.map((load) => seconds * load),
});

describe("the choice of a form", () => {
  it("takes the fastest right one, by neighbouring rounds", () => {
    const choice = choose([form("a", 1), form("b", 0.5), form("c", 0.4)], "a");
    expect(choice).toEqual({ form: "c", seconds: 0.8, ratio: 0.4 });
  });

  it("never takes a wrong one, however fast, even where all others are slower", () => {
    expect(choose([form("a", 1), form("b", 0.001, false)], "a").form).toBe("a");
    expect(choose([form("a", 1), form("b", 0.001, false), form("c", 0.5)], "a").form).toBe("c");
    expect(worthMeasuring([form("a", 1), form("b", 0.001, false)], "a")).toEqual(["a"]);
  });

  it("keeps the reference where another is equal, or faster within noise", () => {
    for (const seconds of [1, 0.99, 0.951]) expect(choose([form("a", 1), form("b", seconds)], "a").form).toBe("a");
    expect(choose([form("a", 1), form("b", 0.94)], "a").form).toBe("b");
    // Of equally fast ones the first.
    expect(choose([form("a", 1), form("b", 0.5), form("c", 0.5)], "a").form).toBe("b");
  });

  it("asks for a gain in nearly every round", () => {
    const rounds = (...seconds: number[]): Measured => ({ form: "b", right: true, seconds });
    expect(choose([form("a", 1), rounds(0.5, 0.5, 1, 1.5, 4.5)], "a").form).toBe("b");
    expect(choose([form("a", 1), rounds(0.5, 0.5, 1, 3.5, 4.5)], "a").form).toBe("a");
  });

  it("drops forms without a chance after the first round, and never takes them", () => {
    const slow: Measured = { form: "slow", right: true, seconds: [2] };
    expect(worthMeasuring([form("a", 1.9), slow, form("b", 1)], "a")).toEqual(["a", "b"]);
    expect(choose([form("a", 4), slow], "a").form).toBe("a");
  });

  it("has medians of odd and even counts", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(ratioOf([1, 2, 30], [2, 4, 6])).toBe(0.5);
    expect(ratioOf([1], [2, 4, 6])).toBe(0.5);
  });
});
