/** Parsing at the border: any partial record (form, URL, JSON file, command line) becomes a LabConfig or sentences. */
import { LabError } from "../errors.ts";
import type { Setting } from "./setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "./table.ts";

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

export function defaultConfig(): LabConfig {
  const entries = SETTING_KEYS.map((key) => [key, SETTINGS[key].default]);
  return Object.fromEntries(entries) as LabConfig;
}

/** The setting's value from text or JSON, or a sentence that says what is allowed. */
export function parseSetting(
  key: SettingKey,
  raw: unknown,
): { readonly value: number | string | boolean } | { readonly problem: string } {
  const setting: Setting = SETTINGS[key];
  if (setting.kind === "choice") {
    const text = String(raw);
    if (setting.choices.some((option) => option.value === text)) return { value: text };
    return {
      problem: `${key} must be one of ${setting.choices.map((option) => option.value).join(", ")}, not "${text}"`,
    };
  }
  if (setting.kind === "flag") {
    if (raw === true || raw === "true" || raw === "1" || raw === "") return { value: true };
    if (raw === false || raw === "false" || raw === "0") return { value: false };
    return { problem: `${key} must be true or false, not "${String(raw)}"` };
  }
  if (setting.kind === "text") {
    if (typeof raw === "string" && raw.length <= setting.maxLength) return { value: raw };
    return { problem: `${key} must be a text of at most ${setting.maxLength} characters` };
  }
  const number =
    typeof raw === "number" ? raw : typeof raw === "string" && raw.trim() !== "" ? Number(raw) : Number.NaN;
  const whole = setting.kind === "float" || Number.isInteger(number);
  if (Number.isFinite(number) && whole && number >= setting.min && number <= setting.max) return { value: number };
  const kind = setting.kind === "int" ? "a whole number" : "a number";
  return { problem: `${key} must be ${kind} from ${setting.min} to ${setting.max}, not "${String(raw)}"` };
}

export interface ParsedConfig {
  readonly config: LabConfig;
  /** One sentence per value that was refused; its default was used. */
  readonly problems: readonly string[];
  readonly unknown: readonly string[];
}

/** Fills a partial record from `base`; unknown keys and bad values are reported, never fatal. */
export function parseConfig(
  partial: Readonly<Record<string, unknown>>,
  base: LabConfig = defaultConfig(),
): ParsedConfig {
  const values: Record<string, unknown> = { ...base };
  const problems: string[] = [];
  const unknown: string[] = [];
  for (const [key, raw] of Object.entries(partial)) {
    if (!(key in SETTINGS)) {
      unknown.push(key);
      continue;
    }
    const parsed = parseSetting(key as SettingKey, raw);
    if ("value" in parsed) values[key] = parsed.value;
    else problems.push(parsed.problem);
  }
  return { config: values as LabConfig, problems, unknown };
}

/** As parseConfig, but any problem throws LabError("bad-config"); for files and command lines. */
export function requireConfig(
  partial: Readonly<Record<string, unknown>>,
  base?: LabConfig,
  subject = "settings",
): LabConfig {
  const parsed = parseConfig(partial, base);
  const unknown = parsed.unknown.map((key) => `there is no setting "${key}"`);
  const sentences = [...parsed.problems, ...unknown];
  if (sentences.length > 0) throw new LabError("bad-config", `${subject}: ${sentences.join("; ")}`, { subject });
  return parsed.config;
}

/** Settings of kind text, which links leave out: an address must not bring code along. */
export function isTextSetting(key: string): boolean {
  return key in SETTINGS && SETTINGS[key as SettingKey].kind === "text";
}

/** Settings that differ from `base`, in table order. */
export function configDifference(config: LabConfig, base: LabConfig): Partial<LabConfig> {
  return Object.fromEntries(SETTING_KEYS.filter((key) => config[key] !== base[key]).map((key) => [key, config[key]]));
}
