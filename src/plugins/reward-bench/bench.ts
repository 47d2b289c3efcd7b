/** The bench of the Rewards screen, run with the page's workers. */

import { lab, pluginCalls } from "../../app/clients/lab.ts";
import { openRowsSignal } from "../../app/clients/loading.ts";
import { requireAgreed } from "../../app/clients/run/agreed.ts";
import { useSession } from "../../app/stores/session.ts";
import type { BenchCalls } from "./bench-calls.ts";
import type { BenchGroup } from "./bench-group.ts";
import { measuredRows } from "./bench-group.ts";
import { withOpenRow } from "./bench-rows.ts";
import { addBenchGroup } from "./bench-store.ts";
import { benchWork } from "./bench-work.ts";
import type { RolloutCalls } from "./rollout-calls.ts";

let sampling = new AbortController();

export const bench = benchWork({
  session: () => useSession.getState(),
  sample: async (config, indices, loops) => {
    sampling = new AbortController();
    const rows = openRowsSignal();
    const groups: BenchGroup[] = [];
    const onGroup = (group: BenchGroup): void => {
      groups.push(group);
      addBenchGroup(group);
    };
    try {
      await pluginCalls<BenchCalls>("trainer").bench(
        config,
        indices,
        loops,
        onGroup,
        AbortSignal.any([sampling.signal, rows]),
      );
    } finally {
      // Difficulty is stored for the open rows.
      if (!rows.aborted) await lab().data.keepDifficulty(measuredRows(groups));
    }
  },
  stop: () => sampling.abort(),
  rollouts: async (file) => {
    const groups = await pluginCalls<RolloutCalls>("data").rollouts(file, file.name);
    const { rows } = useSession.getState();
    return groups.map((group) => withOpenRow(group, rows));
  },
  scoreGroup: (facts, plan) => lab().reward.scoreGroup(facts, plan),
  begin: async (config) => {
    await requireAgreed(config, "The settings of this page", lab().reward.allow);
    await lab().reward.begin(config);
  },
});
