/** *What if* of a logged step equals a real step with the other settings, for every loss type. */
import { beforeAll, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { SETTINGS } from "../../src/engine/config/table.ts";
import type { GroupRecord } from "../../src/engine/runs/rollouts/records.ts";
import { whatIf } from "../../src/plugins/rollout-tools/what-if.ts";
import { cheapConfig, openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
/** Groups of the first run, for comparison with other losses. */
let logged: readonly GroupRecord[] | undefined;
beforeAll(async () => {
  lab = await openTestLab({ features: null });
});

it.each(SETTINGS.lossType.choices.map((choice) => choice.value))("loss type %s", async (lossType) => {
  // Other settings of weights, advantages and KL for every type: a what-if changes all of them at once.
  const changes = {
    lossType,
    loops: "1",
    loop1Meteor: lossType === "grpo" ? 0.2 : 0.7,
    scaleRewards: lossType === "dapo" ? "batch" : "group",
    klEstimator: lossType === "sapo" ? "k1" : "k3",
    beta: 0.3,
    promptsPerStep: 2,
  } as const satisfies Partial<LabConfig>;
  lab.events.length = 0;
  const [row = {}] = await lab.train({ steps: 1, ...changes });
  expect(Object.entries(row).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
  expect(row["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
  expect(row.grad_norm).toBeGreaterThan(0);
  expect(row["ema/distance"]).toBeGreaterThan(0);
  const groups = lab.events.flatMap((event) => (event.type === "group" ? [event.group] : []));
  // The first type's rollouts under this type's settings equal the real step with them.
  logged ??= groups;
  const { advantages: again, loss } = whatIf(logged, cheapConfig(changes));
  const advantages = groups.map(({ rollouts }) => rollouts.map(({ advantage }) => advantage));
  for (const [at, own] of again.entries()) {
    for (const [n, advantage] of own.values.entries()) expect(advantage).toBeCloseTo(advantages[at]?.[n] as number, 9);
  }
  expect(Math.abs((loss?.loss ?? Number.NaN) - (row["loop1/loss"] as number))).toBeLessThan(1e-6);
  expect(Math.abs((loss?.policy ?? Number.NaN) - (row["loop1/policy_loss"] as number))).toBeLessThan(1e-6);
});
