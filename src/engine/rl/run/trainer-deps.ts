/** Dependencies of a trainer. */
import type { LabConfig } from "../../config/table.ts";
import type { RowSource } from "../../data/training-row.ts";
import type { LoraFields } from "../../formats/peft-names.ts";
import type { OutOfMemory } from "../../gpu/runtime/device.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { FeatureDiskCache } from "../../policy/feature-store.ts";
import type { RewardScorer } from "../../rewards/types.ts";
import type { Alarm } from "../../runs/alarms.ts";
import type { RunFolder } from "../../runs/run-folder.ts";
import type { RunRows } from "../../runs/run-rows.ts";
import type { TrainingState } from "../optim/training-state.ts";
import type { RowOrder } from "../step/data-order.ts";
import type { TrainerEvent } from "./events.ts";

export interface TrainerDeps {
  readonly model: Sa2vaModel;
  readonly config: LabConfig;
  /** The trainer's owner disposes it after the run. */
  readonly state: TrainingState;
  /** Another checkpoint that computes likelihoods; its owner disposes it after the run. */
  readonly captioner?: Weights | undefined;
  readonly rows: RowSource;
  /** Data-set indices of the training rows, at least one. */
  readonly trainRows: readonly number[];
  readonly order: RowOrder;
  /** Held-out rows that evaluations score. */
  readonly evaluated: Pick<RunRows, "selection" | "report">;
  readonly scorer: RewardScorer;
  readonly run: RunFolder;
  /** Steps done before, 0 for a fresh run. */
  readonly doneSteps: number;
  /** Opens the disk cache of frozen features; none if absent. */
  readonly openDiskCache?: ((tell: (alarm: Alarm) => void) => Promise<FeatureDiskCache | undefined>) | undefined;
  readonly lora: LoraFields;
  /** Seconds, monotonic. */
  readonly now: () => number;
  readonly emit: (event: TrainerEvent) => void;
  /** Throws if the device has reported an error on any call so far; OutOfMemory if less work at once may succeed. */
  readonly checkDevice: () => Promise<void>;
  /** The device's report that memory ran out, if that was its first error. */
  readonly whyFull: () => Promise<OutOfMemory | undefined>;
  /** The message if the device is lost, else undefined. */
  readonly whyLost: () => Promise<string | undefined>;
}
