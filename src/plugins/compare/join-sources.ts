/** Curves of several runs as one source, one column per run and metric. */
import type { MetricSource } from "../../app/components/charts/series.ts";

interface JoinedRun {
  /** Without spaces. */
  readonly id: string;
  readonly source: MetricSource;
}

/** Name of a run's metric in the joined source. */
export function joinedName(runId: string, metric: string): string {
  return `${runId} ${metric}`;
}

/** Index of each joined step in one run; −1 if the run has no such step. */
type Places = Int32Array<ArrayBuffer>;

interface Joined {
  /** At each place, the step of the first run that has it. */
  readonly steps: Float64Array<ArrayBuffer>;
  readonly xs: Float64Array<ArrayBuffer>;
  /** Per run, in order. */
  readonly places: readonly Places[];
}

/** The runs side by side; a place that a run lacks has no value. The source updates while runs continue. */
export function joinSources(runs: readonly JoinedRun[]): MetricSource {
  /** Number of steps and newest step of each run when the runs were joined. */
  let seen: readonly (readonly [number, number | undefined])[] = [];
  let joined: Joined = { steps: new Float64Array(0), xs: new Float64Array(0), places: [] };
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
  /** Run and metric of a name, −1 for an unknown run; called for every drawn point. */
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
    get xs() {
      return now().xs;
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
  const steps = new Map<number, number>();
  const known = runs.map(({ source }) => {
    const [own, xs] = [source.steps, source.xs];
    for (let at = 0; at < own.length; at++)
      if (!steps.has(xs[at] as number)) steps.set(xs[at] as number, own[at] as number);
    return new Map(Array.from(xs, (x, at) => [x, at] as const));
  });
  const xs = Float64Array.from(steps.keys()).sort();
  return {
    xs,
    steps: Float64Array.from(xs, (x) => steps.get(x) as number),
    places: known.map((places) => Int32Array.from(xs, (x) => places.get(x) ?? -1)),
  };
}
