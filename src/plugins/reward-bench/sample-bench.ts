/**
 * Sampling of the reward bench: groups of rollouts of selected rows from the loaded weights, scored as in a run, without
 * loss or update.
 */

import type { LabConfig } from "../../engine/config/table.ts";
import { decodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import type { TrainingRow } from "../../engine/data/training-row.ts";
import { clipFact, rowSize } from "../../engine/data/training-row.ts";
import { LabError } from "../../engine/errors.ts";
import { trimPool } from "../../engine/gpu/runtime/pool.ts";
import { tf } from "../../engine/gpu/tf.ts";
import { likelihoodFact, wantedLikelihoods } from "../../engine/policy/caption-likelihood.ts";
import { createFeatureCache, disposeFeatures } from "../../engine/policy/features.ts";
import { describePictures } from "../../engine/policy/partner.ts";
import { rowCells } from "../../engine/policy/prompts.ts";
import { pictureSettings } from "../../engine/policy/region-marks.ts";
import { rewardPlan } from "../../engine/rewards/composer/plan.ts";
import type { RewardTerm, RolloutFacts } from "../../engine/rewards/term.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import { LOOP_CODE } from "../../engine/rl/loops/registry.ts";
import { disposeState } from "../../engine/rl/optim/training-state.ts";
import type { Lab } from "../../engine/rl/run/lab.ts";
import { captionerOf, requireCaptioner } from "../../engine/rl/run/start/captioner.ts";
import { adapterBlocker, startState } from "../../engine/rl/run/start/run-facts.ts";
import { runWeights, type StepContext } from "../../engine/rl/step/context.ts";
import type { Group } from "../../engine/rl/step/group.ts";
import { stepRows } from "../../engine/rl/step/sample.ts";
import type { LoopId } from "../../engine/runs/rollouts/records.ts";
import { type BenchGroup, type GroupBounds, UNSCORED } from "./bench-group.ts";
import { scoredGroup } from "./bench-scores.ts";

interface BenchInput {
  readonly context: Omit<StepContext, "step" | "phase">;
  readonly rows: (index: number) => Promise<TrainingRow>;
  /** Data-set indices of the rows, in the order in which they are sampled. */
  readonly indices: readonly number[];
  readonly loops: readonly LoopId[];
  /** Called with each group as soon as it is scored. */
  readonly onGroup: (group: BenchGroup) => void;
  /** Throws when the device reported an error. */
  readonly checkDevice: () => void;
}

/** Host bytes of cached frozen features: a bench uses each row once. */
const BENCH_FEATURE_BYTES = 64 * 2 ** 20;

/**
 * Samples with the start weights of a run with these settings, and frees everything it allocated.
 * @throws LabError("cancelled") when the signal aborts, LabError("bad-config") when the adapter does not fit the settings
 */
export async function benchFromStart(
  lab: Lab,
  config: LabConfig,
  input: Pick<BenchInput, "indices" | "loops" | "onGroup">,
  signal: AbortSignal,
): Promise<void> {
  const { model, adapters, scorer, rows, device } = lab;
  const { start: adapter } = adapters;
  const blocker = adapter === undefined ? null : adapterBlocker(adapter, config);
  if (blocker !== null) throw new LabError("bad-config", blocker, { subject: "loraR" });
  const judge = requireCaptioner(config, adapters.captioner);
  const state = await startState(model, config, adapter);
  const other = judge === undefined ? undefined : captionerOf(model, judge, config);
  const features = createFeatureCache(
    model,
    config.maxTiles,
    BENCH_FEATURE_BYTES,
    "f32",
    undefined,
    undefined,
    pictureSettings(model.config, config),
  );
  const weights = runWeights(model, state.params, state.loraScale, config);
  try {
    await scorer.begin(config);
    const own = { policy: weights, partner: weights, start: weights, captioner: other?.weights };
    const context = { model, config, ...own, features, scorer, signal };
    await sampleBench({ ...input, rows, checkDevice: () => device.check(), context });
  } finally {
    features.clear();
    disposeState(state);
    if (other !== undefined) tf.dispose(other.tensors);
    trimPool();
  }
}

/**
 * Samples a group of every row in each loop. A row's draws depend only on its place in the data set and on the seed, so
 * a bench over part of a shard repeats the results of one over the whole.
 * @throws LabError("cancelled") when the signal aborts; groups already delivered stay valid
 */
async function sampleBench(input: BenchInput): Promise<void> {
  const { context, rows, indices, loops, onGroup, checkDevice } = input;
  const stopIfAsked = async (): Promise<void> => {
    if (context.signal.aborted) throw new LabError("cancelled", "The bench was stopped");
  };
  for (const index of indices) {
    await stopIfAsked();
    const row = await stepRows(rows, context.config, index + 1)(index);
    for (const loop of loops) {
      await stopIfAsked();
      if (!LOOP_CODE[loop].usable(context.model, row, context.config)) continue;
      const own: StepContext = { ...context, step: index + 1, phase: stopIfAsked, watchLikelihood: true };
      const { groups } = await LOOP_CODE[loop].rollout(own, [row]);
      try {
        checkDevice();
        for (const group of groups) onGroup(await benchGroup(own, group));
      } finally {
        for (const group of groups) group.dispose();
      }
    }
  }
}

async function benchGroup(context: StepContext, group: Group): Promise<BenchGroup> {
  const { config, step } = context;
  const { loop, row, weights, rollouts } = group;
  const key = `${step}-${loop}`;
  const { id: rowId, imageId } = row.summary;
  const place = { step, loop, group: group.group };
  const unscored = rollouts.map((rollout, index) => {
    return { ...rollout, ...place, id: `${key}-${index}`, index, advantage: 0, actions: [] };
  });
  const known = {
    ...UNSCORED,
    ...place,
    key,
    batch: "",
    rowId,
    imageId,
    weights,
    ...(await groupBounds(context, group)),
  };
  return scoredGroup({ ...known, rollouts: unscored }, rollouts, config);
}

// Answers that bound the possible gain, in addition to the sampled ones.

/**
 * What the policy's greedy answer earns, and of masks what the row's own mask earns.
 * @throws LabError("held") when a reward cannot be given
 */
async function groupBounds(
  context: StepContext,
  { loop, row, rollouts }: Group,
): Promise<{ readonly bounds?: GroupBounds }> {
  if (aboutLoop(loop).samples === "text") return { bounds: { greedy: await greedyText(context, loop, row) } };
  const greedyMask = rollouts[0]?.greedyMask ?? null;
  if (greedyMask === null) return {};
  const { model, config, scorer, signal } = context;
  const size = rowSize(row);
  const keepTiny = config.smallRegions === "force";
  const masks = [decodeRle(greedyMask), row.mask];
  const features = await context.features.get(row.summary.imageId, row.rgb, row.view, { signal });
  const picture = { features, masks, ...size };
  const said = { caption: row.summary.caption, others: row.others ?? [] };
  const options = { maxCompletionLength: config.partnerMaxTokens, logitGuard: config.logitGuard, keepTiny, signal };
  const [captions, likelihoods] = await (async () => {
    const [described = []] = await describePictures(model, context.partner, [picture], options);
    const [measured] = await wantedLikelihoods(context, loop, [{ ...picture, ...said }]);
    return [described, measured] as const;
  })().finally(() => disposeFeatures(features));
  const facts = (predicted: Rle, n: number): RolloutFacts => ({
    loop,
    reference: row.summary.caption,
    caption: captions[n] ?? null,
    ...likelihoodFact(likelihoods, n),
    given: row.summary.mask,
    predicted,
    ...clipFact(row),
    confidence: null,
    truncated: false,
  });
  const asked = [facts(greedyMask, 0), facts(row.summary.mask, 1)];
  const [greedy, truth] = await scorer.scoreGroup(asked, rewardPlan(config), signal);
  const [own, wanted] = masks.map((mask) => String(rowCells(model, { ...row, mask }, keepTiny)));
  return { bounds: { greedy: greedy?.terms ?? [], truth: { terms: truth?.terms ?? [], alike: own === wanted } } };
}

/** Terms of the likeliest text: a group of one, of which every token is the likeliest. */
async function greedyText(context: StepContext, loop: LoopId, row: TrainingRow): Promise<readonly RewardTerm[]> {
  const config = { ...context.config, numGenerations: 1, topK: 1, repetitionPenalty: 1 };
  const { groups } = await LOOP_CODE[loop].rollout({ ...context, config }, [row]);
  for (const group of groups) group.dispose();
  return groups[0]?.rollouts[0]?.terms ?? [];
}
