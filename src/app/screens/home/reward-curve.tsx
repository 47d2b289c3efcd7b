import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import { activeLoops } from "../../../engine/config/derived.ts";
import { HELD_OUT_LOOPS } from "../../../engine/rl/loops/abouts.ts";
import { fewPicturesText } from "../../../engine/runs/evaluations/difference-text.ts";
import { reportPictures, SCORES, scoreOf } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { gainsOf } from "../../../engine/runs/evaluations/gains.ts";
import { GainNumbers } from "../../components/before-after.tsx";
import { smooth } from "../../components/charts/series.ts";
import { Sparkline } from "../../components/charts/sparkline.tsx";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { counted } from "../../styles/format.ts";
import styles from "./home.module.css";

const SMOOTHING = 0.8;

/** Reward over the steps so far, and what the run gained on held-out rows. */
export function RewardCurve(props: {
  readonly run: ViewedRun;
  readonly step: number | null;
  readonly evaluations: readonly StoredEvaluation[];
}): ReactNode {
  const { run, step, evaluations } = props;
  const { metrics, live, manifest } = run;
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
  const last = evaluations.at(-1);
  if (loop === undefined) return null;
  const differenceOf = (id: (typeof SCORES)[number]) =>
    last === undefined ? null : (scoreOf(last.report, id)?.difference ?? null);
  const loops = manifest === null ? [loop.id] : activeLoops(manifest.config);
  const known = SCORES.filter((id) => differenceOf(id) !== null);
  const gain = known.length === 0 ? undefined : gainsOf(known, loops, "loop")[0];
  const pictures = reportPictures(last?.rows ?? []);
  const few = fewPicturesText(pictures);
  return (
    <figure className={`grid gap-2 ${styles.curve}`} data-testid="home-curve">
      <div className={styles.plot}>
        <Sparkline values={values} upTo={upTo} name={`Reward of loop ${loop.id}`} />
      </div>
      <figcaption className="muted">
        Reward over {counted(length, "step")}
        {gain !== undefined && last !== undefined && (
          <>
            ; {gain.name} on {counted(last.report.n, "held-out row")}
            <GainNumbers className={`flex wrap ${styles.gain}`} gain={gain} of={differenceOf} pictures={pictures} />
            {few !== "" && <span className="warn">{few}</span>}
          </>
        )}
      </figcaption>
    </figure>
  );
}
