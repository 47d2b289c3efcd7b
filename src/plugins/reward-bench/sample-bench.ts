/**
 * Sampling of the reward bench: groups of rollouts of selected rows from the loaded weights, scored as in a run, without
 * loss or update.
 */

import type { LabConfig } from "../../engine/config/table.ts";
import { decodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import type { TrainingRow } from "../../engine/data/training-row.ts";
import { rowSize, stripFrames } from "../../engine/data/training-row.ts";
import { LabError } from "../../engine/errors.ts";
import { trimPool } from "../../engine/gpu/runtime/pool.ts";
import { tf } from "../../engine/gpu/tf.ts";
import { likelihoodFact } from "../../engine/policy/caption-likelihood.ts";
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
import { adapterCaptioner, requireCaptioner } from "../../engine/rl/run/start/captioner.ts";
import { adapterBlocker, startState } from "../../engine/rl/run/start/run-facts.ts";
import type { Group } from "../../engine/rl/step/group.ts";
import { stepRows } from "../../engine/rl/step/sample.ts";
import { runWeights, type Step, wantedLikelihoods } from "../../engine/rl/step/step.ts";
import type { LoopId } from "../../engine/runs/rollouts/records.ts";
import { withinPlan } from "../../engine/session/plan.ts";
import { type BenchGroup, type GroupBounds, UNSCORED } from "./bench-group.ts";
import { scoredGroup } from "./bench-scores.ts";

interface BenchInput {
  /** Data-set indices of the rows, in the order in which they are sampled. */
  readonly indices: readonly number[];
  readonly loops: readonly LoopId[];
  /** Called with each group as soon as it is scored. */
  readonly onGroup: (group: BenchGroup) => void;
}

/** Host bytes of cached frozen features: a bench uses each row once. */
const BENCH_FEATURE_BYTES = 64 * 2 ** 20;

/**
 * Samples with the start weights of a run with these settings, and frees everything it allocated.
 * @throws LabError("cancelled") when the signal aborts, LabError("bad-config") when the adapter does not fit the settings
 */
export function benchFromStart(lab: Lab, config: LabConfig, input: BenchInput, signal: AbortSignal): Promise<void> {
  return withinPlan(lab, config, () => sampleFromStart(lab, config, input, signal));
}

async function sampleFromStart(lab: Lab, config: LabConfig, input: BenchInput, signal: AbortSignal): Promise<void> {
  const { model, adapters, scorer } = lab;
  const { start: adapter } = adapters;
  const blocker = adapter === undefined ? null : adapterBlocker(adapter, config);
  if (blocker !== null) throw new LabError("bad-config", blocker, { subject: "loraR" });
  const judge = requireCaptioner(config, adapters.captioner);
  const state = await startState(model, config, adapter);
  const other = judge === undefined ? undefined : adapterCaptioner(model, judge, config);
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
    const phase: Step["phase"] = async () => {
      if (signal.aborted) throw new LabError("cancelled", "The bench was stopped");
    };
    const own = { policy: weights, partner: weights, start: weights, captioner: other?.weights };
    await sampleBench({ ...lab, ...own, config, number: 0, features, signal, phase, watchLikelihood: true }, input);
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
async function sampleBench(bench: Step, { indices, loops, onGroup }: BenchInput): Promise<void> {
  const { model, config, rows } = bench;
  for (const index of indices) {
    await bench.phase("sample", null);
    const row = await stepRows(rows, config, index + 1)(index);
    for (const loop of loops) {
      await bench.phase("sample", loop);
      if (!LOOP_CODE[loop].usable(model, row, config)) continue;
      const step = { ...bench, number: index + 1 };
      const { groups } = await LOOP_CODE[loop].rollout(step, [row]);
      try {
        bench.device.check();
        for (const group of groups) onGroup(await benchGroup(step, group));
      } finally {
        for (const group of groups) group.dispose();
      }
    }
  }
}

async function benchGroup(step: Step, group: Group): Promise<BenchGroup> {
  const { config, number } = step;
  const { loop, row, probabilities, rollouts } = group;
  const key = `${number}-${loop}`;
  const { id: rowId, imageId } = row.summary;
  const place = { step: number, loop, group: group.group };
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
    probabilities,
    ...(await groupBounds(step, group)),
  };
  return scoredGroup({ ...known, rollouts: unscored }, rollouts, config);
}

// Answers that bound the possible gain, in addition to the sampled ones.

/**
 * What the policy's greedy answer earns, and of masks what the row's own mask earns.
 * @throws LabError("held") when a reward cannot be given
 */
async function groupBounds(step: Step, { loop, row, rollouts }: Group): Promise<{ readonly bounds?: GroupBounds }> {
  if (aboutLoop(loop).samples === "text") return { bounds: { greedy: await greedyText(step, loop, row) } };
  const greedyMask = rollouts[0]?.greedyMask ?? null;
  if (greedyMask === null) return {};
  const { model, config, scorer, signal } = step;
  const size = rowSize(row);
  const keepTiny = config.smallRegions === "force";
  const masks = [decodeRle(greedyMask), row.mask];
  const features = await step.features.get(row.summary.imageId, row.rgb, row.view, { signal });
  const picture = { features, masks, ...size };
  const said = { caption: row.summary.caption, others: row.others ?? [] };
  const options = { maxCompletionLength: config.partnerMaxTokens, logitGuard: config.logitGuard, keepTiny, signal };
  const [captions, likelihoods] = await (async () => {
    const [described = []] = await describePictures(model, step.partner, [picture], options);
    const [measured] = await wantedLikelihoods(step, loop, [{ ...picture, ...said }]);
    return [described, measured] as const;
  })().finally(() => disposeFeatures(features));
  const facts = (predicted: Rle, n: number): RolloutFacts => ({
    loop,
    reference: row.summary.caption,
    caption: captions[n] ?? null,
    ...likelihoodFact(likelihoods, n),
    given: row.summary.mask,
    predicted,
    ...stripFrames(row),
    confidence: null,
    truncated: false,
  });
  const asked = [facts(greedyMask, 0), facts(row.summary.mask, 1)];
  const [greedy, truth] = await scorer.scoreGroup(asked, rewardPlan(config), signal);
  const [own, wanted] = masks.map((mask) => String(rowCells(model, { ...row, mask }, keepTiny)));
  return { bounds: { greedy: greedy?.terms ?? [], truth: { terms: truth?.terms ?? [], alike: own === wanted } } };
}

/** Terms of the likeliest text: a group of one, of which every token is the likeliest. */
async function greedyText(step: Step, loop: LoopId, row: TrainingRow): Promise<readonly RewardTerm[]> {
  const config = { ...step.config, numGenerations: 1, topK: 1, repetitionPenalty: 1 };
  const { groups } = await LOOP_CODE[loop].rollout({ ...step, config }, [row]);
  for (const group of groups) group.dispose();
  return groups[0]?.rollouts[0]?.terms ?? [];
}
