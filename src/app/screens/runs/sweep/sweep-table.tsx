import type { ReactNode } from "react";
import { differenceText } from "../../../../engine/runs/evaluations/difference-text.ts";
import { SCORES } from "../../../../engine/runs/evaluations/evaluation-scores.ts";
import { fewPicturesNotes, rowsText } from "../../../../engine/sweep/table.ts";
import type { SweepResults } from "../../../../protocol/data.ts";
import { report } from "../../../clients/lab.ts";
import { saveSweepReport } from "../../../clients/run/sweep.ts";
import { Button } from "../../../components/ui/button.tsx";
import { TableHead } from "../../../components/ui/table-head.tsx";
import { linkTo } from "../../../stores/route.ts";
import { fixed, NONE } from "../../../styles/format.ts";
import { scoreTitle } from "../../eval/eval-metrics.ts";
import styles from "./sweep.module.css";

const COLUMNS = [
  "Variant",
  "Score",
  "Rows (pictures)",
  "Start",
  "Difference over seeds",
  "Between runs (t)",
  "By seed",
];

/** Held-out differences to the start with their intervals and curves; a seed leads to its run's rows. */
export function SweepTable({ results }: { readonly results: SweepResults }): ReactNode {
  const text = (interval: Parameters<typeof differenceText>[0] | null): string =>
    interval === null ? NONE : differenceText(interval);
  const lines = SCORES.flatMap((score) =>
    results.flatMap(({ variant, rows, metrics, runs }) => {
      const found = metrics[score];
      return found === undefined ? [] : [{ score, variant, rows, found, runs }];
    }),
  );
  return (
    <section className="column-flex gap-3 mt-4" aria-label="Results of the sweep">
      <div className="scroll-x">
        <table className={styles.table} data-testid="sweep-table">
          <caption className="text-left muted small">
            Held-out rows, paired with the start. 95 % intervals: “over seeds” resamples seeds and pictures, “between
            runs” is a t interval over seeds, “by seed” resamples pictures.
          </caption>
          <TableHead columns={COLUMNS} />
          <tbody>
            {lines.map(({ score, variant, rows, found, runs }) => (
              <tr key={`${score} ${variant}`}>
                <th scope="row">{variant}</th>
                <td>{scoreTitle(score)}</td>
                <td>{rowsText(found, rows)}</td>
                <td>{fixed(found.start, 3)}</td>
                <td>{text(found.all)}</td>
                <td>{text(found.runs)}</td>
                <td>
                  {found.seeds.map(({ seed, difference }) => (
                    <span key={seed} className="block">
                      <a href={linkTo({ screen: "eval", run: runs.find((one) => one.seed === seed)?.run ?? null })}>
                        seed {seed}
                      </a>{" "}
                      {text(difference)}
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {fewPicturesNotes(results).map((note) => (
        <p key={note} className="warn">
          {note}
        </p>
      ))}
      {results.map(({ variant, curves }) => (
        <figure key={variant} className={styles.curves}>
          <img
            src={`data:image/svg+xml,${encodeURIComponent(curves)}`}
            alt={`Difference of ${variant} to the start over the steps, one line per seed`}
          />
          <figcaption className="muted small">
            {variant}: difference to the start over the steps, one line per seed
          </figcaption>
        </figure>
      ))}
      <div>
        <Button data-testid="sweep-report" onClick={() => report(saveSweepReport())}>
          Save HTML report
        </Button>
      </div>
    </section>
  );
}
