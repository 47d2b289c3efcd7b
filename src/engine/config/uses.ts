/** Which settings a run reads: the form shows no others. */
import { aboutLoop } from "../rl/loops/abouts.ts";
import { activeLoops, needsReference, samples, weightedLoops } from "./derived.ts";
import { MASK_POLICIES } from "./groups/mask.ts";
import { weightKey } from "./groups/reward-weights.ts";
import type { SettingGroup } from "./setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "./table.ts";

type Condition = (config: LabConfig) => boolean;

const evaluates: Condition = ({ evalSteps }) => evalSteps > 0;
const reinforces: Condition = ({ mode }) => mode === "rl";
const masks: Condition = (config) => samples(config, "mask");
const customised: Condition = (config) => activeLoops(config).some((loop) => config[weightKey(loop, "user")] !== 0);
const adapts: Condition = ({ useAdaptiveEntropy }) => useAdaptiveEntropy;
const loss =
  (name: LabConfig["lossType"]): Condition =>
  ({ lossType }) =>
    lossType === name;

const GROUPS: { readonly [G in SettingGroup]?: Condition } = {
  sampling: reinforces,
  objective: reinforces,
  reward: reinforces,
  mask: (config) => reinforces(config) && masks(config),
  supervised: ({ mode }) => mode !== "rl",
};

const SETTING: { readonly [K in SettingKey]?: Condition } = {
  bestMetric: evaluates,
  evalRows: evaluates,
  evalJudge: (config) => evaluates(config) && config.judge !== "off",
  stepsPerGeneration: reinforces,
  microRollouts: reinforces,
  groupsAtOnce: reinforces,
  resampleRounds: reinforces,
  zeroSpreadRows: reinforces,
  mixBy: ({ mixSources }) => mixSources !== "",
  curriculumStart: ({ curriculum }) => curriculum !== "off",
  curriculumSteps: ({ curriculum }) => curriculum !== "off",
  klEstimator: needsReference,
  klClamp: needsReference,
  reference: needsReference,
  useBiasCorrectionKl: needsReference,
  syncRefModel: needsReference,
  refModelMixupAlpha: ({ syncRefModel }) => syncRefModel,
  refModelSyncSteps: ({ syncRefModel }) => syncRefModel,
  entropyTarget: adapts,
  entropyCoefDelta: adapts,
  entropyCoefMin: adapts,
  entropyCoefMax: adapts,
  sapoTemperaturePos: loss("sapo"),
  sapoTemperatureNeg: loss("sapo"),
  vespoKPos: loss("vespo"),
  vespoLambdaPos: loss("vespo"),
  vespoKNeg: loss("vespo"),
  vespoLambdaNeg: loss("vespo"),
  maskAnchorWeight: ({ maskAnchor }) => maskAnchor !== "none",
  partnerScope: reinforces,
  partnerMaxTokens: masks,
  partnerTemperature: (config) => reinforces(config) && masks(config),
  partnerSamples: (config) => reinforces(config) && masks(config) && config.partnerTemperature > 0,
  minLrRate: ({ lrSchedulerType }) => lrSchedulerType !== "constant",
  userReward: customised,
  userRewardHash: customised,
  userRewardMs: customised,
  userRewardMb: customised,
  clipScope: reinforces,
  gradientReport: reinforces,
};

/** Whether a run with this configuration reads a setting. */
export function usesSetting(key: SettingKey, config: LabConfig): boolean {
  const loop = Number(/^loop(\d)/.exec(key)?.[1] ?? Number.NaN);
  if (!Number.isNaN(loop) && !usesLoop(loop, key, config)) return false;
  if (key.startsWith("judge") && key !== "judge" && config.judge === "off") return false;
  const readers = MASK_POLICIES.filter(({ reads }) => reads.includes(key));
  if (readers.length > 0 && readers.every(({ value }) => value !== config.maskPolicy)) return false;
  return (GROUPS[SETTINGS[key].group]?.(config) ?? true) && (SETTING[key]?.(config) ?? true);
}

/** The weight of an optional loop also serves to switch it on, beside both loops. */
function usesLoop(loop: number, key: SettingKey, config: LabConfig): boolean {
  const trains = activeLoops(config).some((id) => id === loop);
  const optional = aboutLoop(loop as Parameters<typeof aboutLoop>[0]).optional === true;
  return trains || (optional && key === `loop${loop}Weight` && config.loops === "both" && config.mode === "rl");
}

/** What a value does because of the other settings, in one sentence; null for what its help says already. */
export function settingNote(key: SettingKey, config: LabConfig): string | null {
  return NOTES[key]?.(config) ?? null;
}

const NOTES: { readonly [K in SettingKey]?: (config: LabConfig) => string | null } = {
  loops: (config) => {
    const trains = weightedLoops(config);
    const idle = activeLoops(config).filter((id) => !trains.includes(id));
    return idle.length === 0 ? null : `Loop ${idle.join(" and ")} has weight 0: it is shown and does not train`;
  },
};
