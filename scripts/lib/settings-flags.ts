/** Settings of a run from a command line: preset, file, separate flags, `--set`; later ones override earlier ones. */
import { existsSync } from "node:fs";
import { isForeignName, requireParsed, SkippableSettings } from "../../src/engine/config/parse.ts";
import { PRESETS, type PresetName, presetConfig } from "../../src/engine/config/presets.ts";
import type { LabConfig, SettingKey } from "../../src/engine/config/table.ts";
import { badInput, LabError, quote } from "../../src/engine/errors.ts";
import { LOOP_IDS } from "../../src/engine/rl/loops/abouts.ts";
import { readSettingsFile, settingsText } from "../../src/plugins/exchange/settings-file.ts";
import { type OptionSpec, one, type Parsed } from "./arguments.ts";
import { readBytes } from "./node/node-files.ts";
import { judgeFlags } from "./node/node-judge.ts";

export const SETTINGS_OPTIONS = {
  preset: { takes: 1 },
  config: { takes: 1 },
  set: { takes: 1 },
  "skip-unknown": { takes: 0 },
} as const;

/** Options of other training scripts that are not settings, and the lab's options for them. */
const OPTION_ALIASES: Readonly<Record<string, (value: string) => string>> = {
  model_path: (value) => (existsSync(value) ? "model" : "checkpoint"),
  model_name_or_path: (value) => (existsSync(value) ? "model" : "checkpoint"),
  dataset_name: () => "shards",
  data_dir: () => "shards",
  output_dir: () => "out",
};

/**
 * Translates options of other training scripts in a command line: `--kl_coef 0.1` becomes `--set kl_coef=0.1`,
 * `--model_path DIR` becomes `--model DIR`.
 * @param specs options of the tool, which stay as they are
 */
export function knownWords(words: readonly string[], specs: Readonly<Record<string, OptionSpec>>): string[] {
  const out: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    const [, name = "", inline] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
    const alias = OPTION_ALIASES[name];
    if (name in specs || (alias === undefined && !isForeignName(name))) {
      out.push(word);
      continue;
    }
    const next = words[at + 1];
    const follows = inline === undefined && next !== undefined && !next.startsWith("--");
    if (follows) at++;
    const value = inline ?? (follows ? next : undefined);
    if (alias === undefined) out.push("--set", `${name}=${value ?? "true"}`);
    else out.push(`--${alias(value ?? "")}`, ...(value === undefined ? [] : [value]));
  }
  return out;
}

export interface ChosenSettings {
  readonly preset: PresetName;
  readonly config: LabConfig;
  /** Settings named by file or command line, by the lab's names. */
  readonly given: Partial<LabConfig>;
}

/**
 * @param flags options that are settings, besides those of the judge
 * @param tell receives sentences about names translated from TRL
 * @throws LabError("bad-input" | "bad-config") naming file, option or setting
 */
export function chosenSettings(
  parsed: Parsed,
  flags: readonly (readonly [flag: string, key: SettingKey])[],
  tell: (sentence: string) => void,
): ChosenSettings {
  const preset = presetOf(parsed);
  let config = presetConfig(preset);
  let given: Partial<LabConfig> = {};
  const [file, skip] = [one(parsed, "config"), parsed.has("skip-unknown")];
  const take = (values: Readonly<Record<string, unknown>>, from: string): void => {
    const read = requireParsed(values, config, from, tell, skip && from === file);
    config = read.config;
    given = { ...given, ...read.given };
  };
  if (file !== undefined) offered(() => take(readFileOfSettings(file), file));
  const named = flags.flatMap(([flag, key]) => {
    const value = one(parsed, flag);
    return value === undefined ? [] : [[key, value] as const];
  });
  take({ ...judgeFlags(parsed, config), ...Object.fromEntries(named) }, "command line");
  take(Object.fromEntries((parsed.get("set") ?? []).map(pairOf)), "--set");
  if (config.mode !== "rl") tellUnused(config, presetConfig(preset), tell);
  return { preset, config, given };
}

/** Adds the option that leaves out what has no counterpart. */
function offered(read: () => void): void {
  try {
    read();
  } catch (thrown) {
    if (!(thrown instanceof SkippableSettings)) throw thrown;
    const { code, message, list, subject = "" } = thrown;
    throw new LabError(code, `${message}; --skip-unknown leaves out what has no counterpart`, { subject, list });
  }
}

function presetOf(parsed: Parsed): PresetName {
  const name = one(parsed, "preset") ?? "demo";
  const found = PRESETS.find((known) => known.name === name);
  if (found !== undefined) return found.name;
  const names = PRESETS.map((known) => known.name).join(", ");
  throw badInput(`--preset must be one of ${names}, not ${quote(name)}`, "preset");
}

function pairOf(word: string): readonly [string, string] {
  const at = word.indexOf("=");
  if (at > 0) return [word.slice(0, at), word.slice(at + 1)];
  throw badInput(`--set takes name=value, such as numGenerations=8, not ${quote(word)}`, "set");
}

/** Names and values of a file of settings, not validated. @throws LabError("bad-input") naming the file */
export function readFileOfSettings(file: string): Readonly<Record<string, unknown>> {
  return readSettingsFile(settingsText(readBytes(file), file), file);
}

/** Reports changed settings that supervised steps do not use; loops 1 and 2 select captions or masks there. */
function tellUnused(config: LabConfig, preset: LabConfig, tell: (sentence: string) => void): void {
  const weights = LOOP_IDS.map((id) => `loop${id}Weight` as const).filter((key) => config[key] !== preset[key]);
  const unused = ["1", "2", "both"].includes(config.loops) ? weights : [`loops=${config.loops}`, ...weights];
  if (unused.length > 0) tell(`Supervised steps do not use ${unused.join(", ")}`);
}
