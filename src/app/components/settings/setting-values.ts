/** Text of setting values, and the search over all settings. */
import { SETTING_KEYS } from "../../../engine/config/parse.ts";
import { SETTING_GROUPS, type Setting } from "../../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { usesSetting } from "../../../engine/config/uses.ts";

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

/** Range of published recipes as text; null where they name none. */
export function healthyText(setting: Setting): string | null {
  if (!("healthy" in setting) || setting.healthy === undefined) return null;
  return `published recipes: ${setting.healthy.map(numberText).join(" to ")}`;
}

/**
 * Settings that a run with this configuration reads, by name, label, TRL's name, group or help; names first.
 * @param query words that must all occur; "" takes all
 */
export function findSettings(query: string, config: LabConfig): readonly SettingKey[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const names = (key: SettingKey): string => {
    const { label, trl = "" }: Setting = SETTINGS[key];
    return `${key} ${label} ${trl}`;
  };
  const found = SETTING_KEYS.filter((key) => {
    const { help, group, ownControl }: Setting = SETTINGS[key];
    return ownControl !== true && usesSetting(key, config) && has(`${names(key)} ${SETTING_GROUPS[group]} ${help}`);
  });
  return [...found.filter((key) => has(names(key))), ...found.filter((key) => !has(names(key)))];
}
