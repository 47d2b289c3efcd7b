/** The remedies of an alarm, as changed settings. */
import { MASK_POLICIES } from "../../engine/config/groups/mask.ts";
import { weightKey } from "../../engine/config/groups/reward-weights.ts";
import { parseSetting } from "../../engine/config/parse.ts";
import type { NumberSetting, Setting } from "../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import { aboutLoop, LOOP_IDS } from "../../engine/rl/loops/abouts.ts";

interface Remedy {
  /** The change in words: "Learning rate 0.0001 → 0.00005". */
  readonly label: string;
  readonly changes: Partial<LabConfig>;
}

type Proposal = readonly [key: SettingKey, value: number | boolean];

/**
 * The changes that an alarm's sentence names, one setting each; empty if only inspecting the data helps.
 * @param id of the alarm
 */
export function remediesOf(id: string, config: LabConfig): readonly Remedy[] {
  return proposals(id, config).flatMap((proposal) => remedyOf(config, proposal) ?? []);
}

function proposals(id: string, config: LabConfig): readonly Proposal[] {
  const [, kind = id, digit] = /^(.+)-(\d)$/.exec(id) ?? [];
  const loop = LOOP_IDS.find((known) => String(known) === digit);
  const { learningRate, beta, maxGradNorm, numGenerations, temperature, maxCompletionLength, entropyCoef } = config;
  const calmer: readonly Proposal[] = [["learningRate", learningRate / 2]];
  const bolder: readonly Proposal[] =
    loop !== undefined && aboutLoop(loop).samples === "text" ? [["temperature", temperature * 1.25]] : noiseOf(config);
  switch (kind) {
    case "zero-spread":
      return [...bolder, ["numGenerations", numGenerations * 2]];
    case "collapse":
      return [...bolder, ["entropyCoef", entropyCoef === 0 ? 0.01 : entropyCoef * 2], closer(beta)];
    case "sparse":
      return loop === undefined
        ? []
        : [
            [weightKey(loop, "confidence"), 0.25],
            [weightKey(loop, "box"), 0.25],
          ];
    case "truncated":
      return [["maxCompletionLength", maxCompletionLength * 2]];
    case "kl":
      return [...calmer, closer(beta)];
    case "gradient-spike":
      return [...calmer, ["maxGradNorm", maxGradNorm === 0 ? 1 : maxGradNorm / 2]];
    case "skipped":
      return [...calmer, ["haltOnNan", true]];
    default:
      return [];
  }
}

function closer(beta: number): Proposal {
  return ["beta", beta === 0 ? 0.04 : beta * 2];
}

function noiseOf(config: LabConfig): readonly Proposal[] {
  const noise = MASK_POLICIES.find(({ value }) => value === config.maskPolicy)?.noise;
  const key = noise as SettingKey | undefined;
  return key === undefined ? [] : [[key, 1.5 * (config[key] as number)]];
}

/** Null if the value is out of range or unchanged. */
function remedyOf(config: LabConfig, [key, raw]: Proposal): Remedy | null {
  const setting: Setting = SETTINGS[key];
  const parsed = parseSetting(key, typeof raw === "number" ? rounded(raw, setting as NumberSetting) : raw);
  if ("problem" in parsed || parsed.value === config[key]) return null;
  const told = (value: unknown): string => (typeof value === "boolean" ? (value ? "on" : "off") : String(value));
  return {
    label: `${setting.label} ${told(config[key])} → ${told(parsed.value)}`,
    changes: { [key]: parsed.value },
  };
}

/** Three significant digits; whole for settings that are whole numbers. */
function rounded(value: number, { kind }: NumberSetting): number {
  return kind === "int" ? Math.round(value) : Number(value.toPrecision(3));
}
