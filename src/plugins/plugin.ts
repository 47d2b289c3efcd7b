/** What a plug-in adds to the tables of the core. Its code is in the lists beside this file, by the place that runs it. */
import type { Setting } from "../engine/config/setting.ts";
import type { LoopAbout, LoopPreset } from "../engine/rl/loops/about.ts";
import type { Metric } from "../engine/runs/metrics/metric-rows.ts";

export interface Plugin {
  /** Name of its folder. */
  readonly name: string;
  /** Its loops; their code is in `loops.ts`. */
  readonly loops?: readonly LoopAbout[];
  /** Its modes of training, in place of GRPO; their code is in `modes.ts`. */
  readonly modes?: readonly TrainingMode[];
  /** Its presets, as differences from the settings of the pocket model. */
  readonly presets?: readonly LoopPreset[];
  /** Its mask policies; their code is in `mask-policies.ts`. */
  readonly maskPolicies?: readonly MaskPolicyAbout[];
  /** Rows of the table of settings. */
  readonly settings?: Readonly<Record<string, Setting>>;
  /** Rows of the table of metrics. */
  readonly metrics?: readonly Metric[];
  /** Display names of its exports of a run; their code is in `exports.ts`. */
  readonly exports?: Readonly<Record<string, string>>;
}

/** A mode of training without rollouts. */
export interface TrainingMode {
  /** Value of the setting `mode`, name of its preset, and first part of its metrics; `<name>/loss` is its total loss. */
  readonly name: string;
  readonly label: string;
  /** Its main curves. */
  readonly charts: readonly {
    readonly id: string;
    readonly title: string;
    readonly series: readonly { readonly metric: string; readonly label: string }[];
  }[];
  /** Trains the pocket model in this mode. */
  readonly preset: {
    readonly title: string;
    readonly summary: string;
    readonly values: Readonly<Record<string, number | string>>;
  };
}

/** A mask policy of loop 2 as the settings offer it. */
export interface MaskPolicyAbout {
  /** Value of the setting `maskPolicy`. */
  readonly value: string;
  readonly label: string;
  /** Settings that it reads; the form hides those that only other policies read. */
  readonly reads: readonly string[];
  /** Masks of a group that the partner describes, where it is not one per rollout. */
  readonly described?: number;
  /** Whether every rollout decodes its own prompt. */
  readonly decodesEach?: true;
  /** Whether the caption's likelihood trains its mask, which needs a captioner and copied visual tokens. */
  readonly softMask?: true;
  /** Setting of its noise, which an alarm offers to raise. */
  readonly noise?: string;
  /** What trains the mask of a rollout in place of a policy gradient. */
  readonly effect?: string;
}

/** A compression of tables by the name that Arrow or Parquet gives it. */
export interface Codec {
  readonly name: "LZ4_FRAME" | "LZ4_RAW" | "ZSTD" | "BROTLI";
  /** Maximum content bytes per packed byte. */
  readonly ratio: number;
  /** @param size bytes of the content @throws RangeError with the rest of a sentence when it is damaged or has another size */
  readonly decode: (packed: Uint8Array, size: number) => Uint8Array<ArrayBuffer>;
}

/** What the plug-ins add under one key, in the order of their list. */
export function added<K extends keyof Plugin>(plugins: readonly Plugin[], key: K): NonNullable<Plugin[K]>[] {
  return plugins.flatMap((plugin) => {
    const own = plugin[key];
    return own === undefined ? [] : [own];
  });
}
