import type { CSSProperties } from "react";
import type { LabConfig } from "../../../engine/config/table.ts";
import { type MaskIou, maskIou, type Rle, rleArea } from "../../../engine/data/mask/rle.ts";
import { rewardTerms } from "../../../engine/rewards/composer/plan.ts";
import type { RewardTerm } from "../../../engine/rewards/term.ts";
import { findTerm } from "../../../engine/rewards/terms/registry.ts";
import type { LoopAbout } from "../../../engine/rl/loops/about.ts";
import { aboutLoop, LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord, LoopId, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { drawnMask, noisyMask } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { fixed, formatShare, sentence } from "../../styles/format.ts";
import type { Track } from "../mask/frame-store.ts";
import { type MaskLayer, type MaskRole, SAMPLED_COLOUR } from "../mask/layers.ts";

/** Available layers; their positions in the list are their number keys. */
export const LAYER_KEYS = ["given", "answer", "difference", "sampled"] as const;
export type LayerKey = (typeof LAYER_KEYS)[number];

type Layers = ReadonlySet<LayerKey>;
/** The given mask, the answer, and the sampled mask where noise made it another one. */
export const GIVEN_AND_ANSWER: Layers = new Set(["given", "answer", "sampled"]);

/** The visible layers, from names in the address; null stands for given mask and answer. */
export function parseLayers(names: readonly string[] | null): Layers {
  return names === null ? GIVEN_AND_ANSWER : new Set(LAYER_KEYS.filter((key) => names.includes(key)));
}

/** Role that predicts the mask; the partner where the loop predicts none. */
export function answerRole(loop: LoopId): MaskRole {
  return aboutLoop(loop).mask ?? "partner";
}

/** Title of the generated text, e.g. "Caption of the policy". */
export function textTitle(loop: LoopId): string {
  const { textName, text } = aboutLoop(loop);
  const name = sentence(textName);
  return text === "caption" ? `${name} of the policy` : name;
}

export function layerName(key: LayerKey, loop: LoopId): string {
  if (key === "given") return "Given mask";
  if (key === "answer") return answerRole(loop) === "partner" ? "Partner's mask" : "Mask of the policy";
  return key === "difference" ? "Difference" : "Sampled mask (with exploration noise)";
}

/** Mask layers of a rollout that are visible and exist. */
export function layersOf(rollout: RolloutRecord, on: ReadonlySet<LayerKey>): MaskLayer[] {
  const layers: MaskLayer[] = [];
  if (on.has("given")) layers.push({ role: "given", mask: rollout.givenMask });
  const [drawn, noisy] = [drawnMask(rollout), noisyMask(rollout)];
  if (on.has("answer") && drawn !== null) layers.push({ role: answerRole(rollout.loop), mask: drawn });
  if (on.has("sampled") && noisy !== null) {
    layers.push({ role: answerRole(rollout.loop), mask: noisy, colour: SAMPLED_COLOUR, faint: true });
  }
  return layers;
}

/** The pair of masks for the difference; null if it is off, or a mask is missing or of another size. */
export function differencePair(rollout: RolloutRecord, on: ReadonlySet<LayerKey>): readonly [Rle, Rle] | null {
  const [given, drawn] = [rollout.givenMask, drawnMask(rollout)];
  return on.has("difference") && drawn !== null && sameSize(given, drawn) ? [given, drawn] : null;
}

export interface MaskComparison extends MaskIou {
  /** Pixels only in the given mask. */
  readonly missed: number;
  /** Pixels only in the answer's mask. */
  readonly extra: number;
}

/**
 * Pixel counts of a mask against the given one; null without a comparable mask.
 * @param mask the one that is drawn, if absent
 */
export function compareMasks(rollout: RolloutRecord, mask: Rle | null = drawnMask(rollout)): MaskComparison | null {
  const { givenMask } = rollout;
  if (mask === null || !sameSize(givenMask, mask)) return null;
  const pixels = maskIou(givenMask, mask);
  const [given, answer] = [rleArea(givenMask), rleArea(mask)];
  return { ...pixels, missed: given - pixels.intersection, extra: answer - pixels.intersection };
}

/** Where a rollout stands, from its id `<step>-<loop>-<group>-<index>`; null for any other text. */
export function rolloutPlace(id: string | null): {
  readonly step: number;
  /** As in the address. */
  readonly group: string;
  readonly text: string;
} | null {
  const [, step, loop, group, index] = /^(\d+)-(\d)-(\d+)-(\d+)$/.exec(id ?? "") ?? [];
  if (step === undefined) return null;
  const text = `loop ${loop}, group ${Number(group) + 1}, #${Number(index) + 1}`;
  return { step: Number(step), group: `${loop}-${group}`, text };
}

/** The end of a row's id that tells rows of a file apart: "#114"; the id itself where it has none, or another of `among` ends likewise. */
export function shortRow(id: string, among: readonly { readonly rowId: string }[] = []): string {
  const end = /#[^#]*$/.exec(id)?.[0] ?? id;
  return among.some(({ rowId }) => rowId !== id && rowId.endsWith(end)) ? id : end;
}

/** The rollout in the same place of another step. @param id null for none */
export function movedRollout(id: string | null, step: number): string | null {
  return id === null ? null : id.replace(/^\d+/, String(step));
}

/** Accessible name of a rollout's picture. */
export function figureLabel(rollout: RolloutRecord): string {
  const mask = drawnMask(rollout);
  if (mask === null) return `rollout ${rollout.index + 1}, no mask`;
  const share = rleArea(mask) / (mask.size[0] * mask.size[1]);
  const iou = compareMasks(rollout)?.iou ?? null;
  const quiet = noisyMask(rollout) === null ? "" : " without exploration noise";
  return `rollout ${rollout.index + 1}, IoU ${fixed(iou, 2)}, mask${quiet} covers ${formatShare(share)} of the picture`;
}

/** Names the reward where a figure draws a mask that it does not belong to. */
export function rewardName(rollout: RolloutRecord): string {
  return noisyMask(rollout) === null ? "Reward" : "Reward of the sampled mask (dashed outline)";
}

/** Answers of a group for the overlap over the frames of its clip. @param selected the one that is drawn on top */
export function groupTracks(rollouts: readonly RolloutRecord[], selected: RolloutRecord | null): Track[] {
  return rollouts.map((rollout) => ({
    name: `rollout ${rollout.index + 1}`,
    mask: drawnMask(rollout),
    selected: rollout === selected,
  }));
}

/** Label of a term; the name itself for terms that this version does not have. */
export function termName(name: string): string {
  return findTerm(name)?.label ?? name;
}

/** Terms with a weight in the reward, and terms that are only measured. */
export function splitTerms(terms: readonly RewardTerm[]): Readonly<Record<"rewarded" | "watched", RewardTerm[]>> {
  return {
    rewarded: terms.filter((term) => term.weight !== 0),
    watched: terms.filter((term) => term.weight === 0),
  };
}

/** A weight with two decimals, or with four where two would round it. */
export function weightText(weight: number): string {
  return fixed(weight, Number(weight.toFixed(2)) === weight ? 2 : 4);
}

/** A weighted sum in words: "IoU + 0.50 · METEOR". @param ones whether a weight of 1 is written, too */
export function weightedSum(parts: readonly (readonly [weight: number, text: string])[], ones = false): string {
  const signed = parts.map(([weight, text], at) => {
    const sign = weight < 0 ? "− " : at === 0 ? "" : "+ ";
    const size = Math.abs(weight);
    return `${sign}${size === 1 && !ones ? "" : `${weightText(size)} · `}${text}`;
  });
  return signed.join(" ");
}

/** The reward of a loop as a formula: "IoU − 0.50 · Leak cost"; "" where its rollouts get none. */
export function rewardFormula(config: LabConfig, loop: LoopId): string {
  return weightedSum(rewardTerms(config, loop).map(([term, weight]) => [weight, termName(term)]));
}

/** Why the reward of a loop teaches anything; what it is where the settings give it other terms than usual. */
export function rewardText(config: LabConfig, loop: LoopId): string {
  const { why, terms }: LoopAbout<LoopId> = aboutLoop(loop);
  const usual = rewardTerms(config, loop).every(([term]) => term in terms) && !config.shuffleRewards;
  if (usual && why !== undefined) return why;
  const formula = rewardFormula(config, loop) || "0";
  return `The reward of loop ${loop} is ${formula}${config.shuffleRewards ? ", shuffled within each group, so it teaches nothing" : ""}`;
}

/** A reward as the sum of its terms: "IoU 0.62 + 0.50 · METEOR 0.31"; terms of 0 are left out. */
export function rewardSum(terms: readonly RewardTerm[]): string {
  const added = splitTerms(terms).rewarded.filter(({ value }) => value !== null && value !== 0);
  return weightedSum(added.map(({ name, value, weight }) => [weight, `${termName(name)} ${fixed(value, 2)}`]));
}

export type SortBy = "reward" | "index";

/** Rollouts, best first with missing rewards last, or in sampling order. */
export function sortRollouts(rollouts: readonly RolloutRecord[], by: SortBy): readonly RolloutRecord[] {
  if (by === "index") return [...rollouts].sort((a, b) => a.index - b.index);
  const worth = ({ reward }: RolloutRecord): number => (reward === null || Number.isNaN(reward) ? -Infinity : reward);
  return [...rollouts].sort((a, b) => worth(b) - worth(a) || a.index - b.index);
}

export const NO_FILTER = {
  loop: null as LoopId | null,
  /** Inclusive limits of the reward; null for no limit. */
  least: null as number | null,
  most: null as number | null,
  zeroSpread: false,
  truncated: false,
  emptyMask: false,
  /** The reward or one of its terms is missing or not a number, as when the judge fails. */
  unscored: false,
  /** Searched in captions and row ids; case is ignored. */
  text: "",
};

export type RolloutFilter = Readonly<typeof NO_FILTER>;

/** A limit from text; null if empty or not yet a number. */
export function limitOf(text: string): number | null {
  const limit = text.trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(limit) ? limit : null;
}

/** Groups with at least one rollout that passes all filters. */
export function filterGroups(groups: readonly GroupRecord[], filter: RolloutFilter): GroupRecord[] {
  return groups.filter(
    (group) =>
      (filter.loop === null || group.loop === filter.loop) &&
      (!filter.zeroSpread || group.zeroSpread) &&
      group.rollouts.some((rollout) => passes(rollout, filter)),
  );
}

export function passes(rollout: RolloutRecord, filter: RolloutFilter): boolean {
  const { reward } = rollout;
  // A missing or NaN reward is outside every limit.
  if (filter.least !== null && !(reward !== null && reward >= filter.least)) return false;
  if (filter.most !== null && !(reward !== null && reward <= filter.most)) return false;
  if (filter.truncated && !rollout.truncated) return false;
  if (filter.emptyMask && rollout.predictedMask !== null && rleArea(rollout.predictedMask) > 0) return false;
  if (filter.unscored && [reward, ...rollout.terms.map(({ value }) => value)].every(Number.isFinite)) return false;
  const text = filter.text.trim().toLowerCase();
  if (text === "") return true;
  const { caption, captionPrime, referenceCaption, completion, rowId } = rollout;
  return [caption, captionPrime ?? "", referenceCaption, completion, rowId].some((field) =>
    field.toLowerCase().includes(text),
  );
}

/** Number of active filters, for the badge. */
export function filterCount(filter: RolloutFilter): number {
  const { loop, least, most, text } = filter;
  const set = [
    loop !== null,
    least !== null || most !== null,
    text.trim() !== "",
    ...FLAG_NAMES.map((flag) => filter[flag]),
  ];
  return set.filter(Boolean).length;
}

function sameSize(a: Rle, b: Rle): boolean {
  return a.size[0] === b.size[0] && a.size[1] === b.size[1];
}

/** Switches of the filter. */
export const FLAGS = {
  zeroSpread: "No learning signal",
  truncated: "Truncated at the length limit",
  emptyMask: "Empty mask or no mask",
  unscored: "Missing or invalid score",
} as const;
const FLAG_NAMES = Object.keys(FLAGS) as (keyof typeof FLAGS)[];

/** Null for a filter that lets everything pass. The searched words come last, as they were typed. */
export function filterText(filter: RolloutFilter): string | null {
  const { loop, least, most, text } = filter;
  const parts = [
    ...(loop === null ? [] : [`loop:${loop}`]),
    ...(least === null && most === null ? [] : [`reward:${least ?? ""}..${most ?? ""}`]),
    ...FLAG_NAMES.filter((flag) => filter[flag]).map((flag) => `is:${flag}`),
    ...(text === "" ? [] : [text]),
  ];
  return parts.length === 0 ? null : parts.join(" ");
}

/** The filter of a text; words that are not conditions are searched. */
export function parseFilter(written: string | null): RolloutFilter {
  let filter = NO_FILTER;
  let rest = written ?? "";
  for (;;) {
    const [whole, name, value = ""] = /^(loop|reward|is):(\S*)(?: |$)/.exec(rest) ?? [];
    const change = whole === undefined ? null : conditionOf(name as string, value);
    if (whole === undefined || change === null) return { ...filter, text: rest };
    filter = { ...filter, ...change };
    rest = rest.slice(whole.length);
  }
}

function conditionOf(name: string, value: string): Partial<RolloutFilter> | null {
  if (name === "loop") {
    const loop = LOOP_IDS.find((id) => String(id) === value);
    return loop === undefined ? null : { loop };
  }
  if (name === "is") {
    const flag = FLAG_NAMES.find((known) => known === value);
    return flag === undefined ? null : { [flag]: true };
  }
  const limits = /^(\S*)\.\.(\S*)$/.exec(value);
  return limits === null ? null : { least: limitOf(limits[1] ?? ""), most: limitOf(limits[2] ?? "") };
}

/** The colour of a loop's first line in the charts, as a CSS value. */
export function loopColour(loop: LoopId): string {
  const index = loop <= 2 ? loop - 1 : loop + 1;
  return `var(--run-${(index % 6) + 1})`;
}

/** The colour as the CSS variable --loop, for an element and its pseudo-elements. */
export function loopStyle(loop: LoopId): CSSProperties {
  return { "--loop": loopColour(loop) } as CSSProperties;
}
