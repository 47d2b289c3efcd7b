/**
 * Chooses the row of a prompt: a pure function of the counters, the rows and the settings, so a resume needs only the
 * step. Without a mix or a curriculum, epochs are independent permutations in sequence. Mixes follow
 * docs/spec/evaluation.md#53-mixing.
 */
import { groupsPerStep, rowsPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { parseSources, sourceAt } from "../../data/sources.ts";
import type { RowSource, TrainingRow } from "../../data/training-row.ts";
import { badInput, LabError } from "../../errors.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import { needsDifficulty, type RowDifficulty } from "../../runs/difficulty.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";

/** Settings that the order depends on. */
type OrderSettings = Pick<
  LabConfig,
  | "seed"
  | "mode"
  | "mixSources"
  | "mixBy"
  | "lengthGrouping"
  | "curriculum"
  | "curriculumStart"
  | "curriculumSteps"
  | "zeroSpreadRows"
  | "promptsPerStep"
  | "accumulation"
  | "stepsPerGeneration"
>;

/** Facts about the training rows. */
export interface OrderRows {
  /** Data-set indices of the training rows, at least one. */
  readonly train: readonly number[];
  /** Row id by data-set index. */
  readonly id: (index: number) => string;
  /** Words of the caption by data-set index; needed for length grouping. */
  readonly words?: (index: number) => number;
  readonly difficulty?: readonly RowDifficulty[];
}

/** Settings of the steps up to one, before a part of the run changed them. */
export interface EarlierSettings {
  /** The last step that had them. */
  readonly upTo: number;
  readonly config: OrderSettings;
}

/** The draws of one loop. */
interface LoopOrder {
  /** Data-set indices of the rows that can be drawn. */
  readonly rows: readonly number[];
  /**
   * Place in `rows` of a prompt.
   * @param n earlier prompts of this loop in the whole run
   * @param step from 1
   * @param round of dynamic sampling; each has its own order
   */
  place(n: number, step: number, round?: number): number;
}

export interface RowOrder {
  of(loop: LoopId): LoopOrder;
  /** Prompts of a loop in all steps before this one, whatever the batch of each. @param step from 1 */
  before(step: number): number;
  /** Name of the source of a row; null without a mix. */
  source(rowId: string): string | null;
}

/**
 * @param earlier settings of earlier steps whose batch was another one, by ascending step
 * @throws LabError("bad-config") when the settings leave no row, or need a difficulty that was not measured
 */
export function rowOrder(known: OrderRows, config: OrderSettings, earlier: readonly EarlierSettings[] = []): RowOrder {
  const sources = parseSources(config.mixSources);
  const orders = new Map<LoopId, LoopOrder>();
  const parts = [...earlier, { upTo: Number.POSITIVE_INFINITY, config }];
  const before = (step: number): number =>
    parts.reduce((sum, part, at) => {
      const began = parts[at - 1]?.upTo ?? 0;
      return sum + Math.max(0, Math.min(step - 1, part.upTo) - began) * rowsPerStep(part.config);
    }, 0);
  /** Groups of the step that drew the n-th prompt. */
  const batchOf = (n: number): number =>
    groupsPerStep((parts.find(({ upTo }) => n < before(upTo + 1)) ?? { config }).config);
  return {
    before,
    of: (loop) => {
      const order = orders.get(loop) ?? loopOrder(known, config, loop, batchOf);
      orders.set(loop, order);
      return order;
    },
    source: (rowId) => (sources.length === 0 ? null : (sources[sourceAt(sources, rowId)]?.name ?? null)),
  };
}

/** @param batchOf groups of the step that drew the n-th prompt */
function loopOrder(known: OrderRows, config: OrderSettings, loop: LoopId, batchOf: (n: number) => number): LoopOrder {
  const { seed, curriculum, curriculumStart, curriculumSteps, mixBy } = config;
  const sources = parseSources(config.mixSources);
  const measured = new Map(
    (known.difficulty ?? []).flatMap((row) => (row.loop === loop ? [[row.rowId, row] as const] : [])),
  );
  if (needsDifficulty(config) && !known.train.some((index) => measured.has(known.id(index)))) {
    const setting = curriculum === "off" ? "zeroSpreadRows" : "curriculum";
    const message = `${setting} needs the difficulty of the training rows in loop ${loop}; sample them on the reward bench first`;
    throw new LabError("bad-config", message, { subject: setting });
  }
  const source = (index: number): number => sourceAt(sources, known.id(index));
  const rows = known.train.filter((index) => {
    if (sources.length > 0 && sources[source(index)]?.amount === 0) return false;
    return config.zeroSpreadRows === "keep" || measured.get(known.id(index))?.zeroSpread !== true;
  });
  if (rows.length === 0) {
    const subject = config.zeroSpreadRows === "skip" ? "zeroSpreadRows" : "mixSources";
    throw new LabError("bad-config", `${subject} leaves no training row for loop ${loop}`, { subject });
  }
  /** Places in `rows` by source; one list without a mix. */
  const bySource = sources.length === 0 ? [[...rows.keys()]] : sources.map((): number[] => []);
  if (sources.length > 0) for (const [place, index] of rows.entries()) bySource[source(index)]?.push(place);
  const amounts = sources.length === 0 ? [1] : sources.map(({ amount }) => amount);
  const draw = (stream: number, step: number, row: number, position: number, round: number): number =>
    uniform({ seed, step, loop, row, rollout: round, position, stream });

  /** Places of an epoch before the permutation: each source repeated as set, fractions chosen at random. */
  const slots = (epoch: number, round: number): number[] =>
    bySource.flatMap((places, at) => {
      const length = Math.floor(places.length * (amounts[at] as number) + 1e-9);
      const whole = Math.floor(length / Math.max(1, places.length));
      const rest = length - whole * places.length;
      const some =
        rest === 0 ? [] : permuted(places, (i) => draw(STREAM.curriculum, epoch, i, at, round)).slice(0, rest);
      return [...Array<readonly number[]>(whole).fill(places).flat(), ...some];
    });
  const epochLength = slots(0, 0).length;
  if (epochLength === 0 && mixBy === "repeats") {
    throw new LabError("bad-config", "mixSources gives an epoch without rows; raise one of its numbers", {
      subject: "mixSources",
    });
  }
  const lengths = config.lengthGrouping ? rows.map((index) => wordsOf(known, index)) : null;
  /** The last epoch by round. */
  const epochs = new Map<number, { readonly epoch: number; readonly order: readonly number[] }>();
  const epochOrder = (epoch: number, round: number): readonly number[] => {
    const last = epochs.get(round);
    if (last?.epoch === epoch) return last.order;
    const shuffled = permuted(slots(epoch, round), (i) => draw(STREAM.data, epoch, i, 0, round));
    const order = lengths === null ? shuffled : lengthGrouped(shuffled, lengths, batchOf(epoch * epochLength));
    epochs.set(round, { epoch, order });
    return order;
  };

  const ranking = curriculum === "off" ? null : ranked(rows, (index) => measured.get(known.id(index))?.reward);
  if (curriculum === "hard") ranking?.reverse();
  const weightOf = weights(rows.length, bySource, amounts, mixBy);
  /** Rows of the current pool with the running sum of their weights. */
  let pool: { readonly places: readonly number[]; readonly sums: Float64Array } = {
    places: [],
    sums: new Float64Array(),
  };
  const drawn = (size: number, n: number, round: number): number => {
    if (pool.places.length !== size) {
      const places = (ranking ?? [...rows.keys()]).slice(0, size);
      const sums = new Float64Array(size);
      for (const [at, place] of places.entries()) sums[at] = (sums[at - 1] ?? 0) + (weightOf[place] as number);
      pool = { places, sums };
    }
    const wanted = draw(STREAM.curriculum, n, 0, bySource.length, round) * (pool.sums.at(-1) ?? 0);
    const at = pool.sums.findIndex((sum) => sum > wanted);
    return pool.places[Math.max(0, at)] as number;
  };
  return {
    rows,
    place(n, step, round = 0) {
      const grown = curriculumStart + ((1 - curriculumStart) * (step - 1)) / curriculumSteps;
      const share = ranking === null ? 1 : Math.min(1, grown);
      if (share < 1) return drawn(Math.max(1, Math.ceil(share * rows.length)), n, round);
      if (sources.length > 0 && mixBy === "weights") return drawn(rows.length, n, round);
      return epochOrder(Math.floor(n / epochLength), round)[n % epochLength] as number;
    },
  };
}

function wordsOf({ words }: OrderRows, index: number): number {
  if (words !== undefined) return words(index);
  throw new LabError("internal", "Length grouping needs the lengths of the captions");
}

/** Fisher–Yates from the front. @param draw uniform number of each place */
function permuted(items: readonly number[], draw: (place: number) => number): number[] {
  const order = [...items];
  for (let i = 0; i < order.length; i++) {
    const other = i + Math.floor(draw(i) * (order.length - i));
    [order[i], order[other]] = [order[other] as number, order[i] as number];
  }
  return order;
}

/** Places from the highest to the lowest reward; rows without a reward are placed at the median. */
function ranked(rows: readonly number[], reward: (index: number) => number | undefined): number[] {
  const known = rows.flatMap((index) => reward(index) ?? []).sort((a, b) => a - b);
  const median = known[Math.floor(known.length / 2)] ?? 0;
  return [...rows.keys()].sort((a, b) => {
    const [one, other] = [a, b].map((place) => reward(rows[place] as number) ?? median) as [number, number];
    return other - one || a - b;
  });
}

/** Weight of each place for draws with replacement. */
function weights(count: number, bySource: readonly number[][], amounts: readonly number[], by: LabConfig["mixBy"]) {
  const found = new Float64Array(count);
  for (const [at, places] of bySource.entries()) {
    const amount = amounts[at] as number;
    for (const place of places) found[place] = by === "weights" ? amount / places.length : amount;
  }
  return found;
}

/**
 * Groups a permutation by length as xtuner's LengthGroupedSampler does on one process: it is cut into groups of several
 * batches, each group is sorted by descending length, and the longest item comes first.
 * @param lengths positive length by item of `order`
 */
export function lengthGrouped(order: readonly number[], lengths: readonly number[], batch: number): number[] {
  const size = batch * Math.max(1, Math.min(Math.floor(order.length / (4 * batch)), 50));
  const out: number[] = [];
  const length = (item: number | undefined): number => (item === undefined ? 0 : (lengths[item] as number));
  let longest = 0;
  for (let from = 0; from < order.length; from += size) {
    const group = order.slice(from, from + size).sort((a, b) => length(b) - length(a));
    out.push(...group);
    if (length(out[from]) > length(out[longest])) longest = from;
  }
  [out[0], out[longest]] = [out[longest] as number, out[0] as number];
  return out;
}

/**
 * @param trainRows data-set indices, at least one
 * @param place position in `trainRows` that the data order gives; the search continues from there and wraps around
 * @param loop decides which rows it can sample, and has the end of the error sentence
 * @throws LabError("bad-input") when no training row can be used
 */
export async function drawRow(
  rows: RowSource,
  trainRows: readonly number[],
  place: number,
  loop: {
    readonly usable: (row: TrainingRow) => boolean;
    readonly needs: { readonly subject: string; readonly text: string };
  },
): Promise<TrainingRow> {
  for (let tried = 0; tried < trainRows.length; tried++) {
    const row = await rows(trainRows[(place + tried) % trainRows.length] as number);
    if (loop.usable(row)) return row;
  }
  const { subject, text } = loop.needs;
  throw badInput(`None of the ${trainRows.length} training rows ${text}`, subject);
}
