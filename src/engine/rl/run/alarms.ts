/** Rules on the metrics of a run. Each returns one sentence about a problem and its remedy. */

import { median } from "../../bytes/collections.ts";
import { MODES } from "../../config/modes.ts";
import { rleArea } from "../../data/mask/rle.ts";
import { lacksWordSpaces, WITHOUT_WORD_SPACES } from "../../data/row-filter.ts";
import { bootstrapMean } from "../../eval/bootstrap.ts";
import { type Alarm, appendAlarm } from "../../runs/alarms.ts";
import { differenceText } from "../../runs/evaluations/difference-text.ts";
import type { EvalMetric } from "../../runs/evaluations/evaluation-metrics.ts";
import type { Interval, RowScores, StoredEvaluation } from "../../runs/evaluations/evaluations.ts";
import type { GroupRecord, RolloutRecord, StepMetrics } from "../../runs/rollouts/records.ts";
import type { RunFolder } from "../../runs/run-folder.ts";
import { aboutLoop, LOOP_IDS, type LoopId } from "../loops/abouts.ts";
import type { UpdateReport } from "../optim/training-state.ts";
import type { TrainerEvent } from "./events.ts";

/** Number of past steps that a rule reads. */
const WINDOW = 5;

/** Mean reward and spread within groups below which there is practically no reward. */
const SPARSE = { mean: 0.05, spread: 1e-3 } as const;

/**
 * Distinct captions per rollout below which a group counts as collapsed. Not applied to loop 2, where the partner correctly
 * gives similar masks the same caption.
 */
const FEW_CAPTIONS = 0.35;

/** Pairwise IoU above which masks count as equal, and entropy (nats) below which the policy has stopped exploring. */
const ONE_MASK = { overlap: 0.98, entropy: 0.1 } as const;

/**
 * A gradient norm is unusual at this multiple of the median of previous steps; normal norms stay within a factor of ten.
 * The median needs a minimum of steps and uses only recent ones.
 */
const SPIKE = { factor: 20, fewest: 4, most: 40 } as const;

/** Maximum tensor names in a sentence. */
const NAMED = 3;

/** Facts about a step's update that alarms use. */
export type UpdateFacts = Pick<UpdateReport, "stepped" | "nonFinite">;

/** Maximum rollouts per alarm. */
const NAMED_ROLLOUTS = 32;

/** Rollouts of a step that an alarm concerns, the worst first. */
type About = (groups: readonly GroupRecord[]) => readonly RolloutRecord[];

const allOf: About = (groups) => groups.flatMap((group) => group.rollouts);
const none: About = () => [];

/** Rollouts of a loop that match a condition. */
const those =
  (loop: LoopId, holds: (rollout: RolloutRecord, group: GroupRecord) => boolean = () => true): About =>
  (groups) =>
    groups.flatMap((group) => (group.loop === loop ? group.rollouts.filter((rollout) => holds(rollout, group)) : []));

/** Rollouts of a loop, largest value first. */
const largest =
  (loop: LoopId, size: (rollout: RolloutRecord) => number): About =>
  (groups) =>
    [...those(loop)(groups)].sort((a, b) => size(b) - size(a));

const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);

interface Rule {
  readonly id: string;
  readonly severity: Alarm["severity"];
  /**
   * A sentence, or null without a problem.
   * @param recent newest last, at most WINDOW rows
   * @param update of the newest
   * @param norms finite gradient norms above 0 of the steps before, oldest first
   * @param groups of the newest step; empty for steps before a resume
   */
  readonly check: (
    recent: readonly StepMetrics[],
    update: UpdateFacts,
    norms: Readonly<Record<string, readonly number[]>>,
    groups: readonly GroupRecord[],
  ) => string | null;
  /** All rollouts of the step where absent. */
  readonly about?: About;
}

const last = (rows: readonly StepMetrics[]): StepMetrics => rows[rows.length - 1] ?? {};
const full = (rows: readonly StepMetrics[]): boolean => rows.length === WINDOW;
const every = (rows: readonly StepMetrics[], name: string, holds: (value: number) => boolean): boolean =>
  full(rows) && rows.every((row) => row[name] !== undefined && holds(row[name]));

