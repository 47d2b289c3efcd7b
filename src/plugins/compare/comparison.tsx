import { type CSSProperties, Fragment, type ReactNode } from "react";
import { readEvaluations } from "../../app/clients/run/run-reads.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { readOnce } from "../../app/stores/reads.ts";
import type { StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../engine/runs/library/digest.ts";
import styles from "./compare.module.css";
import { type ComparedRow, differenceRows, heldOutRows } from "./difference-rows.ts";
import { HeldOutSides } from "./held-out-sides.tsx";
import { SideBySide } from "./side-by-side.tsx";

type Scores = ReadonlyMap<string, readonly StoredEvaluation[]>;

/** Held-out scores of stored runs, read again after each further evaluation. */
function useScores(runs: readonly RunDigest[]): Scores {
  const { value } = useAsync(
    runs.map(({ manifest }) => manifest.id).join(),
    async (ids) => {
      const evaluations = new Map<string, readonly StoredEvaluation[]>();
      for (const id of ids.split(",")) {
        // The curves report a run that cannot be read.
        evaluations.set(id, await readOnce(readEvaluations(id)).catch(() => []));
      }
      return evaluations;
    },
    [runs.map(({ evaluated }) => evaluated.length).join()],
  );
  return value ?? NONE;
}

const NONE: Scores = new Map();

/**
 * What differs between the chosen runs, and the same rows of each: held-out scores, settings, rows with the largest
 * differences, rollouts of a row. One run is compared with itself at another step.
 */
export default function Comparison({ runs, onClose }: Places["compare"]): ReactNode {
  const manifests = runs.map(({ manifest }) => manifest);
  const evaluations = useScores(runs);
  const scores = heldOutRows(
    runs.map(({ manifest, best }) => ({ evaluations: evaluations.get(manifest.id) ?? [], best })),
  );
  const differences = differenceRows(manifests);
  const sides = manifests.map(({ id, title }) => ({ id, title, list: evaluations.get(id) ?? [] }));
  const [one, other] = sides;
  return (
    <>
      {one !== undefined && other !== undefined && (
        <>
          <Panel title="Differences" aside={<Button onClick={onClose}>Close</Button>}>
            <div className="column-flex gap-3" data-testid="compare">
              {differences.length === 0 && <p className="muted">Model, data and settings are identical</p>}
              <ComparedTable titles={sides.map(({ title }) => title)} rows={[...scores, ...differences]} />
            </div>
          </Panel>
          <HeldOutSides one={one} other={other} />
        </>
      )}
      <SideBySide key={sides.map(({ id }) => id).join()} runs={sides} />
    </>
  );
}

const colourOf = (at: number) => ({ "--run": `var(--run-${at + 1})` }) as CSSProperties;

function ComparedTable({
  titles,
  rows,
}: {
  readonly titles: readonly string[];
  readonly rows: readonly ComparedRow[];
}): ReactNode {
  if (rows.length === 0) return null;
  return (
    <div className="scroll-x">
      <table className={`small ${styles.table}`} data-testid="compare-table">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Of each run</span>
            </th>
            {titles.map((title, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the place is the run's colour
              <th scope="col" key={at} className={styles.run} style={colourOf(at)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <Fragment key={`${row.group} ${row.label}`}>
              {row.group !== rows[at - 1]?.group && (
                <tr className={styles.group}>
                  <th scope="rowgroup" colSpan={1 + titles.length}>
                    {row.group}
                  </th>
                </tr>
              )}
              <tr>
                <th scope="row">{row.label}</th>
                {row.values.map((value, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the place is the run's
                  <td key={place} title={value}>
                    {value}
                  </td>
                ))}
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}
