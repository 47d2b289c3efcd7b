import type { ReactNode } from "react";
import { loopColour } from "../../app/components/rollout/rollout-view.ts";
import { fixed } from "../../app/styles/format.ts";
import type { LoopId } from "../../engine/rl/loops/abouts.ts";
import styles from "./across.module.css";
import type { Ridges } from "./group-measures.ts";

/** Height of a band, and of its highest peak, in units of the picture. */
const BAND = 20;
const PEAK = 34;
const WIDTH = 300;

/** Histograms of the rewards in consecutive bands of steps, oldest at the top: learning moves the peaks to the right. */
export function RidgePlot({
  ridges: { ridges, low, high },
  loop,
}: {
  readonly ridges: Ridges;
  readonly loop: LoopId;
}): ReactNode {
  const most = Math.max(1e-9, ...ridges.flatMap(({ shares }) => shares));
  const height = PEAK + BAND * ridges.length;
  return (
    <div className={`grid ${styles.ridges}`}>
      <ol
        className={`column-flex m-0 p-0 no-bullets muted tiny text-right ${styles.bands}`}
        style={{ paddingTop: `${((PEAK - 8) / height) * 100}%` }}
      >
        {ridges.map(({ from, to }) => (
          <li key={from}>{from === to ? from : `${from}–${to}`}</li>
        ))}
      </ol>
      <svg
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Distribution of rewards from ${fixed(low, 2)} to ${fixed(high, 2)} in ${ridges.length} bands of steps`}
      >
        {ridges.map(({ from, shares }, at) => {
          const base = PEAK + BAND * at + BAND / 2;
          const points = shares.map(
            (share, bin) => `${((bin + 0.5) / shares.length) * WIDTH} ${base - (share / most) * PEAK}`,
          );
          return (
            <path
              key={from}
              className={styles.ridge}
              d={`M0 ${base}L${points.join("L")}L${WIDTH} ${base}Z`}
              fill={loopColour(loop)}
              stroke={loopColour(loop)}
            />
          );
        })}
      </svg>
      <span />
      <p className="flex between muted tiny">
        <span>{fixed(low, 2)}</span>
        <span>reward</span>
        <span>{fixed(high, 2)}</span>
      </p>
    </div>
  );
}
