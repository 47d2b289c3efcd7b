/** User-written rewards in the real interpreter, in a thread of its own: what they can, and what stops them. */
import { afterAll, describe, expect, it } from "vitest";
import { nodeUserRewards } from "../../../scripts/lib/node/node-sandbox.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import type { RewardTerm, RolloutFacts } from "../../../src/engine/rewards/term.ts";
import { rewardHash } from "../../../src/engine/rewards/user/hash.ts";
import { EXAMPLE_REWARD } from "../../../src/plugins/custom-reward/guide.ts";
import { AGREED } from "../../support/consent.ts";

const user = nodeUserRewards(AGREED);
afterAll(() => user.close());

const FACTS: RolloutFacts = {
  loop: 1,
  reference: "a red car",
  caption: "a red bus",
  given: encodeRle([1, 1, 0, 0, 0, 0], 2, 3),
  predicted: encodeRle([0, 1, 1, 0, 0, 0], 2, 3),
  confidence: 0.75,
  truncated: false,
};
const TERMS: readonly RewardTerm[] = [
  { name: "iou", value: 1 / 3, weight: 1, iou: { intersection: 1, union: 3 } },
  {
    name: "meteor",
    value: 0.5,
    weight: 0,
    meteor: {
      hypothesis: ["a", "red", "bus"],
      reference: ["a", "red", "car"],
      matches: [
        [0, 0, "exact"],
        [1, 1, "exact"],
      ],
      chunks: 1,
      precision: 2 / 3,
      recall: 2 / 3,
      fMean: 2 / 3,
      penalty: 0.0625,
      score: 0.5,
    },
  },
];

const run = (code: string, group: readonly RolloutFacts[] = [FACTS], limits = {}): Promise<readonly number[]> =>
  user.run(
    { code, milliseconds: 1000, mebibytes: 16, ...limits },
    group,
    group.map(() => TERMS),
  );

/** The sentence with which a reward ends that is stopped. */
async function stop(code: string, limits = {}): Promise<string> {
  const held = await run(code, [FACTS], limits).then(
    (values) => Promise.reject(new Error(`it returned ${values.join()}`)),
    (thrown: unknown) => thrown as { code: string; message: string; subject: string },
  );
  expect(held).toMatchObject({ code: "held", subject: "userReward" });
  // Nothing else is harmed: the next one runs.
  expect(await run("function reward() { return 7 }")).toEqual([7]);
  return held.message;
}

describe("a user's reward", () => {
  it("gets captions, masks, IoU and METEOR parts, typed and with their pixels", async () => {
    expect(
      await run(`
        interface Own { readonly value: number }
        export function reward(r: Rollout): number {
          const own: Own = { value: r.iou.value };
          if (r.given.pixels.join("") !== "110000" || r.predicted.pixels.join("") !== "011000") return -1;
          if (!r.predicted.has(2, 0) || r.predicted.has(0, 0) || r.predicted.has(3, 0)) return -2;
          if (r.given.area !== 2 || r.given.box.join() !== "0,0,2,1" || r.given.height !== 2) return -3;
          if (r.meteor.matches[1][2] !== "exact" || r.meteor.chunks !== 1) return -4;
          if (r.terms.meteor !== 0.5 || r.confidence !== 0.75 || r.group.captions[0] !== r.caption) return -5;
          return own.value + Math.sqrt(4);
        }`),
    ).toEqual([2 + 1 / 3]);
  });

  it("may be written as declaration, export or default, in TypeScript or JavaScript", async () => {
    expect(await run("function reward(r) { return r.caption.length }")).toEqual([9]);
    expect(await run("export default (r: { loop: number }) => r.loop as number")).toEqual([1]);
    expect(await run("const reward = (r) => r.truncated ? 1 : 0.5; export { reward }")).toEqual([0.5]);
    expect(await run(EXAMPLE_REWARD)).toEqual([1 / 3 + 0.1 * (2 / 3)]);
  });

  it("carries nothing from one rollout to the next", async () => {
    expect(
      await run("let n = 0; function reward() { globalThis.m = (globalThis.m ?? 0) + 1; return ++n + globalThis.m }", [
        FACTS,
        FACTS,
        FACTS,
      ]),
    ).toEqual([2, 2, 2]);
  });

  it("has a hash of its source", async () => {
    expect(await rewardHash("a")).toBe("ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb");
    expect(await rewardHash("  ")).toBe("");
  });
});

