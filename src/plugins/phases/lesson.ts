/** What each phase of a finished step computed for one rollout, and its formula with that rollout's numbers. */

import { compareMasks, splitTerms, termName, weightedSum } from "../../app/components/rollout/rollout-view.ts";
import { PHASE_NAMES } from "../../app/stores/run/run.ts";
import {
  compact,
  counted,
  fixed,
  formatCount,
  formatShare,
  NONE,
  sentence,
  signed,
  within,
} from "../../app/styles/format.ts";
import { activeLoops } from "../../engine/config/derived.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { type Rle, rleArea } from "../../engine/data/mask/rle.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import { lossSettingsOf } from "../../engine/rl/objective/loss-types.ts";
import type { Phase } from "../../engine/rl/run/events.ts";
import type { ActionRecord, GroupRecord, LoopId, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { drawnMask, noisyMask } from "../../engine/runs/rollouts/rollout-facts.ts";
import { whatIf } from "../rollout-tools/what-if.ts";
import { advantageText, DECIMALS, effectText } from "./advantage-text.ts";

interface Made {
  /** One phrase; null while the phase has not run. */
  readonly made: string | null;
  /** Lines with numbers. */
  readonly formulas: readonly string[];
}

export interface LessonPart extends Made {
  readonly phase: Phase;
}

interface LessonInput {
  readonly rollout: RolloutRecord;
  /** All groups of the rollout's loop in its step. */
  readonly groups: readonly GroupRecord[];
  readonly config: LabConfig;
  /** Value of a metric in this step; null before it is logged. */
  readonly metric: (name: string) => number | null;
  /** The next phase of a paused step; it and later ones have not run. Absent if the rollout has been scored. */
  readonly until?: Phase;
  /** The next phase of a paused step that is not logged yet. */
  readonly unlogged?: Phase;
}

const NOT_YET: Made = { made: null, formulas: [] };
const UNLOGGED: Made = { made: "Computed; its numbers are logged at the end of the step", formulas: [] };

/** Maximum terms of a sum that are written out. */
const SHOWN = 4;

/** The phases of a step in their order. */
export function lessonOf(input: LessonInput): readonly LessonPart[] {
  const { rollout, until, unlogged } = input;
  const order = Object.keys(PHASE_NAMES);
  const parts = PARTS.filter(([phase]) => phase !== "partner" || aboutLoop(rollout.loop).mask !== null);
  return parts.map(([phase, of]) => {
    const before = (next: Phase): boolean => order.indexOf(phase) < order.indexOf(next);
    const made = until === undefined || before(until) ? of(input) : NOT_YET;
    return { phase, ...(made.made === null && unlogged !== undefined && before(unlogged) ? UNLOGGED : made) };
  });
}

const share = (mask: Rle): string => formatShare(rleArea(mask) / (mask.size[0] * mask.size[1]));
const area = (rollout: RolloutRecord, own: "given" | "answer"): string => {
  const mask = own === "given" ? rollout.givenMask : drawnMask(rollout);
  if (mask === null) return "no mask";
  const noisy = own === "given" ? null : noisyMask(rollout);
  const sampled = noisy === null ? "" : `; with exploration noise (dashed), ${share(noisy)}`;
  return `a mask over ${share(mask)} of the picture${sampled}`;
};
/** Maximum characters of a quoted text. */
const QUOTED = 240;
export const quoted = (text: string | null): string =>
  text === null ? NONE : `“${text.trim().slice(0, QUOTED)}${text.trim().length > QUOTED ? "…" : ""}”`;

function sample({ rollout, groups }: LessonInput): Made {
  const text = aboutLoop(rollout.loop).samples === "text";
  const drawn = groups.find(({ group }) => group === rollout.group)?.rollouts.length ?? 1;
  const given = text ? area(rollout, "given") : quoted(rollout.caption);
  return {
    made: sentence(given),
    formulas: [`G = ${counted(drawn, "rollout")} of this prompt`],
  };
}

function act({ rollout }: LessonInput): Made {
  const text = aboutLoop(rollout.loop).samples === "text";
  const { actions } = rollout;
  const sum = actions.reduce((total, { samplingLogp }) => total + samplingLogp, 0);
  const terms = actions.slice(0, SHOWN).map(({ samplingLogp }) => within(samplingLogp, 2));
  const rest = actions.length > SHOWN ? " …" : "";
  return {
    made: `The policy answers ${text ? quoted(rollout.caption) : area(rollout, "answer")}`,
    formulas:
      actions.length === 0
        ? []
        : [`log π = Σ log p(${text ? "token" : "cell"}) = ${terms.join(" + ")}${rest} = ${fixed(sum, 2)}`],
  };
}

function partner({ rollout }: LessonInput): Made {
  const text = aboutLoop(rollout.loop).samples === "text";
  const pixels = text ? compareMasks(rollout) : null;
  return {
    made: text
      ? `The partner draws ${area(rollout, "answer")}`
      : `The partner describes ${quoted(rollout.captionPrime)}`,
    formulas:
      pixels === null
        ? []
        : [`IoU = ${formatCount(pixels.intersection)} px ÷ ${formatCount(pixels.union)} px = ${fixed(pixels.iou, 3)}`],
  };
}

function reward({ rollout }: LessonInput): Made {
  const { rewarded } = splitTerms(rollout.terms);
  const parts = rewarded.map(({ value, weight, name }) => [weight, `${within(value, 3)} ${termName(name)}`] as const);
  return {
    made: rollout.reward === null ? "No reward: excluded from its group" : `Reward ${fixed(rollout.reward, 3)}`,
    formulas: rollout.reward === null ? [] : [`r = ${weightedSum(parts, true)} = ${fixed(rollout.reward, 3)}`],
  };
}

function advantage({ rollout, groups, config }: LessonInput): Made {
  const own = advantageText(rollout, groups, config);
  const formulas = own === null || own.zeroSpread ? [] : [`A = ${own.text} = ${signed(rollout.advantage, DECIMALS)}`];
  const compared = rollout.advantage > 0 ? "Better" : "Worse";
  return {
    made:
      rollout.advantage === 0
        ? own?.zeroSpread === true
          ? "All rewards of the group are equal, so nothing is learned from it"
          : "No advantage, so nothing to learn"
        : `${compared} than its group: ${signed(rollout.advantage, 2)}`,
    formulas,
  };
}

function loss(input: LessonInput): Made {
  const { rollout, groups, config } = input;
  const [first] = rollout.actions;
  if (first === undefined) return NOT_YET;
  const whole = lossOf(groups, config);
  return {
    made: effectText(rollout, config),
    formulas: [
      ...tokenLoss(first, rollout.advantage, config),
      ...(whole === null
        ? []
        : [
            `Loop ${rollout.loop}: GRPO loss = ${compact(whole.policy)} + ${compact(whole.klPenalty)} (KL) = ${compact(whole.loss)}`,
          ]),
    ],
  };
}

/** Ratio, clipped objective and KL penalty of the first action. */
function tokenLoss(action: ActionRecord, advantage: number, config: LabConfig): readonly string[] {
  const { label, logp, samplingLogp, ratio, kl } = action;
  const { beta } = config;
  const { objective, delta, level, epsLow, epsHigh } = lossSettingsOf(config, 0, 1, 1, 1);
  const name = label.trim() === "" ? "first token" : label.trim();
  const own = config.objective !== "notes" && level !== "sequence";
  const ofLogs = own ? ` = exp(${within(logp, 3)} − (${within(samplingLogp, 3)}))` : "";
  const lines = [`ρ(${name})${ofLogs} = ${fixed(ratio, 3)}`];
  // Other objectives weigh tokens in their own way.
  if (objective === "clip" && delta === null) {
    const [low, high] = [1 - epsLow, 1 + epsHigh];
    const value = -Math.min(ratio * advantage, Math.min(high, Math.max(low, ratio)) * advantage);
    lines.push(`−min(ρ·A, clip(ρ, ${fixed(low, 2)}, ${fixed(high, 2)})·A) = ${signed(value, 3)}`);
  }
  if (kl !== null && beta > 0) lines.push(`β · KL = ${compact(beta)} · ${compact(kl)} = ${compact(beta * kl)}`);
  return lines;
}

/** Null if the record lacks an input of the loss. */
function lossOf(groups: readonly GroupRecord[], config: LabConfig) {
  try {
    return whatIf(groups, config).loss;
  } catch {
    // The What if tab of the rollout says what is missing.
    return null;
  }
}

/** A loop's gradient. */
const gradient = (loop: LoopId): string => `g${String.fromCharCode(0x2080 + loop)}`;

/** Norm, rate, decay and distance of the update; each loop's gradient has its own norm where it is clipped by itself. */
function ofUpdate({ rollout, config, metric }: LessonInput) {
  const ofLoop = `loop${rollout.loop}/grad_norm`;
  const alone = config.clipScope === "loop" && metric(ofLoop) !== null;
  const name = alone ? ofLoop : "grad_norm";
  const [norm, rate, decay, distance] = [name, "learning_rate", "ema/decay", "ema/distance"].map(metric);
  const skipped = rate != null && decay == null && !Number.isFinite(metric("grad_norm") ?? Number.NaN);
  return { norm, rate, decay, distance, skipped, alone };
}

function update(input: LessonInput): Made {
  const { norm, rate, skipped, alone } = ofUpdate(input);
  if (skipped) return { made: "The gradient is not finite: the update is skipped", formulas: [] };
  if (norm == null || rate == null) return NOT_YET;
  const { config, rollout } = input;
  const { maxGradNorm } = config;
  const [g, of] = alone ? [gradient(rollout.loop), `Loop ${rollout.loop}: `] : ["g", ""];
  const sum = alone ? activeLoops(config).map(gradient).join(" + ") : g;
  const scaled = ` · min(1, ${compact(maxGradNorm)} ÷ ${compact(norm)}) = ${g} · ${compact(Math.min(1, maxGradNorm / norm))}`;
  return {
    made:
      rate === 0
        ? "The learning rate is 0: AdamW updates only its moments; the weights stay"
        : `One AdamW step with learning rate ${compact(rate)}`,
    formulas: [
      maxGradNorm > 0 && norm > 0 ? `${of}${g} ← ${g}${scaled}` : `${of}‖${g}‖ = ${compact(norm)}`,
      `θ ← θ − ${compact(rate)} · AdamW(${sum})`,
    ],
  };
}

function ema(input: LessonInput): Made {
  const { norm, rate, decay, distance, skipped } = ofUpdate(input);
  if (skipped) return { made: "The partner stays as it is", formulas: [] };
  if (norm == null || rate == null) return NOT_YET;
  return {
    made: `The partner follows the policy${distance == null ? "" : `; their distance is ${compact(distance)}`}`,
    formulas: decay == null ? [] : [`φ ← ${compact(decay)} · φ + ${compact(1 - decay)} · θ`],
  };
}

const PARTS: readonly (readonly [Phase, (input: LessonInput) => Made])[] = [
  ["sample", sample],
  ["generate", act],
  ["partner", partner],
  ["reward", reward],
  ["advantage", advantage],
  ["loss", loss],
  ["update", update],
  ["ema", ema],
];
