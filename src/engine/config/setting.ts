/** Shape of one row of the settings table. */
interface Common {
  readonly group: SettingGroup;
  readonly label: string;
  /** One sentence without a full stop: the effect of the setting and when to change it. */
  readonly help: string;
  /** Name of the same setting in TRL's GRPOConfig or PEFT's LoraConfig; true if it is the key in snake case. */
  readonly trl?: true | string;
  /** Always on Setup; the others are found by its search. */
  readonly main?: true;
  /** A control elsewhere checks it before it is set, so that Setup leaves it out. */
  readonly ownControl?: true;
  /** Whether a step takes the same memory and time whatever its value. */
  readonly free?: true;
  /** Reward terms whose value it changes. */
  readonly terms?: readonly string[];
}

export interface NumberSetting extends Common {
  readonly kind: "int" | "float";
  readonly default: number;
  readonly min: number;
  readonly max: number;
  /** Increment of the form field. */
  readonly step: number;
  readonly unit?: string;
  /** Range of published recipes (docs/spec/grpo.md#12-defaults); absent where they name none. */
  readonly healthy?: readonly [low: number, high: number];
}

interface ChoiceSetting extends Common {
  readonly kind: "choice";
  readonly default: string;
  readonly choices: readonly {
    readonly value: string;
    readonly label: string;
    /** What the rows must have, or the choice is not offered. */
    readonly needs?: "questions";
  }[];
}

interface FlagSetting extends Common {
  readonly kind: "flag";
  readonly default: boolean;
}

/**
 * A text, such as a list of words or the source of a function. The page remembers it and leaves it out of its address.
 */
interface TextSetting extends Common {
  readonly kind: "text";
  readonly default: string;
  /** In UTF-16 units. */
  readonly maxLength: number;
  /**
   * Whether the text is part of the page's address and therefore not remembered: for text that is neither long nor
   * code.
   */
  readonly linked?: true;
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

/** Name of a setting in TRL or PEFT; undefined if they have none. */
export function trlName(key: string, { trl }: Setting): string | undefined {
  return trl === true ? key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : trl;
}

type Without<S, K extends string> = S extends unknown ? Omit<S, K> : never;
type Rest<S extends Setting, K extends string = never> = Omit<S, "group" | "kind" | "label" | "default" | K>;
type NumberRest = Rest<NumberSetting, "min" | "max" | "step">;

export function inGroup<G extends SettingGroup, T extends Readonly<Record<string, Without<Setting, "group">>>>(
  group: G,
  rows: T,
): { readonly [K in keyof T]: T[K] & { readonly group: G } } {
  const entries = Object.entries(rows).map(([key, row]) => [key, { group, ...row }]);
  return Object.fromEntries(entries);
}

/** A whole number. @param range minimum, maximum, and the increment of the form field if it is not 1 */
export const int = (label: string, standard: number, range: Range, rest: NumberRest) =>
  ({ kind: "int", label, default: standard, ...bounds(range), ...rest }) as const;

/** Any number. @param range like that of `int` */
export const float = (label: string, standard: number, range: Range, rest: NumberRest) =>
  ({ kind: "float", label, default: standard, ...bounds(range), ...rest }) as const;

type Range = readonly [min: number, max: number, step?: number];
const bounds = ([min, max, step = 1]: Range) => ({ min, max, step });

export const flag = (label: string, standard: boolean, rest: Rest<FlagSetting>) =>
  ({ kind: "flag", label, default: standard, ...rest }) as const;

export const text = (label: string, standard: string, maxLength: number, rest: Rest<TextSetting, "maxLength">) =>
  ({ kind: "text", label, default: standard, maxLength, ...rest }) as const;

export const oneOf = <const C extends ChoiceSetting["choices"]>(
  label: string,
  standard: C[number]["value"],
  { choices, ...rest }: Rest<ChoiceSetting, "choices"> & { readonly choices: C },
) => ({ kind: "choice", label, default: standard, choices, ...rest }) as const;
