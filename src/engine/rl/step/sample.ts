/**
 * Samples the groups of a loop: draws their rows, lets the loop sample and reward them, and with dynamic sampling (DAPO,
 * 2503.14476) replaces groups whose rewards are equal, since they give no gradient.
 */

import { groupsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { chosenFrames, visibleFrames } from "../../data/film-strip.ts";
import type { RowSource, TrainingRow } from "../../data/training-row.ts";
import { withFrames } from "../../data/training-row.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import { isLanguageBlock } from "../../model/adapter/trainable.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { aboutLoop } from "../loops/abouts.ts";
import { LOOP_CODE } from "../loops/registry.ts";
import { stepAdvantages } from "../objective/group-advantages.ts";
import { member } from "../optim/optimiser.ts";
import type { TrainingState } from "../optim/training-state.ts";
import type { Run } from "../run/lab.ts";
import { drawRow } from "./data-order.ts";
import type { ActionLogps, Group, LoopRollouts } from "./group.ts";
import { runWeights, type Step } from "./step.ts";

// Chooses the frames of a clip that a step or an evaluation uses.

/** Minimum share of drawn frames that show the object, if the clip has enough of them. */
const VISIBLE = 0.6;

type Frames = Pick<LabConfig, "clipFrames" | "seed">;

/**
 * Rows with frames drawn for a step; pictures are unchanged. All rollouts of a row and the partner use the same frames,
 * so that the choice of frames affects no advantage.
 */
export function stepRows(rows: RowSource, { clipFrames, seed }: Frames, step: number): RowSource {
  return async (index) => {
    const row = await rows(index);
    const { frames: total } = row.summary;
    if (total === undefined) return row;
    const draw = (position: number): number =>
      uniform({ seed, step, loop: 0, row: index, rollout: 0, position, stream: STREAM.data });
    return withFrames(row, drawnFrames(visibleFrames(row.mask, total), total, clipFrames, draw));
  };
}

/** Rows with evenly spread frames, the same at every evaluation; pictures are unchanged. */
export function evaluationRows(rows: RowSource, { clipFrames: count }: Pick<Frames, "clipFrames">): RowSource {
  return async (index) => {
    const row = await rows(index);
    const { frames } = row.summary;
    return frames === undefined ? row : withFrames(row, chosenFrames(frames, { kind: "uniform", count }));
  };
}

/** `count` different frames, or all there are, ascending; at least `VISIBLE` of them from `visible`. @param draw in (0, 1) */
function drawnFrames(
  visible: readonly number[],
  total: number,
  count: number,
  draw: (position: number) => number,
): number[] {
  const order = Array.from({ length: total }, (_, frame) => ({ frame, at: draw(frame) })).sort((a, b) => a.at - b.at);
  const shuffled = order.map(({ frame }) => frame);
  const most = Math.min(count, total);
  const sure = shuffled.filter((frame) => visible.includes(frame)).slice(0, Math.ceil(VISIBLE * most));
  const rest = shuffled.filter((frame) => !sure.includes(frame));
  return [...sure, ...rest].slice(0, most).sort((a, b) => a - b);
}

/** The groups of a loop in this step; owned by the caller. */
export async function sampleLoop(run: Run, step: Step, id: LoopId): Promise<LoopRollouts> {
  const { config } = step;
  const first = await sampleGroups(run, step, id, 0, groupsPerStep(config));
  const spreads = (groups: readonly Group[]) =>
    stepAdvantages(groups, config, () => step.number).map(({ zeroSpread }) => !zeroSpread);
  return resampled(first, config.resampleRounds, spreads, (round, count) => sampleGroups(run, step, id, round, count));
}

/** Draws rows and samples a group for each, all together. @param round of dynamic sampling */
async function sampleGroups(
  { state, order }: Run,
  step: Step,
  id: LoopId,
  round: number,
  count: number,
): Promise<LoopRollouts> {
  const { model, config, number, rows, emit } = step;
  const loop = LOOP_CODE[id];
  const loopOrder = order.of(id);
  const perStep = groupsPerStep(config);
  await step.phase("sample", id);
  const drawn: TrainingRow[] = [];
  const ofClips = stepRows(rows, config, number);
  const usable = (row: TrainingRow): boolean => loop.usable(model, row, config);
  for (let group = 0; group < count; group++) {
    const place = loopOrder.place(order.before(number) + group, number, round);
    drawn.push(await drawRow(ofClips, loopOrder.rows, place, { usable, needs: loop.needs }));
  }
  emit({ type: "rows", rows: { step: number, loop: id, rows: drawn.map(({ summary }) => summary) } });
  return loop.rollout({ ...step, partner: partnerOf(state, step, id), firstGroup: round * perStep }, drawn);
}

/** The partner of a loop's rewards; with `partnerScope` loop, what the loop does not train stays as at the start. */
export function partnerOf(state: TrainingState, { config, model, partner }: Step, id: LoopId): Weights {
  if (config.partnerScope === "policy") return partner;
  const trainsLanguage = LOOP_CODE[id].trainsLanguage?.(config) ?? true;
  const trainsMasks = aboutLoop(id).samples === "mask";
  const others = state.names.filter((name) => !(isLanguageBlock(state.blockOf(name)) ? trainsLanguage : trainsMasks));
  const kept = Object.fromEntries(others.map((name) => [name, member(state.start, name)]));
  return runWeights(model, () => ({ ...state.ema, ...kept }), state.loraScale, config);
}

/**
 * Replaces groups without spread, round by round, in their places; new groups without spread are dropped.
 * @param first the sampled groups of a loop; owned by the result from now on
 * @param spreads returns whether each of these groups has spread
 * @param again samples a number of further groups
 * @throws what `again` throws; all groups are then freed
 */
export async function resampled(
  first: LoopRollouts,
  rounds: number,
  spreads: (groups: readonly Group[]) => readonly boolean[],
  again: (round: number, count: number) => Promise<LoopRollouts>,
): Promise<LoopRollouts> {
  const samplings = [first];
  const chosen = [...first.groups];
  try {
    for (let round = 1; round <= rounds; round++) {
      const has = spreads(chosen);
      const dull = [...chosen.keys()].filter((place) => has[place] !== true);
      if (dull.length === 0) break;
      const more = await again(round, dull.length);
      samplings.push(more);
      const good = spreads(more.groups);
      for (const [at, group] of more.groups.entries()) {
        const place = good[at] === true ? dull.shift() : undefined;
        if (place === undefined) group.dispose();
        else {
          chosen[place]?.dispose();
          chosen[place] = group;
        }
      }
    }
  } catch (thrown) {
    for (const group of chosen) group.dispose();
    throw thrown;
  }
  return samplings.length === 1 ? first : joined(samplings, chosen);
}

/** Combines the groups of several samplings into one list. */
function joined(samplings: readonly LoopRollouts[], groups: readonly Group[]): LoopRollouts {
  return {
    groups,
    sampled: samplings.flatMap((own) => own.groups),
    logProbs(weights, places, features) {
      const found: ActionLogps[] = [];
      for (const sampling of samplings) {
        const own = places.flatMap((place, at) => {
          const inside = sampling.groups.indexOf(groups[place] as Group);
          return inside < 0 ? [] : [{ at, inside }];
        });
        if (own.length === 0) continue;
        const scored = sampling.logProbs(
          weights,
          own.map(({ inside }) => inside),
          own.map(({ at }) => features[at] as (typeof features)[number]),
        );
        for (const [n, { at }] of own.entries()) found[at] = scored[n] as ActionLogps;
      }
      return found;
    },
  };
}
