/**
 * The table of all settings. Form, URL, command-line flags, validation, types and docs/settings.md are derived from it.
 */

import { PLUGINS, type PluginSettings } from "../../plugins/list.ts";
import { added } from "../../plugins/plugin.ts";
import { MASK_SETTINGS } from "./groups/mask.ts";
import { LOSS_OPTION_SETTINGS, OBJECTIVE_SETTINGS, SAMPLING_SETTINGS } from "./groups/objective.ts";
import { OPTIMISER_SETTINGS, PARTNER_SETTINGS } from "./groups/optimiser.ts";
import { JUDGE_SETTINGS, REWARD_SETTINGS } from "./groups/reward.ts";
import { REWARD_WEIGHTS } from "./groups/reward-weights.ts";
import { DATA_SETTINGS, MIX_SETTINGS, MODEL_SETTINGS, RUN_SETTINGS } from "./groups/run.ts";
import type { Setting } from "./setting.ts";

const PLUGIN_SETTINGS = Object.assign({}, ...added(PLUGINS, "settings")) as PluginSettings & {};

export const SETTINGS = {
  ...RUN_SETTINGS,
  ...DATA_SETTINGS,
  ...MIX_SETTINGS,
  ...MODEL_SETTINGS,
  ...SAMPLING_SETTINGS,
  ...OBJECTIVE_SETTINGS,
  ...LOSS_OPTION_SETTINGS,
  ...MASK_SETTINGS,
  ...PLUGIN_SETTINGS,
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
