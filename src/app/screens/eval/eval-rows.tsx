import { type ReactNode, useMemo, useState } from "react";
import type { ScoreId } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { countChanges, rowPairs } from "../../../engine/runs/library/run-result.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { useRowsOpen } from "../../components/rollout/use-rows-open.ts";
import { Segmented } from "../../components/ui/controls.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { RowCard, RowDetails } from "./eval-row.tsx";
import { RowCards } from "./row-cards.tsx";

const ORDERS = { gains: "Gains first", losses: "Losses first" } as const;

/**
 * The report rows behind a score, largest change first, with captions and masks of the start and the newest weights.
 */
export function EvalRows(props: {
  /** Names the rows of the run; null while it is being read. */
  readonly run: RunManifest | null;
  readonly first: StoredEvaluation;
  readonly last: StoredEvaluation;
  readonly metric: ScoreId;
}): ReactNode {
  const { run, first, last, metric } = props;
  const open = useRowsOpen(run);
  const [order, setOrder] = useState<keyof typeof ORDERS>("gains");
  const pairs = useMemo(() => rowPairs(first.rows, last.rows, metric), [first.rows, last.rows, metric]);
  const sorted = useMemo(
    () => [...pairs].sort((a, b) => (order === "gains" ? b.change - a.change : a.change - b.change)),
    [pairs, order],
  );
  const [opened, setOpened] = useState<string | null>(null);
  const chosen = pairs.find(({ after }) => after.rowId === opened);
  const { better, worse, same } = useMemo(() => countChanges(pairs), [pairs]);
  return (
    <section className="grid gap-3 min-0">
      <header className="row wrap gap-2-4 between">
        <h2>
          {better} better, {worse} worse, {same} the same
        </h2>
        <Segmented label="Order" options={ORDERS} value={order} onChange={setOrder} />
      </header>
      {open === false && (
        <p className="muted" data-testid="eval-not-open">
          {`The rows of this run${run === null ? "" : ` (${run.data.name})`} are not open, so pictures and given masks are missing`}
        </p>
      )}
      <RowCards
        rows={sorted}
        keyOf={({ after }) => after.rowId}
        card={(pair) => (
          <RowCard pair={pair} metric={metric} open={open === true} onOpen={() => setOpened(pair.after.rowId)} />
        )}
      />
      <Dialog title="Held-out row" wide open={chosen !== undefined} onOpenChange={() => setOpened(null)}>
        {chosen !== undefined && <RowDetails pair={chosen} metric={metric} open={open === true} />}
      </Dialog>
    </section>
  );
}
