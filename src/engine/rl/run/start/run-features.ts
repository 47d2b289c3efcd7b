/** The disk cache of a run's frozen features. */
import type { LabConfig } from "../../../config/table.ts";
import { toLabError } from "../../../errors.ts";
import type { GpuReport } from "../../../gpu/runtime/device.ts";
import { type FeatureDiskCache, type FeatureFiles, openFeatureDiskCache } from "../../../policy/feature-store.ts";
import type { Alarm } from "../../../runs/alarms.ts";
import type { TuningTable } from "../../../tuning/table.ts";
import type { LoadedModel } from "../session-types.ts";

const GIGABYTE = 1e9;

/**
 * @param files store of the features; no cache if absent
 * @param table measured forms that the run computes with; features of other forms differ in the last bits
 * @returns undefined if the cache is off, or if the disk cannot be read, which is reported as a warning
 */
export async function runFeatures(
  files: FeatureFiles | undefined,
  { model, hash }: Pick<LoadedModel, "model" | "hash">,
  config: Pick<LabConfig, "featureDisk" | "featureStorage" | "maxTiles" | "resizeTwice">,
  device: Pick<GpuReport, "vendor" | "architecture" | "description">,
  table: TuningTable | undefined,
  step: number,
  tell: (alarm: Alarm) => void,
): Promise<FeatureDiskCache | undefined> {
  if (files === undefined || config.featureDisk === 0) return undefined;
  const warn = (thrown: unknown): void => {
    const message = `Features are not stored on disk: ${toLabError(thrown, "storage").message}`;
    tell({ id: "features-not-kept", step, severity: "warning", message });
  };
  const maxTiles = Math.min(config.maxTiles, model.tiling.maxTiles);
  const tiling = { ...model.tiling, maxTiles, resizeTwice: config.resizeTwice };
  const { vendor, architecture, description } = device;
  const origin = {
    model: hash,
    storage: model.storage,
    features: config.featureStorage,
    tiling,
    computedBy: {
      vendor,
      architecture,
      description,
      forms: table?.entries.map(({ bucket, form }) => [bucket, form]) ?? [],
    },
  };
  try {
    return await openFeatureDiskCache(files, origin, config.featureDisk * GIGABYTE, warn);
  } catch (thrown) {
    warn(thrown);
    return undefined;
  }
}