describe("is stopped and named when it", () => {
  it.each([
    ["loops forever", "function reward() { for (;;); }"],
    ["loops forever and hides it", "function reward() { for (;;) try { for (;;); } catch {} }"],
    ["loops forever while it is read", "for (;;); function reward() { return 1 }"],
  ])("%s", async (_, code) => {
    expect(await stop(code, { milliseconds: 100 })).toBe(
      "The custom reward ran longer than 100 ms on rollout 1 of its group",
    );
  });

  it("loops inside a built-in that the interpreter cannot interrupt: its worker is ended", async () => {
    const code = "function reward() { return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 5) }";
    expect(await stop(code, { milliseconds: 100 })).toMatch(/^The custom reward ran longer than 100 ms/);
  });

  it.each([
    ["many small", "function reward() { const a = []; for (;;) a.push({ a: [] }); }"],
    ["one large", "function reward() { return new Uint8Array(1e9).length }"],
    ["a text", "function reward() { let s = 'x'; for (;;) s += s; }"],
    ["huge objects as it is read", "const a = []; for (;;) a.push([a.length, {}]); function reward() { return 1 }"],
  ])("allocates without end: %s", async (_, code) => {
    expect(await stop(code, { milliseconds: 5000, mebibytes: 8 })).toMatch(
      /^The custom reward (asked for more than 8 MiB of memory|threw InternalError: string too long)/,
    );
  });

  it.each([
    ["in eval", "function reward() { return eval('reward()') }"],
    ["in a getter", "function reward() { const o = { get x() { return this.x } }; return o.x }"],
    [
      "in JSON",
      "function reward() { const o = { toJSON() { return JSON.stringify(o) } }; return JSON.stringify(o).length }",
    ],
    ["in data", "function reward() { return JSON.parse('['.repeat(100000) + ']'.repeat(100000)).length }"],
  ])("that never ends %s is named, not the interpreter's assertion", async (_, code) => {
    expect(await stop(code)).toMatch(/called itself without end, or nested data too deeply/);
  });

  it.each([
    ["get message() { return 'the mask is empty' }", /threw the mask is empty/],
    ["get message() { return {} }", /threw an object without a readable message/],
    ["get message() { throw new Error('x') }", /threw an object without a readable message/],
    ["get message() { for (;;); }", /threw an object without a readable message/],
    ["get message() { return this.message }", /threw an object without a readable message/],
    ["a: 1", /threw an object without a readable message/],
  ])("that throws { %s } is named by a text", async (body, said) => {
    const sentence = await stop(`function reward() { throw { ${body} } }`);
    expect(sentence).toMatch(said);
    expect(sentence).not.toContain("[object");
  });

  it("calls itself without end", async () => {
    expect(await stop("function reward(r) { return 1 + reward(r) }")).toMatch(/called itself without end/);
  });

  it.each([
    ["an error", "function reward() {\n  throw new TypeError('no');\n}", /threw TypeError: no \(line 2\)/],
    ["a text", "function reward() { throw 'no' }", /threw no on rollout/],
    ["null", "function reward() { throw null }", /threw null/],
    ["a property of nothing", "function reward(r) { return r.nothing.at(0) }", /threw TypeError/],
  ])("throws %s", async (_, code, message) => {
    expect(await stop(code)).toMatch(message);
  });

  it.each([
    ["NaN", "0 / 0", "NaN, not a finite number"],
    ["infinity", "1 / 0", "Infinity, not a finite number"],
    ["nothing", "undefined", "nothing, not a number"],
    ["a text", "'1'", "a string, not a number"],
    ["null", "null", "null, not a number"],
    ["a promise", "Promise.resolve(1)", "an object, not a number"],
    ["a big integer", "1n", "a bigint, not a number"],
    ["something that would like to be a number", "({ valueOf: () => 1 })", "an object, not a number"],
  ])("returns %s", async (_, value, message) => {
    expect(await stop(`function reward() { return ${value} }`)).toContain(`The custom reward returned ${message}`);
  });

  it.each([
    ["fetch('https://example.org')", "fetch; a reward has no network access"],
    ["new WebSocket('wss://example.org')", "WebSocket; a reward has no network access"],
    ["importScripts('https://example.org/x.js')", "importScripts; a reward has no network access"],
    ["new XMLHttpRequest()", "XMLHttpRequest; a reward has no network access"],
    ["globalThis['fe' + 'tch']('x')", "fetch; a reward has no network access"],
    ["(() => { try { fetch('x') } catch {} return 1 })()", "fetch; a reward has no network access"],
    ["Function('return fetch')()", "fetch; a reward has no network access"],
    ["require('fs')", "import of fs; it is not available to a reward"],
    ["process.exit(1)", "process; it is not available to a reward"],
    ["postMessage(1)", "postMessage; it is not available to a reward"],
    ["Date.now()", "Date; it is not available to a reward"],
    ["Math.random()", "Math.random; it is not available to a reward"],
  ])("reaches out by %s", async (expression, message) => {
    expect(await stop(`function reward() { ${expression}; return 1 }`)).toContain(`reached for ${message}`);
  });

  it("imports something", async () => {
    expect(await stop("import fs from 'fs';\nexport default () => fs.a")).toContain("reached for import of fs");
    expect(await stop("function reward() { return import('https://example.org/x.js') }")).toMatch(/returned an object/);
  });

  it("cannot be read or defines no function", async () => {
    expect(await stop("function reward( { return 1 }")).toMatch(/cannot be read: .*\(1:\d+\)/);
    expect(await stop("const x = 1")).toContain("defines no function named reward");
    expect(await stop("")).toContain("defines no function named reward");
  });

  it("cannot be read, which is found without a rollout", async () => {
    const check = (code: string): Promise<string | null> => user.check({ code, milliseconds: 300, mebibytes: 16 });
    expect(await check("function rewar(r){ while(1){} ")).toMatch(/^The custom reward cannot be read: .*\(1:\d+\)$/);
    expect(await check("function rewar(r) { while (1) {} }")).toBe(
      "The custom reward defines no function named reward",
    );
    expect(await check("for (;;);")).toBe("The custom reward ran longer than 300 ms");
    expect(await check("function reward() { throw new Error('later') }")).toBeNull();
    expect(await check(EXAMPLE_REWARD)).toBeNull();
  });

  it("names the rollout of the group that stopped it", async () => {
    const group = [FACTS, { ...FACTS, caption: "bad" }];
    await expect(run("function reward(r) { if (r.caption === 'bad') throw 'no'; return 1 }", group)).rejects.toThrow(
      "on rollout 2 of its group",
    );
  });
});
