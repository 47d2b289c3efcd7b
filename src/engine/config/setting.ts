/** Shape of one row of the settings table. */
interface Common {
  readonly group: SettingGroup;
  readonly label: string;
  /** One sentence without a full stop: the effect of the setting and when to change it. */
  readonly help: string;
  /** Name of the same setting in TRL's GRPOConfig or PEFT's LoraConfig, for exports. */
  readonly trl?: string;
  /** Shown only when "all settings" is open. */
  readonly advanced?: true;
  /** Screen with a control for it; the settings form leaves it out. */
  readonly home?: "rewards" | "judge" | "setup";
}

export interface NumberSetting extends Common {
  readonly kind: "int" | "float";
  readonly default: number;
  readonly min: number;
  readonly max: number;
  /** Increment of the form field. */
  readonly step: number;
  readonly unit?: string;
}

export interface ChoiceSetting extends Common {
  readonly kind: "choice";
  readonly default: string;
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

export interface FlagSetting extends Common {
  readonly kind: "flag";
  readonly default: boolean;
}

/** A text: a list of words or the source of a function. It stays out of the page's address; the page remembers it. */
export interface TextSetting extends Common {
  readonly kind: "text";
  readonly default: string;
  /** In UTF-16 units. */
  readonly maxLength: number;
}

export type Setting = NumberSetting | ChoiceSetting | FlagSetting | TextSetting;

export const SETTING_GROUPS = {
  run: "Run",
  data: "Data",
  model: "Model",
  sampling: "Sampling",
  objective: "Objective",
  mask: "Mask policy",
  supervised: "Supervised",
  reward: "Rewards",
  optimiser: "Optimiser",
  partner: "Partner",
} as const;

export type SettingGroup = keyof typeof SETTING_GROUPS;

/** One option of a choice, its value kept as a literal type. */
export const choice = <const V extends string>(value: V, label: string) => ({ value, label });
