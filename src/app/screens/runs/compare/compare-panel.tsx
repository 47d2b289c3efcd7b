import { type CSSProperties, Fragment, type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import { toLabError } from "../../../../engine/errors.ts";
import { LOOPS } from "../../../../engine/rl/loops/abouts.ts";
import type { StoredEvaluation } from "../../../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../../../engine/runs/library/digest.ts";
import type { StepNote } from "../../../../engine/runs/notes.ts";
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
import { HeldOutSides } from "./held-out-sides.tsx";

type Scores = ReadonlyMap<string, readonly StoredEvaluation[]>;

/**
 * Curves of stored runs as one source, which grows while they are read, and a sentence about the run that cannot be read.
 * @param key their ids, separated by commas @param rows their training rows, likewise
 */
function useCurves(
  key: string,
  rows: string,
  axis: Axis,
): { readonly source: MetricSource; readonly problem: string | null } {
  const source = useMemo(() => {
    const counts = rows.split(",").map(Number);
    return joinSources(
      key.split(",").map((id, at) => ({ id, source: alongAxis(metricStore(id), axis, counts[at] ?? 0) })),
    );
  }, [key, rows, axis]);
  const { value } = useAsync(key, (ids) =>
    eachRun(ids, async (id) => fillMetrics(id, (await lab().data.run(id)).metrics)),
  );
  return { source, problem: value ?? null };
}

/** Reads something of each run. @returns a sentence about the first one that cannot be read, or null */
async function eachRun(key: string, read: (id: string) => Promise<void>): Promise<string | null> {
  let problem: string | null = null;
  for (const id of key.split(",")) {
    try {
      await read(id);
    } catch (thrown) {
      problem ??= `${id}: ${toLabError(thrown).message}`;
    }
  }
  return problem;
}

/** Held-out scores of stored runs, read again after each further evaluation. @param key their ids, separated by commas */
function useScores(key: string): Scores {
  const arrived = useRun((run) => run.evaluations);
  const { value } = useAsync(
    key,
    async (ids) => {
      const evaluations = new Map<string, readonly StoredEvaluation[]>();
      // The curves report a run that cannot be read.
      await eachRun(ids, async (id) => void evaluations.set(id, await lab().data.evaluations(id)));
      return evaluations;
    },
    [arrived],
  );
  return value ?? NONE;
}

const NONE: Scores = new Map();

/** Default selection if the address names none: text length in the first loop that samples text. */
const FIRST_CHOICE = LOOPS.filter(({ samples }) => samples === "text")
  .slice(0, 1)
  .map(({ id }) => `loop${id}/completions/mean_length`);

/** Curves of runs on one set of charts. @param runs one or more, in the order of their colours */
export function RunCharts(props: { readonly runs: readonly RunDigest[] }): ReactNode {
  const manifests = props.runs.map(({ manifest }) => manifest);
  const key = manifests.map(({ id }) => id).join(",");
  const axis = useRoute((route) => route.x);
  // Steps differ between runs and positions between axes, so each combination has its own zoom.
  const sync = `compare ${key}${axis === "step" ? "" : ` ${axis}`}`;
  const titles = manifests.map(({ title }) => title).join("\n");
  const { source, problem } = useCurves(key, manifests.map(({ data }) => data.trainRows).join(), axis);
  const choice = useChoice(source);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only ids and titles of a run are drawn
  const runs = useMemo(() => manifests.map(({ id, title }) => ({ id, title })), [key, titles]);
  // Where a fork changed a setting, its note marks the curves.
  const notes = props.runs.flatMap(({ manifest: { title }, notes: own }) =>
    own.steps.map(({ step, text }) => ({ step, text: props.runs.length > 1 ? `${title}: ${text}` : text })),
  );
  return (
    <Panel
      title={runs.length === 1 ? (runs[0]?.title ?? "") : `${runs.length} runs compared`}
      aside={
        <div className="row wrap gap-2">
          <ChartOptions />
          <MetricPicker names={choice.others} chosen={choice.chosen} onChange={choice.choose} />
          <SaveCsv source={source} name="compared-runs" />
          <AllSteps sync={sync} axis={axis} />
        </div>
      }
    >
      <div className="column-flex gap-3" data-testid="run-charts">
        {problem !== null && <p className="bad">Cannot read this run: {problem}</p>}
        <Charts runs={runs} source={source} sync={sync} choice={choice} notes={notes} key={key} />
      </div>
    </Panel>
  );
}

/** What differs between runs: held-out scores, settings, and the rows with the largest differences. @param runs two or more */
export function Comparison(props: { readonly runs: readonly RunDigest[]; readonly onClose: () => void }): ReactNode {
  const manifests = props.runs.map(({ manifest }) => manifest);
  const evaluations = useScores(manifests.map(({ id }) => id).join(","));
  const scores = heldOutRows(
    props.runs.map(({ manifest, best }) => ({ evaluations: evaluations.get(manifest.id) ?? [], best })),
  );
  const differences = differenceRows(manifests);
  const [one, other] = props.runs.map(({ manifest: { id, title } }) => ({ title, list: evaluations.get(id) ?? [] }));
  return (
    <>
      <Panel title="Differences" aside={<Button onClick={props.onClose}>Close</Button>}>
        <div className="column-flex gap-3" data-testid="compare">
          {differences.length === 0 && <p className="muted">Model, data and settings are identical</p>}
          <ComparedTable titles={manifests.map(({ title }) => title)} rows={[...scores, ...differences]} />
        </div>
      </Panel>
      {one !== undefined && other !== undefined && <HeldOutSides one={one} other={other} />}
    </>
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
  readonly notes: readonly StepNote[];
}): ReactNode {
  const { runs, source, sync, notes } = props;
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
        notes={notes}
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
