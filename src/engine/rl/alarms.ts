/** Rules that look at the metrics of a run and say in one sentence what is going wrong (reference: ui.md §5). */
import type { StepMetrics } from "../runs/records.ts";
import type { Alarm } from "./events.ts";

/** Steps a rule looks back over. */
const WINDOW = 5;

interface Rule {
  readonly id: string;
  readonly severity: Alarm["severity"];
  /** A sentence, or null when all is well. @param recent newest last, at most WINDOW rows */
  readonly check: (recent: readonly StepMetrics[]) => string | null;
}

const last = (rows: readonly StepMetrics[]): StepMetrics => rows[rows.length - 1] ?? {};
const full = (rows: readonly StepMetrics[]): boolean => rows.length === WINDOW;
const every = (rows: readonly StepMetrics[], name: string, holds: (value: number) => boolean): boolean =>
  full(rows) && rows.every((row) => row[name] !== undefined && holds(row[name]));

function perLoop(loop: 1 | 2): Rule[] {
  const name = (metric: string): string => `loop${loop}/${metric}`;
  return [
    {
      id: `zero-spread-${loop}`,
      severity: "warning",
      check: (rows) => {
        const shares = rows.flatMap((row) => row[name("frac_reward_zero_std")] ?? []);
        const share = shares.reduce((sum, value) => sum + value, 0) / Math.max(1, shares.length);
        if (!full(rows) || share <= 0.5) return null;
        return `Loop ${loop}: ${Math.round(share * 100)} % of the groups have equal rewards and teach nothing; raise the temperature, the noise or G`;
      },
    },
    {
      id: `truncated-${loop}`,
      severity: "warning",
      check: (rows) =>
        every(rows, name("completions/clipped_ratio"), (value) => value > 0.75)
          ? `Loop ${loop}: most captions reach the length limit; raise it or check that the model ends its answers`
          : null,
    },
    {
      id: `empty-mask-${loop}`,
      severity: "warning",
      check: (rows) =>
        every(rows, name("mask/empty_ratio"), (value) => value > 0.5)
          ? `Loop ${loop}: more than half of the masks are empty`
          : null,
    },
    {
      id: `kl-${loop}`,
      severity: "warning",
      check: (rows) => {
        const kl = last(rows)[name("kl")];
        if (kl === undefined || kl <= 5) return null;
        return `Loop ${loop}: KL to the reference is ${kl.toFixed(2)} nats; lower the learning rate or raise β`;
      },
    },
    {
      id: `agreement-${loop}`,
      severity: "error",
      check: (rows) => {
        const gap = last(rows)[name("logp_train_vs_sampling/max")];
        if (gap === undefined || gap <= 0.05) return null;
        return `Loop ${loop}: training and sampling disagree on a log-probability by ${gap.toFixed(3)} nats, so ratios are wrong`;
      },
    },
  ];
}

const RULES: readonly Rule[] = [
  ...perLoop(1),
  ...perLoop(2),
  {
    id: "skipped",
    severity: "error",
    check: (rows) => {
      const now = last(rows).skipped_steps ?? 0;
      const before = rows.length < 2 ? 0 : (rows[rows.length - 2]?.skipped_steps ?? 0);
      return now > before ? "A gradient was not finite; this step changed nothing" : null;
    },
  },
  {
    id: "judge",
    severity: "error",
    check: (rows) => {
      const total = (name: string): number => rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
      const [failed, given] = [total("judge/failures"), total("judge/verdicts")];
      if (failed === 0 || failed < 0.1 * (failed + given)) return null;
      return `The judge gave no verdict on ${failed} of ${failed + given} captions of the last steps; open a rollout to see why`;
    },
  },
  {
    id: "tensors",
    severity: "error",
    check: (rows) => {
      const counts = rows.map((row) => row["memory/num_tensors"] ?? Number.NaN);
      const grows = counts.every((count, i) => i === 0 || count > (counts[i - 1] as number));
      return full(rows) && grows ? "The number of tensors grows with every step: something is not freed" : null;
    },
  },
];

export interface AlarmWatch {
  /** Alarms that begin with this step; one that goes on is not repeated. */
  observe(step: number, metrics: StepMetrics): Alarm[];
}

export function watchAlarms(): AlarmWatch {
  const recent: StepMetrics[] = [];
  const ringing = new Set<string>();
  return {
    observe(step, metrics) {
      recent.push(metrics);
      if (recent.length > WINDOW) recent.shift();
      const fresh: Alarm[] = [];
      for (const { id, severity, check } of RULES) {
        const message = check(recent);
        if (message === null) ringing.delete(id);
        else if (!ringing.has(id)) {
          ringing.add(id);
          fresh.push({ id, step, severity, message });
        }
      }
      return fresh;
    },
  };
}
