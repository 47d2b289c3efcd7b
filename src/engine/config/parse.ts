/** Parses a partial record (form, URL, JSON file, command line) to a LabConfig and error sentences. */
import { PLUGIN_SETTING_NAMES } from "../../plugins/setting-names.ts";
import { decimal } from "../bytes/text.ts";
import { LabError, quote } from "../errors.ts";
import type { Setting } from "./setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "./table.ts";

/** Known words that a mistyped word may mean: at most two inserted, removed or replaced letters away. */
export function nearWords(word: string, known: readonly string[]): readonly string[] {
  return known.filter((other) => Math.abs(other.length - word.length) <= 2 && edits(other, word) <= 2);
}

/** Letters to insert, remove or replace between two words. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced));
    }
    row = next;
  }
  return row[b.length] as number;
}

/** The names of another program that include this one. */
const namesWith = (name: string) => PLUGIN_SETTING_NAMES.find((names) => names.has(name));

/** Whether a plug-in knows the name as that of a setting in another program or an earlier version. */
export const isForeignName = (name: string): boolean => namesWith(name) !== undefined;

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

export function defaultConfig(): LabConfig {
  const entries = SETTING_KEYS.map((key) => [key, SETTINGS[key].default]);
  return Object.fromEntries(entries) as LabConfig;
}

/** The setting's value from text or JSON, or a sentence about the allowed values. @param name what the sentence calls the setting */
export function parseSetting(
  key: SettingKey,
  raw: unknown,
  name: string = key,
): { readonly value: number | string | boolean } | { readonly problem: string } {
  const setting: Setting = SETTINGS[key];
  if (setting.kind === "choice") {
    // A number or boolean stands for the choice with the same text.
    const text = typeof raw === "object" ? undefined : String(raw);
    const named = setting.choices.find((option) => option.value === text);
    if (named !== undefined) return { value: named.value };
    const values = setting.choices.map((option) => option.value).join(", ");
    return { problem: `${name} must be one of ${values}, not ${quoted(raw)}` };
  }
  if (setting.kind === "flag") {
    if (raw === true || raw === "true" || raw === "1" || raw === "") return { value: true };
    if (raw === false || raw === "false" || raw === "0") return { value: false };
    return { problem: `${name} must be true or false, not ${quoted(raw)}` };
  }
  if (setting.kind === "text") {
    if (typeof raw === "string" && raw.length <= setting.maxLength) return { value: raw };
    return { problem: `${name} must be a text of at most ${setting.maxLength} characters` };
  }
  const number = typeof raw === "number" ? raw : typeof raw === "string" ? decimal(raw) : Number.NaN;
  const whole = setting.kind === "float" || Number.isInteger(number);
  if (Number.isFinite(number) && whole && number >= setting.min && number <= setting.max) return { value: number };
  const kind = setting.kind === "int" ? "a whole number" : "a number";
  return { problem: `${name} must be ${kind} from ${setting.min} to ${setting.max}, not ${quoted(raw)}` };
}

/** The given value in double quotes. */
function quoted(raw: unknown): string {
  return quote(typeof raw === "number" || typeof raw === "boolean" ? String(raw) : raw);
}

interface ParsedConfig {
  readonly config: LabConfig;
  /** The given values under the lab's names. */
  readonly given: Partial<LabConfig>;
  /** One sentence per refused value; the default replaces it. */
  readonly problems: readonly string[];
  /** The same for values under TRL's names alone, which have no counterpart here. */
  readonly foreign: readonly string[];
  readonly unknown: readonly string[];
  /** A sentence that lists the names translated from TRL; null if there were none. */
  readonly translated: string | null;
}

/**
 * Fills a partial record from `base`; unknown keys and invalid values are reported, never fatal. A TRL name sets a
 * setting that the record does not contain under the lab's name.
 */
export function parseConfig(
  partial: Readonly<Record<string, unknown>>,
  base: LabConfig = defaultConfig(),
): ParsedConfig {
  const given: Record<string, unknown> = {};
  const problems: string[] = [];
  const without: string[] = [];
  const names = Object.keys(partial);
  const foreign = names.filter((name) => !isSetting(name) && isForeignName(name));
  const take = (key: SettingKey, raw: unknown, under: string): string[] => {
    const parsed = parseSetting(key, raw);
    if ("problem" in parsed) {
      const problem = under === key ? parsed.problem : `${under}: ${parsed.problem}`;
      problems.push(problem);
      if (under !== key) without.push(problem);
      return [];
    }
    given[key] = parsed.value;
    return [`${key} ${parsed.value}`];
  };
  for (const name of names.filter(isSetting)) {
    // TRL writes null for "off", also under names that it shares with the lab.
    const theirs = partial[name] === null && foreign.length > 0 ? namesWith(name) : undefined;
    const reading = theirs?.read(name, null, partial, base) ?? { values: { [name]: partial[name] } };
    if ("problem" in reading) problems.push(reading.problem);
    else take(name, reading.values[name], name);
  }
  const notes: string[] = [];
  const inOrder = PLUGIN_SETTING_NAMES.flatMap((names) =>
    names.inReadingOrder(foreign.filter((name) => namesWith(name) === names)).map((name) => ({ name, names })),
  );
  for (const { name, names } of inOrder) {
    const own = names.settingOf(name);
    if (own !== undefined && Object.hasOwn(partial, own)) {
      notes.push(`${name} is overridden by ${own}`);
      continue;
    }
    const reading = names.read(name, partial[name], partial, { ...base, ...given });
    if ("problem" in reading) {
      problems.push(reading.problem);
      without.push(reading.problem);
      continue;
    }
    const values = Object.entries(reading.values).filter(([key]) => !Object.hasOwn(partial, key));
    const taken = values.flatMap(([key, raw]) => take(key as SettingKey, raw, name));
    const reason = names.withoutEffect(name);
    if (taken.length > 0) notes.push(`${name} is ${taken.join(" and ")}`);
    else if (reason !== undefined) notes.push(`${name} changes nothing${reason === "" ? "" : ` (${reason})`}`);
  }
  return {
    config: { ...base, ...given } as LabConfig,
    given: given as Partial<LabConfig>,
    problems,
    foreign: without,
    unknown: names.filter((name) => !isSetting(name) && !isForeignName(name)),
    translated: notes.length === 0 ? null : `Other names were translated: ${notes.join(", ")}`,
  };
}

