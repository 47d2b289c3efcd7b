/** Rollouts: our own Arrow files, and lines of other programs. */
import { readdirSync } from "node:fs";
import { decodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { LOOP_IDS } from "../../../src/engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { groupsFromArrow, groupsToArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { factsOf } from "../../../src/plugins/reward-bench/bench-group.ts";
import { importRollouts } from "../../../src/plugins/reward-bench/import-rollouts.ts";
import { boxMask } from "../../unit/data/make.ts";
import { group } from "../../unit/runs/sample-run.ts";
import { ARROW_DAMAGE } from "../arrow-stream.ts";
import { casesOf } from "../cases.ts";
import { LINE_DAMAGE } from "../json.ts";
import { check, type Files, type Target } from "../target.ts";
import { stored } from "../valid.ts";

const own = groupsToArrow([group(1, 1, 0), group(1, 2, 1)]);
const mask = boxMask(4, 6, 1, 1, 3, 2);
const lines = [
  { completion: "a red car", caption: "a red car", reference: "the car", loop: 1, group: "g" },
  {
    row: "cars#3",
    loop: 2,
    caption_prime: "a car",
    reference: "the car",
    given: mask,
    predicted: mask,
    confidence: 0.8,
  },
  { row: "cars#3", loop: 2, caption: "a car", reference: "the car", given: mask, mask, group: 7, step: 2 },
];
const [run = ""] = readdirSync("public/pocket/recorded");
const RECORDED = `public/pocket/recorded/${run}`;
const inputs: Readonly<Record<string, Files>> = {
  arrow: { "1.arrow": new Uint8Array(own) },
  recorded: { "1.arrow": stored(`${RECORDED}/rollouts/step-000001.arrow`) },
  lines: { "x.jsonl": new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join("")) },
};

/** Properties that pictures and tables of rollouts rely on. */
export function checkGroups(groups: readonly GroupRecord[]): void {
  const text = (value: unknown): boolean => typeof value === "string";
  const number = (value: unknown): boolean => typeof value === "number";
  for (const { step, loop, group: at, rollouts, rewardMean, rewardStd, zeroSpread } of groups) {
    check(Number.isSafeInteger(step) && step >= 0, `a step of ${String(step)}`);
    check(LOOP_IDS.includes(loop), `a loop of ${String(loop)}`);
    check(Number.isSafeInteger(at) && at >= 0, `a group of ${String(at)}`);
    check(number(rewardMean) && number(rewardStd) && typeof zeroSpread === "boolean", "a mean that is no number");
    for (const rollout of rollouts) {
      const { id, rowId, imageId, prompt, completion, caption, referenceCaption } = rollout;
      check([id, rowId, imageId, prompt, completion, caption, referenceCaption].every(text), "a text that is none");
      check(rollout.captionPrime === null || text(rollout.captionPrime), "a caption′ that is no text");
      check(number(rollout.advantage) && (rollout.reward === null || number(rollout.reward)), "a reward that is none");
      check(Number.isSafeInteger(rollout.index) && rollout.index >= 0, `an index of ${String(rollout.index)}`);
      checkMasks(rollout.givenMask, rollout.predictedMask, rollout.greedyMask);
      check(Array.isArray(rollout.terms), "terms that are no list");
      for (const term of rollout.terms) {
        check(text(term.name) && number(term.weight), "a term without name or weight");
        check(term.value === null || number(term.value), "a term's value that is no number");
      }
      for (const { label, logp, samplingLogp, ratio, entropy } of rollout.actions) {
        check(text(label) && [logp, samplingLogp, ratio, entropy].every(number), "an action that is none");
      }
    }
  }
}

function checkMasks(...masks: readonly (Rle | null)[]): void {
  for (const own of masks) {
    if (own === null) continue;
    const pixels = decodeRle(own);
    check(pixels.length === own.size[0] * own.size[1], `a mask of ${pixels.length} pixels for ${own.size}`);
  }
}

export const rollouts: Target = {
  ...casesOf(inputs, (path) => (path.endsWith(".arrow") ? ARROW_DAMAGE : LINE_DAMAGE)),
  async read(files) {
    const [path, bytes] = Object.entries(files)[0] ?? ["none.arrow", new Uint8Array()];
    for (const { loop, rollouts: group } of await importRollouts(bytes, path)) {
      check(LOOP_IDS.includes(loop), `a loop of ${String(loop)}`);
      for (const rollout of group) {
        const { completion } = rollout;
        const facts = factsOf(loop, rollout);
        checkMasks(facts.given, facts.predicted);
        check(facts.confidence === null || (facts.confidence >= 0 && facts.confidence <= 1), "a confidence beyond 1");
        check(typeof completion === "string" && typeof (facts.caption ?? "") === "string", "a text that is none");
      }
    }
    if (path.endsWith(".arrow")) checkGroups(await groupsFromArrow(bytes, path));
  },
};
