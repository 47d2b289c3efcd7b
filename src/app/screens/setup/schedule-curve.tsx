import type { ReactNode } from "react";
import type { LabConfig } from "../../../engine/config/table.ts";
import { learningRate } from "../../../engine/rl/optim/schedule.ts";
import { scheduleOf, scheduleSteps } from "../../../engine/rl/optim/schedule-config.ts";
import { numberText } from "../../components/settings/setting-values.ts";
import styles from "./schedule-curve.module.css";

const WIDTH = 300;
const HEIGHT = 56;
const POINTS = 150;

/** Sparkline of the learning rate over the steps of the run. */
export function ScheduleCurve(props: { readonly config: LabConfig }): ReactNode {
  const { config } = props;
  const schedule = scheduleOf(config);
  const last = Math.max(1, config.steps - 1);
  const count = Math.min(POINTS, last + 1);
  const rates = Array.from({ length: count }, (_, index) => {
    const step = Math.round((index / Math.max(1, count - 1)) * last);
    return { step, rate: learningRate(config.learningRate, step * scheduleSteps(config), schedule) };
  });
  const peak = Math.max(config.learningRate, Number.MIN_VALUE);
  const line = rates
    .map(({ step, rate }) => `${((step / last) * WIDTH).toFixed(1)},${(HEIGHT - (rate / peak) * HEIGHT).toFixed(1)}`)
    .join(" ");
  const end = rates.at(-1)?.rate ?? 0;
  return (
    <figure className={`mb-3 ${styles.figure}`}>
      <svg
        viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Learning rate: peak ${numberText(config.learningRate)}, warm-up ${config.warmupSteps} steps, ${numberText(Number(end.toPrecision(2)))} at step ${last}`}
      >
        <path className={styles.base} d={`M0 ${HEIGHT}H${WIDTH}`} />
        <polyline className={styles.line} points={line} />
      </svg>
      <figcaption className={`flex between muted tiny ${styles.caption}`}>
        <span>step 0</span>
        <span>learning rate, peak {numberText(config.learningRate)}</span>
        <span>{last}</span>
      </figcaption>
    </figure>
  );
}