function isSetting(name: string): name is SettingKey {
  return Object.hasOwn(SETTINGS, name);
}

/**
 * Like parseConfig, but any problem throws LabError("bad-config"); for files and command lines.
 * @param tell receives the sentence about names translated from TRL, if there were any
 * @throws SkippableSettings if leaving out names without a counterpart would be enough
 */
export function requireConfig(
  partial: Readonly<Record<string, unknown>>,
  base?: LabConfig,
  subject = "settings",
  tell?: (sentence: string) => void,
  skip = false,
): LabConfig {
  return requireParsed(partial, base, subject, tell, skip).config;
}

/** Refuses settings of which some have no counterpart here; `list` names each. */
export class SkippableSettings extends LabError {}

/** Maximum characters of a sentence that names everything; longer ones count, and list the names. */
const SHORT = 240;

/** Suggests settings that an unknown name may mean; empty if none is similar. */
function meant(key: string): string {
  const former = PLUGIN_SETTING_NAMES.flatMap((names) =>
    nearWords(key, names.former).flatMap((name) => names.settingOf(name) ?? []),
  );
  const near = new Set<string>([...nearWords(key, SETTING_KEYS), ...former]);
  return near.size === 0 ? "" : ` (did you mean ${[...near].join(" or ")}?)`;
}

/**
 * Like requireConfig, and returns the given values separately.
 * @param skip leaves out names without a counterpart, and tells which
 */
export function requireParsed(
  partial: Readonly<Record<string, unknown>>,
  base?: LabConfig,
  subject = "settings",
  tell?: (sentence: string) => void,
  skip = false,
): Pick<ParsedConfig, "config" | "given"> {
  const { config, given, problems, foreign, unknown, translated } = parseConfig(partial, base);
  const named = unknown.map((key) => `${quote(key)}${meant(key)}`).join(", ");
  const missing =
    unknown.length === 0 ? [] : [`there ${unknown.length === 1 ? "is no setting" : "are no settings"} ${named}`];
  const list = [...foreign, ...unknown.map((key) => `there is no setting ${quote(key)}${meant(key)}`)];
  const own = problems.filter((problem) => !foreign.includes(problem));
  if (own.length > 0 || (list.length > 0 && !skip)) {
    const whole = `${subject}: ${[...problems, ...missing].join("; ")}`;
    const counted = `${subject}: ${list.length} names have no counterpart here`;
    const Kind = own.length > 0 ? LabError : SkippableSettings;
    throw new Kind("bad-config", own.length > 0 || whole.length <= SHORT ? whole : counted, { subject, list });
  }
  for (const line of list) tell?.(`${subject}: left out: ${line}`);
  if (translated !== null) tell?.(`${subject}: ${translated}`);
  return { config, given };
}

/** Text settings, which presets do not change. */
export function isTextSetting(key: string): boolean {
  return key in SETTINGS && SETTINGS[key as SettingKey].kind === "text";
}

/** Text settings that links leave out: an address must not contain code. */
export function isUnlinked(key: string): boolean {
  return isTextSetting(key) && !("linked" in SETTINGS[key as SettingKey]);
}

/** Place in a list of changes: the reward, what is learnt from it, how, and last the length of the run. */
function rankOf(key: SettingKey): number {
  const { group } = SETTINGS[key];
  if (group === "reward") return 0;
  if (group === "run") return /^(?:mode$|loop)/.test(key) ? 1 : 3;
  return ["objective", "supervised", "mask"].includes(group) ? 1 : 2;
}

/** Settings that differ, the reward first; without the hash of a custom reward, which goes with its code. */
export function changedSettings(config: LabConfig, base: LabConfig): readonly SettingKey[] {
  const differs = configDifference(config, base);
  const keys = SETTING_KEYS.filter((key) => key in differs && key !== "userRewardHash");
  return keys.sort((a, b) => rankOf(a) - rankOf(b));
}

/** Settings that differ from `base`, in table order. */
export function configDifference(config: LabConfig, base: LabConfig): Partial<LabConfig> {
  return Object.fromEntries(SETTING_KEYS.filter((key) => config[key] !== base[key]).map((key) => [key, config[key]]));
}
