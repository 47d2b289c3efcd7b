import type { ReactNode } from "react";
import { navigate } from "../../app/stores/route.ts";
import { compact } from "../../app/styles/format.ts";
import type { GroupRecord, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";
import styles from "./across.module.css";
import { pullOf, type Spike } from "./group-measures.ts";

/** Steps with the largest gradients, each with the rollout that affects the weights most. */
export function SpikeList(props: {
  readonly spikes: readonly Spike[];
  readonly groups: readonly GroupRecord[];
  readonly onOpen: (step: number) => void;
}): ReactNode {
  const { spikes, groups, onOpen } = props;
  if (spikes.length === 0) return <p className="muted">No gradient norm is logged</p>;
  return (
    <ol className={`grid gap-2 m-0 p-0 no-bullets ${styles.spikes}`} data-testid="spikes">
      {spikes.map(({ step, norm, times }) => {
        const rollout = strongest(groups, step);
        return (
          <li key={step} className="grid gap-1">
            <span className="row wrap gap-2-3">
              <button type="button" className="p-0 accent pointer clear borderless" onClick={() => onOpen(step)}>
                Step {step}
              </button>
              <b>{compact(norm)}</b>
              <span className="muted">{times.toFixed(1)} × the median</span>
            </span>
            {rollout !== null && (
              <button
                type="button"
                className="p-0 text-left muted small pointer anywhere clear borderless"
                onClick={() => navigate({ view: "step", step, group: null, rollout: rollout.id })}
              >
                Loop {rollout.loop}, #{rollout.index + 1} has the largest effect:{" "}
                {generatedText(rollout.loop, rollout) ?? "–"}
              </button>
            )}
          </li>
        );
      })}
    </ol>
  );
}

function strongest(groups: readonly GroupRecord[], step: number): RolloutRecord | null {
  const own = groups.filter((group) => group.step === step).flatMap(({ rollouts }) => rollouts);
  return own.reduce<RolloutRecord | null>(
    (best, rollout) => (best === null || pullOf(rollout) > pullOf(best) ? rollout : best),
    null,
  );
}
