/** Several runs as one source of curves: all their steps, and every metric once a run. */
import type { MetricSource } from "./chart-spec.ts";

export interface JoinedRun {
  /** Without spaces. */
  readonly id: string;
  readonly source: MetricSource;
}

/** What a run's metric is called in the joined source. */
export function joinedName(runId: string, metric: string): string {
  return `${runId} ${metric}`;
}

/** Where each of the joined steps lies in one run, −1 where the run has no such step. */
type Places = Int32Array<ArrayBuffer>;

interface Joined {
  readonly steps: Float64Array<ArrayBuffer>;
  readonly places: ReadonlyMap<string, Places>;
}

/** The runs side by side; values of a step that a run does not have are missing. It follows runs that still grow. */
export function joinSources(runs: readonly JoinedRun[]): MetricSource {
  let state = "";
  let joined: Joined = { steps: new Float64Array(0), places: new Map() };
  const now = (): Joined => {
    const found = runs.map(({ source: { steps } }) => `${steps.length} ${steps[steps.length - 1] ?? ""}`).join();
    if (found !== state) {
      joined = join(runs);
      state = found;
    }
    return joined;
  };
  const split = (name: string): { readonly run: JoinedRun | undefined; readonly metric: string } => {
    const at = name.indexOf(" ");
    return { run: runs.find(({ id }) => id === name.slice(0, at)), metric: name.slice(at + 1) };
  };
  return {
    get steps() {
      return now().steps;
    },
    get names() {
      return runs.flatMap(({ id, source }) => source.names.map((metric) => joinedName(id, metric)));
    },
    column: (name) => {
      const { steps, places } = now();
      const { run, metric } = split(name);
      const own = run?.source.column(metric);
      const at = run === undefined ? undefined : places.get(run.id);
      return Float64Array.from(steps, (_, step) => own?.[at?.[step] ?? -1] ?? Number.NaN);
    },
    isMissing: (name, step) => {
      const { run, metric } = split(name);
      const at = run === undefined ? -1 : (now().places.get(run.id)?.[step] ?? -1);
      return run === undefined || at < 0 || run.source.isMissing(metric, at);
    },
    subscribe: (changed) => {
      const stops = runs.map(({ source }) => source.subscribe(changed));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

function join(runs: readonly JoinedRun[]): Joined {
  const all = new Set(runs.flatMap(({ source }) => Array.from(source.steps)));
  const steps = Float64Array.from(all).sort();
  const places = new Map<string, Places>();
  for (const { id, source } of runs) {
    const known = new Map(Array.from(source.steps, (step, at) => [step, at] as const));
    places.set(
      id,
      Int32Array.from(steps, (step) => known.get(step) ?? -1),
    );
  }
  return { steps, places };
}
