import { type ReactNode, useMemo, useState } from "react";
import { rowScoreOf, type ScoreId } from "../../../engine/runs/evaluation-scores.ts";
import type { RowScores, StoredEvaluation } from "../../../engine/runs/evaluations.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import type { MaskLayer } from "../../components/mask/layers.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
import { useRowsOpen } from "../../components/rollout/use-rows-open.ts";
import { Segmented } from "../../components/ui/controls.tsx";
import { useSession } from "../../stores/session.ts";
import { fixed, signed } from "../../styles/format.ts";
import styles from "./eval.module.css";
import { CardAnswer, RowCards } from "./row-cards.tsx";

const ORDERS = [
  { value: "gains", label: "Gains first" },
  { value: "losses", label: "Losses first" },
] as const;
/** Differences below this are ties. */
const TIE = 1e-6;

interface Pair {
  readonly before: RowScores;
  readonly after: RowScores;
  readonly change: number;
}

/** The report rows behind a score, largest change first, with captions and masks of the start and of now. */
export function EvalRows(props: {
  /** Names the rows of the run; null while it is being read. */
  readonly run: RunManifest | null;
  readonly first: StoredEvaluation;
  readonly last: StoredEvaluation;
  readonly metric: ScoreId;
}): ReactNode {
  const { run, first, last, metric } = props;
  const open = useRowsOpen(run);
  const [order, setOrder] = useState<"gains" | "losses">("gains");
  const pairs = useMemo(() => pairRows(first.rows, last.rows, metric), [first.rows, last.rows, metric]);
  const sorted = useMemo(
    () => [...pairs].sort((a, b) => (order === "gains" ? b.change - a.change : a.change - b.change)),
    [pairs, order],
  );
  const wins = pairs.filter(({ change }) => change > TIE).length;
  const losses = pairs.filter(({ change }) => change < -TIE).length;
  return (
    <section className="grid gap-3 min-0">
      <header className={`row wrap gap-2-4 between ${styles.rowsHead}`}>
        <h2>
          {wins} better, {losses} worse, {pairs.length - wins - losses} the same
        </h2>
        <Segmented label="Order" options={ORDERS} value={order} onChange={setOrder} />
      </header>
      {open === false && (
        <p className="muted" data-testid="eval-not-open">
          {`The rows of this run${run === null ? "" : ` (${run.data.name})`} are not open, so their pictures and given masks are not shown`}
        </p>
      )}
      <RowCards
        rows={sorted}
        keyOf={({ after }) => after.rowId}
        card={(pair) => <PairCard pair={pair} metric={metric} open={open === true} />}
      />
    </section>
  );
}

function PairCard(props: { readonly pair: Pair; readonly metric: ScoreId; readonly open: boolean }): ReactNode {
  const { pair, metric, open } = props;
  const { before, after, change } = pair;
  // Another data set may have a row of the same id.
  const given = useSession((session) => (open ? session.rows.find((row) => row.id === after.rowId)?.mask : undefined));
  const [height, width] = after.maskGreedy.size;
  const second = /^(loop|reward)2/.test(metric) || metric === "grounding_iou";
  const layers = (row: RowScores): MaskLayer[] => {
    const drawn: MaskLayer | null = second
      ? { role: "policy", mask: row.maskGreedy }
      : row.maskPrime === null
        ? null
        : { role: "partner", mask: row.maskPrime };
    return [
      ...(given === undefined ? [] : [{ role: "given" as const, mask: given }]),
      ...(drawn === null ? [] : [drawn]),
    ];
  };
  const said = (row: RowScores): string => (second ? row.captionPrime : row.captionGreedy) || "–";
  return (
    <>
      <p className={`flex gap-2 between ${styles.truth}`}>
        <span>{after.caption}</span>
        <b data-verdict={change > TIE ? "better" : change < -TIE ? "worse" : "open"}>{signed(change, 3)}</b>
      </p>
      <div className={`grid gap-2 ${styles.pair}`}>
        {[
          { row: before, when: "Start" },
          { row: after, when: "Now" },
        ].map(({ row, when }) => (
          <CardAnswer
            key={when}
            name={when}
            score={fixed(rowScoreOf(row, metric), 2)}
            figure={
              <MaskFigure
                rowId={open ? row.rowId : null}
                width={width}
                height={height}
                layers={layers(row)}
                label={`${when}: ${said(row)}, ${fixed(rowScoreOf(row, metric), 3)}`}
                sync={`eval ${row.rowId}`}
              />
            }
          >
            <span>{said(row)}</span>
          </CardAnswer>
        ))}
      </div>
    </>
  );
}

function pairRows(first: readonly RowScores[], last: readonly RowScores[], metric: ScoreId): Pair[] {
  const before = new Map(first.map((row) => [row.rowId, row]));
  return last.flatMap((after) => {
    const start = before.get(after.rowId);
    if (start === undefined || after.part === "selection") return [];
    const [then, now] = [rowScoreOf(start, metric), rowScoreOf(after, metric)];
    return then === null || now === null ? [] : [{ before: start, after, change: now - then }];
  });
}
