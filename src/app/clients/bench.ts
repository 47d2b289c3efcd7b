/** What the Rewards screen starts on the bench, done with the page's workers. */
import { measuredRows } from "../../engine/runs/difficulty.ts";
import { addBenchGroup, benchStore } from "../stores/bench.ts";
import { sessionStore } from "../stores/session.ts";
import { requireAgreed } from "./agreed.ts";
import { withOpenRow } from "./bench-rows.ts";
import { benchWork } from "./bench-work.ts";
import { lab } from "./lab.ts";

let sampling = new AbortController();

export const bench = benchWork({
  session: () => sessionStore.getState(),
  sample: async (config, indices, loops) => {
    sampling = new AbortController();
    try {
      await lab().trainer.bench(config, indices, loops, addBenchGroup, sampling.signal);
    } finally {
      await lab().data.keepDifficulty(measuredRows(benchStore.getState().groups));
    }
  },
  stop: () => sampling.abort(),
  rollouts: async (file) => {
    const groups = await lab().data.rollouts(file, file.name);
    const { rows } = sessionStore.getState();
    return groups.map((group) => withOpenRow(group, rows));
  },
  scoreGroup: (facts, plan) => lab().reward.scoreGroup(facts, plan),
  begin: async (config) => {
    await requireAgreed(config, "The settings of this page", lab().reward.allow);
    await lab().reward.begin(config);
  },
});
