import { Fragment, type ReactNode, useState } from "react";
import { RUNS, readEvaluations } from "../../app/clients/run/run-reads.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Select } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { readOnce, useRead } from "../../app/stores/reads.ts";
import type { StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../engine/runs/library/digest.ts";
import { DIFFERENCES } from "./chart-specs.ts";
import styles from "./compare.module.css";
import {
  type ComparedRow,
  cautions,
  commonSteps,
  differenceRows,
  evaluationAt,
  heldOutRows,
} from "./difference-rows.ts";
import { colourOf, HeldOutSides } from "./held-out-sides.tsx";
import { forksOf } from "./shared-rows.ts";
import { SideBySide } from "./side-by-side.tsx";

type Scores = ReadonlyMap<string, readonly StoredEvaluation[]>;

/** Held-out scores of stored runs, read again after each further evaluation; null before they are read. */
function useScores(runs: readonly RunDigest[]): Scores | null {
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
  return value ?? null;
}

/** Whether the runs have different scores at a step: a fork has those of its parent up to where it begins. */
function differAt(lists: readonly (readonly StoredEvaluation[])[], step: number): boolean {
  return new Set(lists.map((list) => JSON.stringify(evaluationAt(list, step)?.report.means))).size > 1;
}

/** The choice of every run's newest evaluation, whatever its step. */
const NEWEST = "newest";

/**
 * What differs between the chosen runs, and the same rows of each: held-out scores, settings, rows with the largest
 * differences, rollouts of a row. Scores are of the newest step at which all runs were evaluated and differ,
 * unless the user chooses another. One run is compared with itself at another step.
 */
export default function Comparison({ runs, onClose }: Places["compare"]): ReactNode {
  const manifests = runs.map(({ manifest }) => manifest);
  const known = useRead(RUNS).value;
  const all = [...(known?.stored.runs ?? []), ...(known?.elsewhere ?? []), ...runs].map(({ manifest }) => manifest);
  const evaluations = useScores(runs);
  const [asked, setAsked] = useState<string | null>(null);
  const common = commonSteps([...(evaluations?.values() ?? [])]).map(String);
  const telling = common.findLast((value) => differAt([...(evaluations?.values() ?? [])], Number(value)));
  const at = [...common, NEWEST].find((choice) => choice === asked) ?? telling ?? NEWEST;
  const step = at === NEWEST ? null : Number(at);
  const heldOut = runs.map(({ manifest, best }) => ({
    manifest,
    evaluations: evaluations?.get(manifest.id) ?? [],
    best,
  }));
  const scores = heldOutRows(heldOut, step);
  const differences = differenceRows(manifests);
  const sides = manifests.map((manifest) => ({
    ...manifest,
    forks: forksOf(manifest, all),
    list: evaluations?.get(manifest.id) ?? [],
  }));
  return (
    <>
      {sides.length > 1 && (
        <>
          <Panel
            title="Differences"
            aside={
              <span className="row wrap gap-2">
                {scores.length > 0 && (
                  <Select
                    label="Evaluation"
                    testId="compared-step"
                    options={[
                      ...common.map((value) => ({ value, label: `Step ${value} of each` })),
                      { value: NEWEST, label: "Newest of each" },
                    ]}
                    value={at}
                    onChange={setAsked}
                  />
                )}
                <Button onClick={onClose}>Close</Button>
              </span>
            }
          >
            <div
              id={DIFFERENCES}
              className={`column-flex gap-3 ${styles.differences}`}
              data-testid="compare"
              tabIndex={-1}
            >
              {cautions(heldOut, step).map((text) => (
                <p key={text} className="warn m-0" data-testid="apart">
                  {text}
                </p>
              ))}
              {differences.length === 0 && <p className="muted">Model, data and settings are identical</p>}
              <ComparedTable titles={sides.map(({ title }) => title)} rows={[...scores, ...differences]} />
            </div>
          </Panel>
          {evaluations !== null && <HeldOutSides sides={sides} step={step} />}
        </>
      )}
      <SideBySide key={sides.map(({ id }) => id).join()} runs={sides} />
    </>
  );
}

function ComparedTable({
  titles,
  rows,
}: {
  readonly titles: readonly string[];
  readonly rows: readonly ComparedRow[];
}): ReactNode {
  if (rows.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard
    <div className="scroll-x" tabIndex={0}>
      <table className={`small ${styles.table}`} data-testid="compare-table">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Of each run</span>
            </th>
            {titles.map((title, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the place is the run's colour
              <th scope="col" key={at} className={styles.run} style={colourOf(at)} title={title}>
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
                <th scope="row" title={row.label}>
                  {row.label}
                </th>
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