function loopRules(loop: LoopId): Rule[] {
  const name = (metric: string): string => `loop${loop}/${metric}`;
  /** Whether METEOR counts in this loop and most captions of its rows are one word to it. */
  const isUnspaced = (groups: readonly GroupRecord[]): boolean => {
    const rollouts = those(loop, ({ terms }) => terms.some((term) => term.name === "meteor" && term.weight !== 0))(
      groups,
    );
    return rollouts.filter(({ referenceCaption }) => lacksWordSpaces(referenceCaption)).length > rollouts.length / 2;
  };
  return [
    {
      id: `no-word-spaces-${loop}`,
      severity: "warning",
      check: (rows, _update, _norms, groups) =>
        every(rows, name("rewards/meteor/mean"), (value) => value < SPARSE.mean) && isUnspaced(groups)
          ? `Loop ${loop}: the captions are ${WITHOUT_WORD_SPACES}`
          : null,
      about: those(loop),
    },
    {
      id: `zero-spread-${loop}`,
      severity: "warning",
      check: (rows, _update, _norms, groups) => {
        const shares = rows.flatMap((row) => row[name("frac_reward_zero_std")] ?? []);
        const share = shares.reduce((sum, value) => sum + value, 0) / Math.max(1, shares.length);
        if (!full(rows) || share <= 0.5 || isUnspaced(groups)) return null;
        return `Loop ${loop}: ${Math.round(share * 100)} % of the groups have equal rewards and give no gradient; raise the temperature, the noise or G`;
      },
      about: those(loop, (_, group) => group.zeroSpread),
    },
    {
      id: `sparse-${loop}`,
      severity: "warning",
      check: (rows, _update, _norms, groups) => {
        const low = every(rows, name("reward"), (value) => value < SPARSE.mean);
        if (!low || isUnspaced(groups) || !every(rows, name("group_std_mean"), (value) => value < SPARSE.spread))
          return null;
        const mean = (last(rows)[name("reward")] as number).toFixed(3);
        return `Loop ${loop}: rewards stay near 0 (mean ${mean}) and barely differ within a group; add a denser reward term, such as Mask confidence or Box IoU`;
      },
      about: those(loop),
    },
    aboutLoop(loop).samples === "text"
      ? {
          id: `collapse-${loop}`,
          severity: "warning",
          check: (rows) =>
            every(rows, name("completions/distinct_ratio"), (value) => value <= FEW_CAPTIONS)
              ? `Loop ${loop}: the captions of a group are nearly all the same; raise Temperature, Entropy bonus or KL weight β`
              : null,
          about: those(loop),
        }
      : {
          id: `collapse-${loop}`,
          severity: "warning",
          check: (rows) =>
            every(rows, name("mask/pairwise_iou"), (value) => value > ONE_MASK.overlap) &&
            every(rows, name("entropy"), (value) => value < ONE_MASK.entropy)
              ? `Loop ${loop}: the masks of a group are nearly all the same and the policy tries no others; raise the temperature or noise σ of the mask policy, Entropy bonus or KL weight β`
              : null,
          about: those(loop),
        },
    {
      id: `truncated-${loop}`,
      severity: "warning",
      check: (rows) =>
        every(rows, name("completions/clipped_ratio"), (value) => value > 0.75)
          ? `Loop ${loop}: most captions reach the length limit; raise it or check that the model ends its answers`
          : null,
      about: those(loop, ({ truncated }) => truncated),
    },
    {
      id: `empty-mask-${loop}`,
      severity: "warning",
      check: (rows) =>
        every(rows, name("mask/empty_ratio"), (value) => value > 0.5)
          ? `Loop ${loop}: more than half of the masks are empty`
          : null,
      about: those(loop, ({ predictedMask }) => predictedMask === null || rleArea(predictedMask) === 0),
    },
    {
      id: `kl-${loop}`,
      severity: "warning",
      check: (rows) => {
        const kl = last(rows)[name("kl")];
        if (kl === undefined || kl <= 5) return null;
        return `Loop ${loop}: KL to the reference is ${kl.toFixed(2)} nats; lower the learning rate or raise β`;
      },
      about: largest(loop, ({ actions }) => most(actions.map(({ kl }) => kl ?? 0))),
    },
    {
      id: `agreement-${loop}`,
      severity: "error",
      check: (rows) => {
        const gap = last(rows)[name("logp_train_vs_sampling/max")];
        if (gap === undefined || gap <= 0.05) return null;
        return `Loop ${loop}: training and sampling disagree on a log-probability by ${gap.toFixed(3)} nats, so ratios are wrong`;
      },
      about: largest(loop, ({ actions }) =>
        most(actions.map(({ logp, samplingLogp }) => Math.abs(logp - samplingLogp))),
      ),
    },
  ];
}

