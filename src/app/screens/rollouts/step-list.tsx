import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";
import type { LoopAbout } from "../../../engine/rl/loops/about.ts";
import { LOOPS, type LoopId } from "../../../engine/rl/loops/abouts.ts";
import { loopStyle } from "../../components/rollout/loop-colour.ts";
import type { MetricStore } from "../../stores/run/metrics.ts";
import { fixed } from "../../styles/format.ts";
import styles from "./rollouts.module.css";

const ROW = 30;

export interface StepListProps {
  readonly steps: readonly number[];
  readonly selected: number | null;
  readonly metrics: MetricStore;
  readonly onSelect: (step: number) => void;
}

/** Every logged step with the mean reward of every loop as bars. */
export function StepList(props: StepListProps): ReactNode {
  const { steps, selected, metrics, onSelect } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const place = selected === null ? -1 : steps.indexOf(selected);
  const rows = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  useEffect(() => {
    if (place >= 0) rows.scrollToIndex(place, { align: "auto" });
  }, [place, rows]);
  const rewards = stepRewards(metrics);
  return (
    <nav className={`clip framed round-l surface ${styles.steps}`} aria-label="Steps">
      <div ref={scroller} className={styles.stepScroll}>
        <ol className="relative m-0 p-0 no-bullets" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((item) => {
            const step = steps[item.index] as number;
            const own = rewards.get(step) ?? [];
            return (
              <li key={step} style={{ height: ROW, transform: `translateY(${item.start}px)` }}>
                <button
                  type="button"
                  className="grid gap-2 align-centre full-width borderless clear muted text-right pointer lit"
                  aria-current={step === selected ? "step" : undefined}
                  // One tab stop; the arrow keys go through the steps.
                  tabIndex={step === selected ? 0 : -1}
                  title={`Step ${step}: reward ${own.map(([loop, reward]) => `${fixed(reward, 3)} in loop ${loop}`).join(", ")}`}
                  onClick={() => onSelect(step)}
                >
                  <span>{step}</span>
                  <span className={`grid gap-2px ${styles.bars}`} aria-hidden="true">
                    {own.map(([loop, reward]) => (
                      <i key={loop} data-fill style={{ ...width(reward), ...loopStyle(loop) }} data-loop={loop} />
                    ))}
                  </span>
                </button>
              </li>
            );
          })}
        </ol>
      </div>
    </nav>
  );
}

/** Rewards of each step in loops 1 and 2 and in any other loops of the run. */
function stepRewards(metrics: MetricStore): ReadonlyMap<number, readonly (readonly [LoopId, number | null])[]> {
  const { steps, names } = metrics;
  const shown = LOOPS.filter((loop: LoopAbout) => loop.optional !== true || names.includes(`loop${loop.id}/reward`));
  const columns = shown.map(({ id }) => [id, metrics.column(`loop${id}/reward`)] as const);
  const finite = (value: number | undefined): number | null =>
    value !== undefined && Number.isFinite(value) ? value : null;
  return new Map(Array.from(steps, (step, at) => [step, columns.map(([id, column]) => [id, finite(column[at])])]));
}

function width(reward: number | null): CSSProperties {
  return { width: `${Math.min(1, Math.max(0, reward ?? 0)) * 100}%` };
}
