/** Sentences stay short, on one line and free of what a screen or terminal would obey, whatever they quote. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { checkShape, parseJson, parseJsonAs } from "../../../src/engine/bytes/json.ts";
import { LabError, LONGEST_SENTENCE, plainLine, quote, thrownText, toLabError } from "../../../src/engine/errors.ts";

/** What `run` throws. */
function failure(run: () => unknown): unknown {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

function sentence(run: () => unknown): string {
  const thrown = failure(run);
  expect(thrown).toBeInstanceOf(LabError);
  return (thrown as LabError).message;
}

describe("sentences", () => {
  it("are one line of at most 300 characters that keeps its beginning and its end", () => {
    const { message } = new LabError("bad-input", `shard.arrow: ${"x\n".repeat(9000)}; the other rows are kept`);
    expect(message.length).toBeLessThanOrEqual(LONGEST_SENTENCE);
    expect(message).toMatch(/^shard\.arrow: x x .* … .*; the other rows are kept$/);
  });

  it("hold nothing that a terminal obeys or that turns the text around", () => {
    expect(plainLine("a\u001B[31mr\u00ADed\u001B[0m\r\nb\u0007\u202Ec\u2066d\u0000e\uD800")).toBe("ared bcde\uFFFD");
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 900 }), (text) => {
        const { message } = new LabError("internal", text);
        expect(message.length).toBeLessThanOrEqual(LONGEST_SENTENCE);
        expect(message).not.toMatch(/[\p{Cc}\p{Surrogate}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u);
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  it("quote any value without running its code", () => {
    const hostile = {
      toString: () => {
        throw new Error("ran");
      },
    };
    expect(quote(hostile)).toBe("an object");
    expect(quote({ toString: 1, valueOf: null })).toBe("an object");
    expect(quote(Object.create(null))).toBe("an object");
    expect(quote([1, hostile])).toBe("a list of 2");
    expect([quote(-1.5), quote(null), quote(undefined), quote(true), quote("x")]).toEqual([
      "-1.5",
      "null",
      "undefined",
      "true",
      '"x"',
    ]);
    expect(quote("y".repeat(1e6)).length).toBeLessThanOrEqual(102);
    expect(thrownText(hostile)).toBe("an object");
    expect(toLabError(Object.create(null)).message).toBe("an object");
  });
});

const PERSON = z.object({ name: z.string(), age: z.number().check(z.gte(0)), tags: z.optional(z.array(z.string())) });

describe("JSON at the door", () => {
  it("is taken as its schema says", () => {
    expect(parseJsonAs('\uFEFF{"name": "a", "age": 3, "more": 1}', PERSON, "a.json")).toEqual({ name: "a", age: 3 });
  });

  it.each([
    ['{"name": 4, "age": 3}', 'a.json: "name" is 4, it must be a text'],
    ['{"name": "a"}', 'a.json: "age" is missing, it must be a number'],
    ['{"name": "a", "age": -1}', 'a.json: "age" is -1, it must be 0 or more'],
    ['{"name": "a", "age": 1, "tags": ["b", {"toString": 1}]}', 'a.json: "tags.1" is an object, it must be a text'],
    ["[]", "a.json: its content is a list of 0, it must be an object"],
    ['{"__proto__": {"name": "a", "age": 3}}', 'a.json: "name" is missing, it must be a text'],
  ])("%s is refused in a sentence", (text, said) => {
    expect(sentence(() => parseJsonAs(text, PERSON, "a.json"))).toBe(said);
  });

  it("is refused as empty where it has no value", () => {
    for (const text of ["", " \n", "\uFEFF"]) {
      expect(sentence(() => parseJson(text, "a.json"))).toBe("a.json is empty");
    }
  });

  it("is refused when it is cut off, however long it is", () => {
    expect(sentence(() => parseJson(`{"a": "${"z".repeat(1e6)}`, "a.json"))).toMatch(/^a\.json is not valid JSON: /);
  });

  it("is refused when it is nested deeply, and brackets in texts do not count", () => {
    const deep = `${'{"a":['.repeat(20_000)}1${"]}".repeat(20_000)}`;
    expect(sentence(() => parseJson(deep, "a.json"))).toBe("a.json is nested deeper than 64 levels");
    expect(parseJson(JSON.stringify(["[".repeat(200), `\\"${"{".repeat(200)}`]), "a.json")).toHaveLength(2);
  });

  it("is checked without a raw error, whatever it is", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const thrown = failure(() => checkShape(parseJson(text, "a.json"), PERSON, "a.json"));
        expect(thrown === undefined || thrown instanceof LabError).toBe(true);
      }),
      { seed: 6, numRuns: 500 },
    );
  });
});
