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
  /** By run, in their order. */
  readonly places: readonly Places[];
}

/** The runs side by side; values of a step that a run does not have are missing. It follows runs that still grow. */
export function joinSources(runs: readonly JoinedRun[]): MetricSource {
  /** Count and newest step of each run when it was joined. */
  let seen: readonly (readonly [number, number | undefined])[] = [];
  let joined: Joined = { steps: new Float64Array(0), places: [] };
  const now = (): Joined => {
    const same = runs.every(({ source: { steps } }, at) => {
      const [count, newest] = seen[at] ?? [-1];
      return steps.length === count && steps[count - 1] === newest;
    });
    if (!same || seen.length === 0) {
      seen = runs.map(({ source: { steps } }) => [steps.length, steps[steps.length - 1]] as const);
      joined = join(runs);
    }
    return joined;
  };
  const origins = new Map<string, readonly [run: number, metric: string]>();
  /** Run and metric of a name, −1 for no run of these; asked for every point that is drawn. */
  const originOf = (name: string): readonly [run: number, metric: string] => {
    const at = name.indexOf(" ");
    const known = origins.get(name);
    const origin = known ?? [runs.findIndex(({ id }) => id === name.slice(0, at)), name.slice(at + 1)];
    origins.set(name, origin);
    return origin;
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
      const [run, metric] = originOf(name);
      const own = runs[run]?.source.column(metric);
      return Float64Array.from(steps, (_, step) => own?.[places[run]?.[step] ?? -1] ?? Number.NaN);
    },
    isMissing: (name, step) => {
      const [run, metric] = originOf(name);
      const at = now().places[run]?.[step] ?? -1;
      return at < 0 || runs[run]?.source.isMissing(metric, at) !== false;
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
  const places = runs.map(({ source }): Places => {
    const known = new Map(Array.from(source.steps, (step, at) => [step, at] as const));
    return Int32Array.from(steps, (step) => known.get(step) ?? -1);
  });
  return { steps, places };
}
