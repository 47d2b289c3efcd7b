import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import { HELD_OUT_LOOPS } from "../../../engine/rl/loops/abouts.ts";
import { fewPicturesText, meanText, rangeText } from "../../../engine/runs/evaluations/difference-text.ts";
import { scoreOf } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import { reportPictures } from "../../../engine/runs/evaluations/row-image.ts";
import { lab } from "../../clients/lab.ts";
import { smooth } from "../../components/charts/plot/smoothing.ts";
import { Sparkline } from "../../components/charts/sparkline.tsx";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { useAsync } from "../../components/use-async.ts";
import { counted } from "../../styles/format.ts";
import styles from "./home.module.css";

const SMOOTHING = 0.8;

/** Reward over the steps so far, and what the run gained on held-out rows. */
export function RewardCurve({ run, step }: { readonly run: ViewedRun; readonly step: number | null }): ReactNode {
  const { metrics, runId, live } = run;
  const length = useSyncExternalStore(
    (changed) => metrics.subscribe(changed),
    () => metrics.length,
  );
  // The first loop that the run trains; a supervised run has none.
  const loop = HELD_OUT_LOOPS.find(({ id }) => metrics.names.includes(`loop${id}/reward`));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the length says that values were added
  const values = useMemo(() => [...smooth(metrics.column(`loop${loop?.id}/reward`), SMOOTHING)], [metrics, length]);
  const upTo = useMemo(
    () => (step === null || live ? length - 1 : metrics.steps.findLastIndex((own) => own <= step)),
    [metrics, length, step, live],
  );
  const { value: evaluations } = useAsync(live ? null : runId, (id) => lab().data.evaluations(id));
  const last = evaluations?.at(-1)?.report;
  const few = fewPicturesText(reportPictures(evaluations?.at(-1)?.rows ?? []));
  if (loop === undefined) return null;
  const gain = last === undefined ? null : (scoreOf(last, `loop${loop.id}_sampled`)?.difference ?? null);
  return (
    <figure className={`grid gap-2 ${styles.curve}`} data-testid="home-curve">
      <div className={styles.plot}>
        <Sparkline values={values} upTo={upTo} name={`Reward of loop ${loop.id}`} />
      </div>
      <figcaption className="muted">
        Reward over {counted(length, "step")}
        {gain !== null && last !== undefined && (
          <>
            ; {loop.score} on {counted(last.n, "held-out row")} <b data-testid="home-gain">{meanText(gain)}</b>{" "}
            <span className="nowrap">({rangeText(gain)})</span> {few !== "" && <span className="warn">{few}</span>}
          </>
        )}
      </figcaption>
    </figure>
  );
}
