import { Fragment, type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import type { RunSummary } from "../../../../protocol/data.ts";
import type { MetricSource } from "../../../components/charts/chart-spec.ts";
import { LiveChart } from "../../../components/charts/live-chart.tsx";
import { SmoothingControl } from "../../../components/charts/smoothing-control.tsx";
import { setSharedZoom } from "../../../components/charts/zoom.ts";
import { Button } from "../../../components/ui/button.tsx";
import { Select } from "../../../components/ui/controls.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { linkTo, useRoute } from "../../../stores/route.ts";
import styles from "./compare.module.css";
import { chosenChart, compareCharts, otherMetrics } from "./compare-specs.ts";
import { type ComparedRow, differenceRows, heldOutRows } from "./difference-rows.ts";
import { useCompared } from "./use-compared.ts";

const FIRST_CHOICE = "loop1/completions/mean_length";

/** Some runs on one set of charts, and what is different between them. @param runs two or more, in the order of their colours */
export function ComparePanel(props: { readonly runs: readonly RunSummary[]; readonly onClose: () => void }): ReactNode {
  const manifests = props.runs.map(({ manifest }) => manifest);
  const key = manifests.map(({ id }) => id).join(",");
  // Other runs have other steps: a stretch that was zoomed to means nothing there.
  const sync = `compare ${key}`;
  const titles = manifests.map(({ title }) => title).join("\n");
  const { source, evaluations, problem } = useCompared(key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: ids and titles are all that is drawn of a run
  const runs = useMemo(() => manifests.map(({ id, title }) => ({ id, title })), [key, titles]);
  const scores = heldOutRows(manifests.map(({ id }) => evaluations.get(id) ?? []));
  const differences = differenceRows(manifests);
  return (
    <Panel
      title={`${runs.length} runs compared`}
      aside={
        <div className={styles.aside}>
          <SmoothingControl />
          <Button kind="quiet" title="Double click on a chart does the same" onClick={() => setSharedZoom(sync, null)}>
            All steps
          </Button>
          <Button onClick={props.onClose}>Close</Button>
        </div>
      }
    >
      <div className={styles.parts} data-testid="compare">
        {problem !== null && <p className={styles.problem}>This run could not be read: {problem}</p>}
        <Charts runs={runs} source={source} sync={sync} key={key} />
        {differences.length === 0 && <p className={styles.same}>Model, data and all settings are the same</p>}
        <ComparedTable titles={runs.map(({ title }) => title)} rows={[...scores, ...differences]} />
      </div>
    </Panel>
  );
}

function Charts(props: {
  readonly runs: readonly { readonly id: string; readonly title: string }[];
  readonly source: MetricSource;
  readonly sync: string;
}): ReactNode {
  const { runs, source, sync } = props;
  const smooth = useRoute((route) => route.smooth);
  const [wanted, setWanted] = useState(FIRST_CHOICE);
  const [picked, setPicked] = useState<number | null>(null);
  const names = useSyncExternalStore(source.subscribe, () => loggedText(source));
  const logged = useMemo(() => new Set(names.split("\n")), [names]);
  const charts = useMemo(() => compareCharts(runs, logged), [runs, logged]);
  const others = otherMetrics(logged);
  const chosen = others.includes(wanted) ? wanted : others[0];
  const own = useMemo(() => (chosen === undefined ? null : chosenChart(chosen, runs)), [chosen, runs]);
  const shown = own === null ? charts : [...charts, own];
  return (
    <>
      {chosen !== undefined && (
        <div className={styles.choice}>
          <label htmlFor="compare-metric">Another metric</label>
          <Select
            id="compare-metric"
            testId="compare-metric"
            options={others.map((name) => ({ value: name, label: name }))}
            value={chosen}
            onChange={setWanted}
          />
        </div>
      )}
      <div className={styles.charts}>
        {shown.map((spec) => (
          <LiveChart
            key={spec.id === "compare-chosen" ? spec.title : spec.id}
            spec={spec}
            source={source}
            smoothing={smooth}
            sync={sync}
            onPick={setPicked}
          />
        ))}
      </div>
      <p className={styles.picked} role="status">
        {picked === null ? "Click a point to get to the rollouts of its step" : `Rollouts of step ${picked} of `}
        {picked !== null &&
          runs.map(({ id, title }) => (
            <a key={id} href={linkTo({ screen: "rollouts", run: id, step: picked })}>
              {title}
            </a>
          ))}
      </p>
    </>
  );
}

/** Metrics that any of the runs logged, one a line: a text compares equal as long as nothing new came. */
function loggedText(source: MetricSource): string {
  const names = new Set(source.names.map((name) => name.slice(name.indexOf(" ") + 1)));
  return [...names].sort().join("\n");
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
    <div className={styles.scroll}>
      <table className={styles.table} data-testid="compare-table">
        <thead>
          <tr>
            <th scope="col">
              <span className="visually-hidden">Of each run</span>
            </th>
            {titles.map((title, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the place is the run's colour
              <th scope="col" key={at} data-run={at + 1}>
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