/** Captions of the data set that are part of a prompt. */
function captionRule(id: string, metric: string, sentence: (share: string) => string): Rule {
  return {
    id,
    severity: "warning",
    check: (rows) => {
      const newest = last(rows);
      const share = Math.max(
        ...[...MODES.map(({ name }) => name), ...LOOP_IDS.map((id) => `loop${id}`)].map(
          (of) => newest[`${of}/captions/${metric}`] ?? 0,
        ),
      );
      return share > 0 ? sentence(`${Math.ceil(100 * share)} %`) : null;
    },
  };
}

/** Metrics that are watched for a jump. */
const NORMS: readonly string[] = ["grad_norm", ...LOOP_IDS.map((id) => `loop${id}/grad_norm`)];

function spike(name: string): Rule {
  const [loop] = /^loop\d/.exec(name) ?? [];
  return {
    id: loop === undefined ? "gradient-spike" : `gradient-spike-${loop.slice(4)}`,
    severity: "warning",
    check: (rows, _update, norms) => {
      const newest = last(rows)[name];
      const before = norms[name] ?? [];
      if (newest === undefined || before.length < SPIKE.fewest) return null;
      const usual = median(before);
      if (!(newest > SPIKE.factor * usual)) return null;
      const whose = loop === undefined ? "The gradient norm" : `Loop ${loop.slice(4)}: the gradient norm`;
      return `${whose} is ${numeral(newest)}, ${Math.round(newest / usual)} times the usual ${numeral(usual)}; look at this step's rollouts, and lower the learning rate or the gradient clip if it happens again`;
    },
    ...(loop === undefined ? {} : { about: those(Number(loop.slice(4)) as LoopId) }),
  };
}

function numeral(value: number): string {
  return Number(value.toPrecision(3)).toString();
}

const STEP_RULES: readonly Rule[] = [
  ...NORMS.map(spike),
  captionRule(
    "captions-cut",
    "cut",
    (share) =>
      `${share} of this step's captions are too long for the model's context, so their ends are cut; shorten them in the data`,
  ),
  captionRule(
    "captions-tokens",
    "spell_tokens",
    (share) => `${share} of this step's captions spell special tokens such as [SEG] or <vp>; they are encoded as text`,
  ),
  {
    id: "skipped",
    severity: "error",
    check: (_rows, { stepped, nonFinite }) => {
      if (stepped) return null;
      // All elements may be finite and the norm infinite, because the squares overflow.
      const where = nonFinite.length === 0 ? "its norm overflows" : listed(nonFinite);
      return `A gradient was not finite (${where}), so its update was skipped; if it happens again, lower the learning rate, or switch on Stop on NaN to inspect the step`;
    },
  },
  {
    id: "judge",
    severity: "error",
    check: (rows) => {
      const total = (name: string): number => rows.reduce((sum, row) => sum + (row[name] ?? 0), 0);
      const [failed, given] = [total("judge/failures"), total("judge/verdicts")];
      if (failed === 0 || failed < 0.1 * (failed + given)) return null;
      return `The judge gave no verdict for ${failed} of ${failed + given} captions of the last steps; open a rollout for the reason`;
    },
    about: (groups) =>
      allOf(groups).filter(({ terms }) => terms.some(({ name, value }) => name === "judge" && value === null)),
  },
  {
    id: "tensors",
    severity: "error",
    check: (rows) => {
      const counts = rows.map((row) => row["memory/num_tensors"] ?? Number.NaN);
      const grows = counts.every((count, i) => i === 0 || count > (counts[i - 1] as number));
      return full(rows) && grows ? "The number of tensors grows with every step: there is a memory leak" : null;
    },
    about: none,
  },
];

