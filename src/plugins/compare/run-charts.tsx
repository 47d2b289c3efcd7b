/** Curves of stored runs on one set of charts: one metric each, with one line per run. */
import { type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import { readRun } from "../../app/clients/run/run-reads.ts";
import { AllSteps, ChartGrid } from "../../app/components/charts/live-chart.tsx";
import { alongAxis, loggedText, type MetricSource, otherMetrics } from "../../app/components/charts/series.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { PluginPanels } from "../../app/components/place/place.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { readOnce } from "../../app/stores/reads.ts";
import { linkTo, navigate, useRoute } from "../../app/stores/route.ts";
import type { Axis } from "../../app/stores/route-text.ts";
import { metricStore } from "../../app/stores/run/metrics.ts";
import { toLabError } from "../../engine/errors.ts";
import { LOOPS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import type { StepNote } from "../../engine/runs/notes.ts";
import { COMPARED_METRICS, chosenChart, compareCharts, DIFFERENCES } from "./chart-specs.ts";
import styles from "./compare.module.css";
import { differentFormulas } from "./difference-rows.ts";
import { joinSources } from "./join-sources.ts";

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
  const { value } = useAsync(key, async (ids) => {
    let first: string | null = null;
    for (const id of ids.split(",")) {
      try {
        await readOnce(readRun(id));
      } catch (thrown) {
        first ??= `${id}: ${toLabError(thrown).message}`;
      }
    }
    return first;
  });
  return { source, problem: value ?? null };
}

/** Default selection if the address names none: text length in the first loop that samples text. */
const FIRST_CHOICE = LOOPS.filter(({ samples }) => samples === "text")
  .slice(0, 1)
  .map(({ id }) => `loop${id}/completions/mean_length`);

/** Curves of runs on one set of charts. @param runs one or more, in the order of their colours */
export default function RunCharts(props: Places["run-curves"]): ReactNode {
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: the reward settings of a stored run stay
  const formulas = useMemo(() => differentFormulas(manifests.map(({ config }) => config)), [key]);
  // Where a fork changed a setting, its note marks the curves.
  const notes = props.runs.flatMap(({ manifest: { title }, notes: own }) =>
    own.steps.map(({ step, text }) => ({ step, text: props.runs.length > 1 ? `${title}: ${text}` : text })),
  );
  return (
    <Panel
      title={runs.length === 1 ? (runs[0]?.title ?? "") : `${runs.length} runs compared`}
      aside={
        <div className="row wrap gap-2">
          {runs.length > 1 && (
            <Button
              className={styles.down ?? ""}
              onClick={() => {
                const differences = document.getElementById(DIFFERENCES);
                differences?.scrollIntoView();
                differences?.focus();
              }}
            >
              Differences
            </Button>
          )}
          <PluginPanels
            at="curve-tools"
            given={{
              source,
              name: "compared-runs",
              names: choice.others,
              chosen: choice.chosen,
              onChange: choice.choose,
            }}
            quiet
          />
          <AllSteps sync={sync} axis={axis} />
        </div>
      }
    >
      <div className="column-flex gap-3" data-testid="run-charts">
        {problem !== null && <p className="bad">Cannot read this run: {problem}</p>}
        <Charts runs={runs} formulas={formulas} source={source} sync={sync} choice={choice} notes={notes} key={key} />
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
    return [all, otherMetrics(all, COMPARED_METRICS)] as const;
  }, [names]);
  return { logged, others, chosen, choose: (metrics) => navigate({ metrics }) };
}

function Charts(props: {
  readonly runs: readonly { readonly id: string; readonly title: string }[];
  /** Loops whose rewards are different formulas in the runs. */
  readonly formulas: readonly LoopId[];
  readonly source: MetricSource;
  readonly sync: string;
  readonly choice: Choice;
  readonly notes: readonly StepNote[];
}): ReactNode {
  const { runs, formulas, source, sync, notes } = props;
  const { logged, others, chosen, choose } = props.choice;
  const [step, setStep] = useState<number | null>(null);
  const charts = useMemo(() => compareCharts(runs, logged, formulas), [runs, logged, formulas]);
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
        className={styles.runCharts}
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
