import { type CSSProperties, Fragment, type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import { toLabError } from "../../../../engine/errors.ts";
import { LOOPS } from "../../../../engine/rl/loops/abouts.ts";
import type { StoredEvaluation } from "../../../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../../../engine/runs/library/digest.ts";
import { lab } from "../../../clients/lab.ts";
import { ChartOptions, MetricPicker, SaveCsv } from "../../../components/charts/curve-controls.tsx";
import { AllSteps, ChartGrid } from "../../../components/charts/live-chart.tsx";
import {
  alongAxis,
  joinSources,
  loggedText,
  type MetricSource,
  otherMetrics,
} from "../../../components/charts/series.ts";
import { Button } from "../../../components/ui/button.tsx";
import { Panel } from "../../../components/ui/panel/panel.tsx";
import { useAsync } from "../../../components/use-async.ts";
import { linkTo, navigate, useRoute } from "../../../stores/route.ts";
import type { Axis } from "../../../stores/route-text.ts";
import { fillMetrics, metricStore } from "../../../stores/run/metrics.ts";
import { useRun } from "../../../stores/run/run.ts";
import styles from "./compare.module.css";
import { chosenChart, compareCharts, shownMetrics } from "./compare-specs.ts";
import { type ComparedRow, differenceRows, heldOutRows } from "./difference-rows.ts";

type Scores = ReadonlyMap<string, readonly StoredEvaluation[]>;

interface Compared {
  /** Curves of all runs as one source, which grows while they are read. */
  readonly source: ReturnType<typeof joinSources>;
  /** Held-out scores by run. */
  readonly evaluations: Scores;
  /** One sentence about the run that could not be read. */
  readonly problem: string | null;
}

const NONE: Scores = new Map();

/**
 * Curves and held-out scores of stored runs.
 * @param key their ids, separated by commas @param rows their training rows, likewise
 */
function useCompared(key: string, rows: string, axis: Axis): Compared {
  const arrived = useRun((run) => run.evaluations);
  const source = useMemo(() => {
    const counts = rows.split(",").map(Number);
    return joinSources(
      key.split(",").map((id, at) => ({ id, source: alongAxis(metricStore(id), axis, counts[at] ?? 0) })),
    );
  }, [key, rows, axis]);
  // Each further evaluation causes a new read.
  const { value } = useAsync(key, readAll, [arrived]);
  return { source, evaluations: value?.evaluations ?? NONE, problem: value?.problem ?? null };
}

async function readAll(key: string): Promise<Omit<Compared, "source">> {
  const { data } = lab();
  const evaluations = new Map<string, readonly StoredEvaluation[]>();
  let problem: string | null = null;
  for (const id of key.split(",")) {
    try {
      fillMetrics(id, (await data.run(id)).metrics);
      evaluations.set(id, await data.evaluations(id));
    } catch (thrown) {
      problem ??= `${id}: ${toLabError(thrown).message}`;
    }
  }
  return { evaluations, problem };
}

/** Default selection if the address names none: text length in the first loop that samples text. */
const FIRST_CHOICE = LOOPS.filter(({ samples }) => samples === "text")
  .slice(0, 1)
  .map(({ id }) => `loop${id}/completions/mean_length`);

/** Several runs on one set of charts, and their differences. @param runs two or more, in the order of their colours */
export function ComparePanel(props: { readonly runs: readonly RunDigest[]; readonly onClose: () => void }): ReactNode {
  const manifests = props.runs.map(({ manifest }) => manifest);
  const key = manifests.map(({ id }) => id).join(",");
  const axis = useRoute((route) => route.x);
  // Steps differ between runs and positions between axes, so each combination has its own zoom.
  const sync = `compare ${key}${axis === "step" ? "" : ` ${axis}`}`;
  const titles = manifests.map(({ title }) => title).join("\n");
  const { source, evaluations, problem } = useCompared(key, manifests.map(({ data }) => data.trainRows).join(), axis);
  const choice = useChoice(source);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only ids and titles of a run are drawn
  const runs = useMemo(() => manifests.map(({ id, title }) => ({ id, title })), [key, titles]);
  const scores = heldOutRows(
    props.runs.map(({ manifest, best }) => ({ evaluations: evaluations.get(manifest.id) ?? [], best })),
  );
  const differences = differenceRows(manifests);
  return (
    <Panel
      title={`${runs.length} runs compared`}
      aside={
        <div className="row wrap gap-3">
          <ChartOptions />
          <MetricPicker names={choice.others} chosen={choice.chosen} onChange={choice.choose} />
          <SaveCsv source={source} name="compared-runs" />
          <AllSteps sync={sync} axis={axis} />
          <Button onClick={props.onClose}>Close</Button>
        </div>
      }
    >
      <div className="column-flex gap-3" data-testid="compare">
        {problem !== null && <p className="bad">Cannot read this run: {problem}</p>}
        <Charts runs={runs} source={source} sync={sync} choice={choice} key={key} />
        {differences.length === 0 && <p className="muted">Model, data and settings are identical</p>}
        <ComparedTable titles={runs.map(({ title }) => title)} rows={[...scores, ...differences]} />
      </div>
    </Panel>
  );
}

interface Choice {
  /** Metrics that at least one of the runs has. */
  readonly logged: ReadonlySet<string>;
  /** The metrics among them that can be selected. */
  readonly others: readonly string[];
  readonly chosen: readonly string[];
  readonly choose: (metrics: readonly string[]) => void;
}

/** The metrics whose charts the user added, stored in the address. */
function useChoice(source: MetricSource): Choice {
  const chosen = useRoute((route) => route.metrics) ?? FIRST_CHOICE;
  const names = useSyncExternalStore(source.subscribe, () => loggedText({ names: ownNames(source) }));
  const [logged, others] = useMemo(() => {
    const all = new Set(names.split("\n").filter(Boolean));
    return [all, otherMetrics(all, shownMetrics())] as const;
  }, [names]);
  return { logged, others, chosen, choose: (metrics) => navigate({ metrics }) };
}

function Charts(props: {
  readonly runs: readonly { readonly id: string; readonly title: string }[];
  readonly source: MetricSource;
  readonly sync: string;
  readonly choice: Choice;
}): ReactNode {
  const { runs, source, sync } = props;
  const { logged, others, chosen, choose } = props.choice;
  const [step, setStep] = useState<number | null>(null);
  const charts = useMemo(() => compareCharts(runs, logged), [runs, logged]);
  const picked = useMemo(
    () => chosen.filter((name) => others.includes(name)).map((name) => chosenChart(name, runs)),
    [chosen, others, runs],
  );
  const specs = useMemo(() => [...charts, ...picked], [charts, picked]);
  return (
    <>
      <ChartGrid
        specs={specs}
        source={source}
        sync={sync}
        className={styles.charts}
        onPick={setStep}
        onRemove={(metric) => choose(chosen.filter((name) => name !== metric))}
      />
      <p className={`flex wrap muted small ${styles.picked}`} role="status">
        {step === null ? "Click a point to open the rollouts of its step" : `Rollouts of step ${step} of `}
        {step !== null &&
          runs.map(({ id, title }) => (
            <a key={id} href={linkTo({ screen: "train", tab: "rollouts", run: id, step })}>
              {title}
            </a>
          ))}
      </p>
    </>
  );
}

/** Metrics that any of the runs logged, without the run names. */
function ownNames(source: MetricSource): readonly string[] {
  return [...new Set(source.names.map((name) => name.slice(name.indexOf(" ") + 1)))].sort();
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
