/** A few damaged inputs for every reader; `npm run fuzz` draws any number. */
import { afterAll, expect, it } from "vitest";
import { arePluggedIn } from "../support/plugins.ts";
import { faultText, fuzz } from "./fuzz.ts";
import { TARGET_NAMES, TARGETS } from "./targets/all.ts";
import { watched } from "./watch.ts";

const SEED = Number(process.env.LAB_SEED ?? 2611);
const CASES = 12 * Number(process.env.LAB_RUNS ?? 1);

const reader = watched();
afterAll(() => reader.close());

it.each(TARGET_NAMES)("%s: damaged input gives a value that holds or a sentence", async (target) => {
  const { faults } = await fuzz(target, { seed: SEED, from: 0, to: CASES }, reader);
  expect(faults.map(faultText)).toEqual([]);
});

/** Plug-ins that read some of a target's whole inputs. */
const NEEDED: Readonly<Record<string, string>> = { settings: "trl", tokenizer: "sentencepiece" };

it.each(TARGET_NAMES.filter((target) => arePluggedIn(...[NEEDED[target] ?? []].flat())))(
  "%s: whole input is read",
  async (target) => {
    const { inputs } = await TARGETS[target]();
    for (const [name, files] of Object.entries(inputs)) {
      const { kind, said } = await reader.judge({ target, files });
      expect(`${name}: ${kind} ${said}`).toBe(`${name}: accepted `);
    }
  },
);
