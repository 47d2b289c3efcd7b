/** Settings that each may have but no step can be taken with, told before anything is sampled. */
import type { LabConfig } from "../config/table.ts";
import { LabError } from "../errors.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { checkSampler } from "../policy/sampler.ts";
import { samplerSettings } from "./context.ts";
import { lossSettingsOf } from "./loss-config.ts";

export interface Obstacle {
  /** The setting that is in the way. */
  readonly setting: string;
  readonly sentence: string;
}

type Shape = Pick<Sa2vaModel, "tiling"> & { readonly config: { readonly sam2: { readonly imageSize: number } } };

/** What keeps every step from being taken; the checks are those that a step makes. */
export function settingObstacles(model: Shape, config: LabConfig): readonly Obstacle[] {
  const found: Obstacle[] = [];
  const { minTiles } = model.tiling;
  if (config.maxTiles < minTiles) {
    const sentence = `At most ${config.maxTiles} tiles are allowed, this model cuts a picture into at least ${minTiles}; raise maxTiles`;
    found.push({ setting: "maxTiles", sentence });
  }
  if (config.mode === "sft") return found;
  const maskSide = model.config.sam2.imageSize / 4;
  const usesField = config.maskPolicy === "field" || config.maskPolicy === "imitation";
  if (config.loops !== "1" && usesField && maskSide % config.fieldGrid !== 0) {
    const sentence = `Field grid ${config.fieldGrid} must divide this model's mask side of ${maskSide} cells`;
    found.push({ setting: "fieldGrid", sentence });
  }
  const checks = [() => checkSampler(samplerSettings(config)), () => lossSettingsOf(config, 1, 1, 1)];
  return [...found, ...checks.flatMap(refusal)];
}

/** @throws LabError("bad-config") with the first obstacle, naming its setting */
export function refuseObstacles(model: Shape, config: LabConfig): void {
  const [first] = settingObstacles(model, config);
  if (first !== undefined) throw new LabError("bad-config", first.sentence, { subject: first.setting });
}

function refusal(check: () => unknown): Obstacle[] {
  try {
    check();
    return [];
  } catch (thrown) {
    if (!(thrown instanceof LabError && thrown.code === "bad-config")) throw thrown;
    return [{ setting: thrown.subject ?? "settings", sentence: thrown.message }];
  }
}
