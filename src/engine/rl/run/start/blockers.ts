/** Settings that are valid separately but make every step fail; reported before anything is sampled. */
import { activeLoops, generationBlocker, samples } from "../../../config/derived.ts";
import { aboutMaskPolicy } from "../../../config/groups/mask.ts";
import { type LabConfig, SETTINGS } from "../../../config/table.ts";
import { parseRowFilter } from "../../../data/row-filter.ts";
import { parseSources } from "../../../data/sources.ts";
import { LabError } from "../../../errors.ts";
import { type RegionPrompt, regionPromptOf } from "../../../model/config.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import { checkSampler, samplerSettings } from "../../../policy/decode/sampler.ts";
import { rewardPlan } from "../../../rewards/composer/plan.ts";
import { lossSettingsOf } from "../../objective/loss-types.ts";

/** What helps: other settings, another model, or what the Rewards screen shows. */
export type Remedy = { readonly label: string; readonly values: Partial<LabConfig> } | "model" | "rewards";

/** A sentence about the next run, and what helps. */
export interface Advice {
  readonly sentence: string;
  readonly remedy?: Remedy;
}

export interface Blocker extends Advice {
  readonly setting: string;
}

type Shape = Pick<Sa2vaModel, "tiling"> & {
  readonly config: { readonly sam2: { readonly imageSize: number }; readonly regionPrompt?: RegionPrompt };
};

/** Settings that make every step fail; the same checks as in a step. */
export function settingBlockers(model: Shape, config: LabConfig): readonly Blocker[] {
  const found: Blocker[] = [];
  const { minTiles } = model.tiling;
  if (config.maxTiles < minTiles) {
    const sentence = `At most ${config.maxTiles} tiles are allowed, this model cuts a picture into at least ${minTiles}; raise maxTiles`;
    found.push({ setting: "maxTiles", sentence });
  }
  found.push(...refusal(() => parseRowFilter(config.rowFilter)));
  found.push(...refusal(() => parseSources(config.mixSources)));
  if (config.mode !== "rl") return found;
  const loops = activeLoops(config);
  const [loop] = loops;
  if (loop !== undefined && loops.every((id) => config[`loop${id}Weight`] === 0)) {
    const setting = `loop${loop}Weight` as const;
    const { label } = SETTINGS[setting];
    const sentence =
      loops.length === 1
        ? `Loop ${loop} has weight 0 and would learn nothing. Raise “${label}”`
        : "All loops have weight 0 and would learn nothing. Raise the weight of one";
    found.push({ setting, sentence, remedy: { label: `Set ${label} to 1`, values: { [setting]: 1 } } });
  }
  const { weights, user } = rewardPlan(config);
  if (user === null && loops.some((id) => weights[id].user !== 0)) {
    const sentence =
      "The custom reward has a weight but no function. Write one on the Rewards screen or set the weight to 0";
    found.push({ setting: "userReward", sentence, remedy: "rewards" });
  }
  const uneven = generationBlocker(config);
  if (uneven !== null) found.push({ setting: "stepsPerGeneration", sentence: uneven });
  const { useAdaptiveEntropy, entropyCoefMin: least, entropyCoefMax: most } = config;
  if (useAdaptiveEntropy && least > most) {
    const sentence = `The entropy bonus has a minimum of ${least} above its maximum of ${most}; lower entropyCoefMin`;
    found.push({ setting: "entropyCoefMin", sentence });
  }
  const shown = regionPromptOf({ regionPrompt: "tokens", ...model.config }, config.regionPrompt);
  const { softMask, reads } = aboutMaskPolicy(config);
  if (samples(config, "mask") && softMask && shown !== "tokens") {
    const sentence = `The ${config.maskPolicy} mask policy shows its mask through copied visual tokens; set regionPrompt to tokens (it is ${shown}) or choose another maskPolicy`;
    found.push({ setting: "regionPrompt", sentence });
  }
  const maskSide = model.config.sam2.imageSize / 4;
  if (samples(config, "mask") && reads.includes("fieldGrid") && maskSide % config.fieldGrid !== 0) {
    const sentence = `Field grid ${config.fieldGrid} must divide this model's mask side of ${maskSide} cells`;
    found.push({ setting: "fieldGrid", sentence });
  }
  const checks = [
    () => checkSampler(samplerSettings(config)),
    () => lossSettingsOf(config, config.entropyCoef, 1, 1, 1),
  ];
  return [...found, ...checks.flatMap(refusal)];
}

/** @throws LabError("bad-config") with the first blocker, naming its setting */
export function refuseBlockers(model: Shape, config: LabConfig): void {
  const [first] = settingBlockers(model, config);
  if (first !== undefined) throw new LabError("bad-config", first.sentence, { subject: first.setting });
}

function refusal(check: () => unknown): Blocker[] {
  try {
    check();
    return [];
  } catch (thrown) {
    if (!(thrown instanceof LabError && thrown.code === "bad-config")) throw thrown;
    return [{ setting: thrown.subject ?? "settings", sentence: thrown.message }];
  }
}
