import { type ReactNode, useMemo, useState } from "react";
import { evalTexts, greedyAnswer, isSampled } from "../../app/components/held-out-texts.ts";
import type { MaskLayer } from "../../app/components/mask/layers.ts";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { Select } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useSession } from "../../app/stores/session.ts";
import { fixed, signed } from "../../app/styles/format.ts";
import type { ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { RowScores, StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import { rowPairs } from "../../engine/runs/library/run-result.ts";
import styles from "./compare.module.css";

interface Side {
  readonly title: string;
  readonly list: readonly StoredEvaluation[];
}

/** Rows of each kind. */
const SHOWN = 3;

/** Scores of answers without sampling, which have one mask and one caption. */
const SCORES = evalTexts("none").filter(({ id }) => !isSampled(id) && !id.startsWith("reward"));

/** Held-out rows on which two runs differ most at their newest evaluations, side by side. */
export function HeldOutSides({ one, other }: { readonly one: Side; readonly other: Side }): ReactNode {
  const [score, setScore] = useState<ScoreId>(SCORES[0]?.id ?? "grounding_iou");
  const pairs = useMemo(() => {
    const [mine, theirs] = [one.list.at(-1)?.rows ?? [], other.list.at(-1)?.rows ?? []];
    return rowPairs(mine, theirs, score).sort((a, b) => b.change - a.change);
  }, [one.list, other.list, score]);
  if (pairs.length === 0) return null;
  const kinds = [
    [`Better in ${other.title}`, pairs.filter(({ change }) => change > 0).slice(0, SHOWN)],
    [
      `Better in ${one.title}`,
      pairs
        .filter(({ change }) => change < 0)
        .slice(-SHOWN)
        .reverse(),
    ],
  ] as const;
  return (
    <Panel
      title="Held-out rows side by side"
      aside={
        <Select
          label="Score"
          options={SCORES.map(({ id, title }) => ({ value: id, label: title }))}
          value={score}
          onChange={setScore}
        />
      }
    >
      <div className="grid gap-4" data-testid="held-out-sides">
        {kinds.map(([title, rows]) => (
          <section key={title} className="grid gap-2" aria-label={title}>
            <h3 className="m-0">{title}</h3>
            {rows.length === 0 && <p className="muted m-0">No row</p>}
            <ol className={`grid gap-3 m-0 p-0 no-bullets ${styles.pairs}`}>
              {rows.map(({ before, after, change }) => (
                <li key={after.rowId} className="grid gap-1 min-0">
                  <span className="muted small anywhere">
                    {after.caption} · {signed(change, 3)}
                  </span>
                  <span className={`grid gap-2 align-start ${styles.pair}`}>
                    <Answer title={one.title} row={before} score={score} />
                    <Answer title={other.title} row={after} score={score} />
                  </span>
                </li>
              ))}
            </ol>
          </section>
        ))}
      </div>
    </Panel>
  );
}

/** The given region and the mask of an answer on its picture, and its caption. */
function Answer(props: { readonly title: string; readonly row: RowScores; readonly score: ScoreId }): ReactNode {
  const { title, row, score } = props;
  const { rowId, imageId, maskGreedy } = row;
  const answer = useMemo(() => greedyAnswer(row, score), [row, score]);
  const given = useSession(({ rows }) => rows.find((own) => own.id === rowId && own.imageId === imageId)?.mask);
  const layers = useMemo(
    (): readonly MaskLayer[] => [
      ...(given === undefined ? [] : [{ role: "given" as const, mask: given }]),
      ...(answer.mask === null ? [] : [{ role: answer.maskOf, mask: answer.mask }]),
    ],
    [given, answer],
  );
  const [height, width] = maskGreedy.size;
  const caption = answer.caption || "no caption";
  return (
    <span className="grid gap-1 min-0">
      <MaskFigure
        rowId={rowId}
        imageId={imageId}
        width={width}
        height={height}
        layers={layers}
        label={`${title}: ${caption}, score ${fixed(answer.score, 2)}`}
      />
      <b className="anywhere">{caption}</b>
      <span className="muted small">
        {title}, {fixed(answer.score, 3)}
      </span>
    </span>
  );
}
