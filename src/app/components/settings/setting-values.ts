/** Text of setting values, and the fields that a configuration shows. */
import { SETTING_KEYS } from "../../../engine/config/parse.ts";
import { SETTING_GROUPS, type Setting, type SettingGroup } from "../../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";

/** Small numbers in scientific form, such as 1e-4; others unchanged. */
export function numberText(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential().replace("e-0", "e-") : String(value);
}

export function valueText(key: SettingKey, value: number | string | boolean): string {
  const setting: Setting = SETTINGS[key];
  if (setting.kind === "flag") return value === true ? "on" : "off";
  if (setting.kind === "choice")
    return setting.choices.find((option) => option.value === value)?.label ?? String(value);
  if (setting.kind === "text") return value === "" ? "empty" : String(value);
  return numberText(Number(value));
}

/** Allowed range as text: "1 to 64 rollouts"; null without a range. */
export function rangeText(setting: Setting): string | null {
  if (setting.kind !== "int" && setting.kind !== "float") return null;
  const max = setting.max >= 1e5 ? "" : ` to ${numberText(setting.max)}`;
  return max === "" ? `from ${numberText(setting.min)}` : `${numberText(setting.min)}${max}`;
}

export interface FieldGroup {
  readonly id: SettingGroup;
  readonly title: string;
  readonly keys: readonly SettingKey[];
}

/** Groups in table order; advanced settings that differ from the preset are always shown. */
export function fieldGroups(config: LabConfig, base: LabConfig, all: boolean): readonly FieldGroup[] {
  const shown = (key: SettingKey): boolean => {
    const setting: Setting = SETTINGS[key];
    return setting.home === undefined && (all || setting.advanced !== true || config[key] !== base[key]);
  };
  return (Object.keys(SETTING_GROUPS) as SettingGroup[])
    .map((id) => {
      const keys = SETTING_KEYS.filter((key) => SETTINGS[key].group === id && shown(key));
      return { id, title: SETTING_GROUPS[id], keys };
    })
    .filter((group) => group.keys.length > 0);
}
