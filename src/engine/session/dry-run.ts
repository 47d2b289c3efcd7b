/** The settings and the result of a dry run, which measures the first two steps of an ordinary run. */
import { configDifference } from "../config/parse.ts";
import type { Setting } from "../config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../config/table.ts";
import type { PhasePlace } from "../rl/run/events.ts";

export interface DryRunPlace extends PhasePlace {
  readonly step: number;
}

export interface MeasuredStep {
  readonly seconds: number;
  /** GPU programs compiled in this step; most are compiled in the first step of a page. */
  readonly programs: number;
}

export interface DryRun {
  readonly first: MeasuredStep;
  readonly second: MeasuredStep;
  /** Bytes on the GPU after the second step, and peak bytes of all buffers. */
  readonly held: number;
  readonly peak: number;
  /** The settings made smaller because memory ran out, as text; null if none were. */
  readonly smaller: string | null;
}

/**
 * Settings of the dry run of a configuration. It asks no judge, so it sends no caption and counts against no budget. It
 * does not evaluate, save or keep features on disk. When memory runs out, it continues with a smaller setting without
 * asking.
 */
export function dryRunSettings(config: LabConfig): LabConfig {
  const nothingKept = { saveSteps: 0, evalSteps: 0, featureDisk: 0 } as const;
  return { ...config, ...nothingKept, steps: 2, judge: "off", outOfMemory: "smaller" };
}

/** Whether a step takes the same memory and time under both settings, on the same model and rows. */
export function stepCostsSame(a: LabConfig, b: LabConfig): boolean {
  return Object.keys(configDifference(a, b)).every((key) => (SETTINGS[key as SettingKey] as Setting).free === true);
}
