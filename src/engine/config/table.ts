/**
 * The table of all settings. Form, URL, command-line flags, validation, types and docs/settings.md are derived from it.
 */

import { DATA_SETTINGS } from "./groups/data.ts";
import { JUDGE_SETTINGS } from "./groups/judge.ts";
import { LOSS_OPTION_SETTINGS } from "./groups/loss-options.ts";
import { MASK_SETTINGS } from "./groups/mask.ts";
import { MIX_SETTINGS } from "./groups/mix.ts";
import { MODEL_SETTINGS } from "./groups/model.ts";
import { OBJECTIVE_SETTINGS } from "./groups/objective.ts";
import { OPTIMISER_SETTINGS } from "./groups/optimiser.ts";
import { PARTNER_SETTINGS } from "./groups/partner.ts";
import { REWARD_SETTINGS } from "./groups/reward.ts";
import { REWARD_WEIGHTS } from "./groups/reward-weights.ts";
import { RUN_SETTINGS } from "./groups/run.ts";
import { SAMPLING_SETTINGS } from "./groups/sampling.ts";
import { SUPERVISED_SETTINGS } from "./groups/supervised.ts";
import type { Setting } from "./setting.ts";

export const SETTINGS = {
  ...RUN_SETTINGS,
  ...DATA_SETTINGS,
  ...MIX_SETTINGS,
  ...MODEL_SETTINGS,
  ...SAMPLING_SETTINGS,
  ...OBJECTIVE_SETTINGS,
  ...LOSS_OPTION_SETTINGS,
  ...MASK_SETTINGS,
  ...SUPERVISED_SETTINGS,
  ...REWARD_SETTINGS,
  ...REWARD_WEIGHTS,
  ...JUDGE_SETTINGS,
  ...OPTIMISER_SETTINGS,
  ...PARTNER_SETTINGS,
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof SETTINGS;

type ValueOf<S> = S extends { kind: "choice"; choices: readonly { value: infer V }[] }
  ? V extends string
    ? V
    : never
  : S extends { kind: "flag" }
    ? boolean
    : S extends { kind: "text" }
      ? string
      : number;

/** A complete, valid configuration: one value per row of the table. */
export type LabConfig = { readonly [K in SettingKey]: ValueOf<(typeof SETTINGS)[K]> };
