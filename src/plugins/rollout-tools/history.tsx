/** The same row at every step that sampled it. */
import { type ReactNode, useMemo, useState } from "react";
import { unreadText } from "../../app/clients/run/run-reads.ts";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { figureLabel, GIVEN_AND_ANSWER, layersOf, sortRollouts } from "../../app/components/rollout/rollout-view.ts";
import { groupKey, useAllGroups, type ViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { navigate } from "../../app/stores/route.ts";
import { counted, fixed, NONE } from "../../app/styles/format.ts";
import type { GroupRecord, LoopId } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";
import styles from "./rollout-tools.module.css";

const sameRow = (group: GroupRecord, loop: LoopId, rowId: string): boolean =>
  group.loop === loop && group.rowId === rowId;

/** The best rollout of the same row and loop at every step that sampled it. */
export function RowHistory(props: { readonly run: ViewedRun; readonly group: GroupRecord }): ReactNode {
  const { run, group } = props;
  const [wanted, setWanted] = useState(false);
  const scan = useAllGroups(run, wanted);
  const same = useMemo(
    () =>
      // The shown group belongs to the history, whether or not its step was read.
      [
        group,
        ...scan.groups.filter(({ step, loop, rowId }) => step !== group.step && sameRow(group, loop, rowId)),
      ].sort((a, b) => a.step - b.step),
    [scan.groups, group],
  );
  const complete = scan.done >= scan.total;
  const unread = unreadText(scan);
  return (
    <div className="grid gap-3">
      <p className="row gap-3 muted">
        Row {group.rowId} in loop {group.loop}: sampled {counted(same.length, "time")} in {Math.max(1, scan.done)} of{" "}
        {scan.total} steps read
        {!complete && !wanted && <Button onClick={() => setWanted(true)}>Read all steps</Button>}
      </p>
      {unread !== null && <p className="bad">{unread}</p>}
      <ol className={`flex gap-3 m-0 scroll-x no-bullets ${styles.film}`}>
        {same.map((drawn) => {
          const best = sortRollouts(drawn.rollouts, "reward")[0];
          if (best === undefined) return null;
          const [height, width] = best.givenMask.size;
          return (
            <li
              key={`${drawn.step} ${groupKey(drawn)}`}
              className="clip framed round-m"
              data-now={drawn.step === group.step}
            >
              <MaskFigure
                rowId={best.rowId}
                imageId={best.imageId}
                width={width}
                height={height}
                layers={layersOf(best, GIVEN_AND_ANSWER)}
                label={`step ${drawn.step}, ${figureLabel(best)}`}
              />
              <button
                type="button"
                className="grid full-width borderless clear text-left pointer"
                onClick={() => navigate({ step: drawn.step, group: groupKey(drawn), rollout: best.id })}
              >
                <span className="flex between">
                  Step {drawn.step} <b>{fixed(drawn.rewardMean, 2)}</b>
                </span>
                <small className="clip muted small">{generatedText(best.loop, best) ?? NONE}</small>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
