/** Stored groups on the reward bench. */
import { expect, it } from "vitest";
import type { LoopId, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { groupsToArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { importRollouts } from "../../../src/plugins/reward-bench/import-rollouts.ts";
import { group } from "./sample-run.ts";

/** The probabilities of a group whose rollouts have one action each, of these names. */
async function weightsOf(loop: LoopId, labels: readonly string[]) {
  const whole = group(1, loop, 0, labels.length);
  const actions = whole.rollouts.flatMap((rollout) => rollout.actions).slice(0, 1);
  const rollouts = whole.rollouts.map(
    (rollout, at): RolloutRecord => ({
      ...rollout,
      actions: actions.map((action) => ({ ...action, id: at, label: labels[at] as string, samplingLogp: -(at + 1) })),
    }),
  );
  const [found] = await importRollouts(groupsToArrow([{ ...whole, rollouts }]), "rollouts.arrow");
  return found?.probabilities;
}

it("takes their probabilities as weights where a mask policy enumerates its actions", async () => {
  const shares = [Math.exp(-1), Math.exp(-2), Math.exp(-3)];
  expect(await weightsOf(2, ["candidate 1", "candidate 2", "candidate 3"])).toEqual(shares);
  expect(await weightsOf(2, ["proposal 1", "proposal 2", "proposal 3"])).toEqual(shares);
  expect(await weightsOf(2, ["cell 0,0", "cell 0,0", "cell 0,0"])).toBeNull();
  expect(await weightsOf(1, ["candidate 1", "candidate 2", "candidate 3"])).toBeNull();
});