/** The first few names, and the number of the others. */
function listed(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export interface AlarmWatch {
  /**
   * Alarms that begin with this step; continuing alarms are not repeated.
   * @param update whether the step changed the weights, and the tensors with a non-finite gradient
   * @param groups of the step, whose rollouts the alarms name
   */
  observe(step: number, metrics: StepMetrics, update: UpdateFacts, groups?: readonly GroupRecord[]): Alarm[];
}

/**
 * @param loops that train; a loop of weight 0 is sampled and shown, and nothing about it needs a remedy
 * @param before metrics of the steps that a resumed run has done, oldest first: alarms of these steps are not repeated
 */
export function watchAlarms(loops: readonly LoopId[], before: readonly StepMetrics[] = []): AlarmWatch {
  const rules = [...loops.flatMap(loopRules), ...STEP_RULES];
  const recent: StepMetrics[] = [];
  const norms: Record<string, number[]> = {};
  const ringing = new Set<string>();
  const watch: AlarmWatch = {
    observe(step, metrics, update, groups = []) {
      recent.push(metrics);
      if (recent.length > WINDOW) recent.shift();
      const fresh: Alarm[] = [];
      for (const { id, severity, check, about = allOf } of rules) {
        const message = check(recent, update, norms, groups);
        if (message === null) ringing.delete(id);
        else if (!ringing.has(id)) {
          ringing.add(id);
          const rollouts = about(groups)
            .slice(0, NAMED_ROLLOUTS)
            .map((rollout) => rollout.id);
          fresh.push({ id, step, severity, message, ...(rollouts.length === 0 ? {} : { rollouts }) });
        }
      }
      for (const name of NORMS) {
        const norm = metrics[name];
        if (norm === undefined || !Number.isFinite(norm) || norm <= 0) continue;
        norms[name] = [...(norms[name] ?? []), norm].slice(-SPIKE.most);
      }
      return fresh;
    },
  };
  for (const row of before.slice(-SPIKE.most - WINDOW)) {
    watch.observe(row.step as number, row, { stepped: true, nonFinite: [] });
  }
  return watch;
}

/** Stores alarms with the run and reports them to listeners. */
export async function raiseAlarm(
  run: Pick<RunFolder, "id" | "store">,
  emit: (event: TrainerEvent) => void,
  alarm: Alarm,
): Promise<void> {
  await appendAlarm(run.store, run.id, alarm);
  emit({ type: "alarm", alarm });
}

// Rewards that rise on held-out rows while the score that they stand for does not. Judged at evaluations alone, over paired
// rows with intervals: from one step to the next a reward and a score part by chance.

interface HollowGain {
  readonly loop: LoopId;
  /** "captions" for METEOR of captions that the loop pays for; "own" for the loop's score. */
  readonly of: "own" | "captions";
  /** Step of the evaluation that this one is compared with. */
  readonly since: number;
  /** Difference of the run's reward of sampled rollouts. */
  readonly reward: Interval;
  readonly score: Interval;
  /** The term whose share of the reward rose most; null if the rows do not have the terms. */
  readonly term: { readonly name: string; readonly difference: Interval } | null;
}

type Evaluated = Pick<StoredEvaluation, "report" | "rows">;
type RowValue = (row: RowScores) => number | null | undefined;

const SEED = 1;

/**
 * Loops whose reward has risen above its interval without its score, for either of two scores. The loop's own, of sampled
 * rollouts (for masks their IoU with the true ones), since the baseline: its interval is not above 0 and ends below that
 * of the reward. For captions also METEOR, since the evaluation where it was best: its interval is below 0. The second
 * sees words that are lost while the reward is the IoU, which is the loop's own score.
 * @param earlier evaluations of the run before this one
 * @param loops those that train
 */
export function hollowGains(now: Evaluated, earlier: readonly Evaluated[], loops: readonly LoopId[]): HollowGain[] {
  const start = earlier.find(({ report }) => report.step === now.report.baseline);
  const comparable = earlier.filter(({ report }) => report.reward?.judge === now.report.reward?.judge);
  const spoken = ({ report }: Evaluated): number => report.means.caption_meteor;
  const best = comparable.reduce<Evaluated | undefined>(
    (most, own) => (most === undefined || spoken(own) > spoken(most) ? own : most),
    undefined,
  );
  return loops.flatMap((loop) => {
    const { samples, heldOut } = aboutLoop(loop);
    if (heldOut === undefined) return [];
    const own: EvalMetric = samples === "mask" ? "grounding_iou" : (`loop${loop}_sampled` as EvalMetric);
    const gain = (of: HollowGain["of"], metric: EvalMetric, before: Evaluated | undefined): HollowGain[] => {
      const reward = since(now, before, (row) => row.rewards[`reward${loop}_sampled`]);
      const score = since(now, before, (row) => row[metric]);
      if (before === undefined || reward === null || score === null || reward.low <= 0) return [];
      const hollow = of === "captions" ? score.high < 0 : score.low <= 0 && score.high < reward.low;
      return hollow ? [{ loop, of, since: before.report.step, reward, score, term: carrier(now, before, loop) }] : [];
    };
    const found = gain("own", own, start);
    return found.length === 0 && samples === "text" ? gain("captions", "caption_meteor", best) : found;
  });
}

/** One sentence, for the alarms of a run. */
export function hollowAlarm({ loop, of, since, reward, score, term }: HollowGain, step: number): Alarm {
  const own = aboutLoop(loop).samples === "mask" ? "IoU of its masks" : `${aboutLoop(loop).heldOut}`;
  const rise = `Loop ${loop}: on held-out rows the reward rose, ${differenceText(reward)}`;
  const carried = term === null ? "" : `; "${term.name}" carries ${differenceText(term.difference)} of it`;
  const message =
    of === "captions"
      ? `${rise} since step ${since}, and METEOR of the captions fell, ${differenceText(score)}${carried}. Raise beta, lower learningRate, or fork from a checkpoint near step ${since}`
      : `${rise}, but not the ${own}, ${differenceText(score)}${carried}. Lower that term's weight, or add one that follows the score`;
  return { id: `hollow-gain-${loop}`, step, severity: "warning", message };
}

/** Difference of a value over the report rows that have it in both evaluations; null without such rows. */
function since({ rows }: Evaluated, before: Evaluated | undefined, value: RowValue): Interval | null {
  const known = new Map((before?.rows ?? []).map((row) => [row.rowId, value(row)]));
  const both = rows.flatMap((row) => {
    const [now, then] = [value(row), known.get(row.rowId)];
    return row.part !== "report" || now == null || then == null ? [] : [{ image: row.imageId, gain: now - then }];
  });
  if (both.length === 0) return null;
  const images = both.map(({ image }) => image);
  return bootstrapMean(
    both.map(({ gain }) => gain),
    images,
    SEED,
  );
}

function carrier(now: Evaluated, before: Evaluated, loop: LoopId): HollowGain["term"] {
  const names = new Set(now.rows.flatMap(({ parts }) => Object.keys(parts?.[loop] ?? {})));
  return [...names].reduce<HollowGain["term"]>((most, name) => {
    const difference = since(now, before, (row) => row.parts?.[loop]?.[name]);
    if (difference === null || (most !== null && difference.mean <= most.difference.mean)) return most;
    return { name, difference };
  }, null);
}
