/** State of the page: device, data, model, settings, problems, theme. */
import { create } from "zustand";
import { isRecord } from "../../engine/bytes/json.ts";
import {
  changedSettings,
  configDifference,
  isTextSetting,
  isUnlinked,
  parseConfig,
} from "../../engine/config/parse.ts";
import { PRESETS, type PresetName, presetConfig } from "../../engine/config/presets.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import type { SetInfo } from "../../engine/data/set-info.ts";
import type { DataMapping } from "../../engine/data/tables/mapping.ts";
import type { GpuReport } from "../../engine/gpu/runtime/device.ts";
import type { CachedModel } from "../../engine/loading/model-cache.ts";
import type { RunDigest } from "../../engine/runs/library/digest.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { Plan as RunPlan } from "../../engine/session/plan.ts";
import type { FolderRef } from "../../protocol/common.ts";
import type { OpeningProgress } from "../../protocol/data.ts";
import type { WireError } from "../../protocol/rpc.ts";
import type { LoadProgress, ModelInfo } from "../../protocol/trainer.ts";
import { remember, remembered } from "./saved.ts";

interface ModelProgress extends LoadProgress {
  /** Bytes per second since the first bytes; 0 while unknown. */
  readonly rate: number;
}

/** What a problem is about: it goes when this changes. "busy": something in progress was in the way; "training": a run waits or failed. */
export type ProblemCause = "adapter" | "busy" | "data" | "model" | "run" | "training" | `import ${string}`;

/** A listed error until it is dismissed; a repeated message only increases its count. */
export interface Problem extends WireError {
  readonly cause?: ProblemCause;
  readonly id: number;
  readonly times: number;
}

export type Theme = "system" | "light" | "dark";

const isTheme = (value: unknown): value is Theme => value === "system" || value === "light" || value === "dark";

/** Text settings of the last visit. */
const texts = textsOf(parseConfig(remembered("texts", {}, isRecord)).config);

const START = {
  gpu: null as GpuReport | null,
  gpuError: null as WireError | null,
  /** Seconds for which the trainer has not answered; null while it answers. */
  trainerSilent: null as number | null,
  /** Whether the trainer failed and was ended. */
  trainerEnded: false,
  dataInfo: null as SetInfo | null,
  /** Corrections with which the user opened the data. */
  mapping: {} as DataMapping,
  /** The rows of the user that other rows replaced in this visit, and how they open again. */
  replaced: null as { readonly name: string; readonly open: () => Promise<unknown> } | null,
  /** Rows of the open data set, in file order; grows while it is being indexed. */
  rows: [] as readonly RegionSummary[],
  /** Null if nothing is being opened. */
  opening: null as OpeningProgress | null,
  model: null as ModelInfo | null,
  modelProgress: null as ModelProgress | null,
  /** Source of the loaded model; null for a stored conversion. */
  modelFolder: null as FolderRef | null,
  /** Stored conversions of checkpoints. */
  storedModels: [] as readonly CachedModel[],
  config: { ...presetConfig("demo"), ...texts },
  preset: "demo" as PresetName,
  plan: null as RunPlan | null,
  /** The recorded run served with the page, shown until another run exists; undefined until the page knows whether it has one. */
  recordedRun: undefined as string | null | undefined,
  /** Runs that were opened from elsewhere: exported ones that were dropped, and growing ones at an address. */
  elsewhere: {} as Readonly<Record<string, "dropped" | "address">>,
  /** A run that the last visit left unfinished, until it is resumed or dismissed. */
  interrupted: null as RunDigest | null,
  /** The newest stored run with a step when the page looked for it; undefined until it has looked. */
  newest: undefined as Pick<RunManifest, "id" | "title" | "state" | "config" | "model"> | null | undefined,
  /** Runs that another tab trains; for a moment after it ended, also that of this page. */
  otherTabs: [] as readonly string[],
  problems: [] as readonly Problem[],
  theme: remembered("theme", "system", isTheme),
};

export type SessionState = Readonly<typeof START>;

export const useSession = create<SessionState>()(() => START);

let nextProblem = 1;

/** Adds an error to the list. It takes the place of an earlier one with its cause: a new attempt has been made. */
export function addProblem(error: Omit<Problem, "id" | "times">): void {
  useSession.setState(({ problems }) => {
    const known = problems.find((problem) => problem.message === error.message);
    if (known !== undefined)
      return { problems: problems.map((one) => (one === known ? { ...known, times: known.times + 1 } : one)) };
    const left = problems.filter(({ cause }) => cause === undefined || cause !== error.cause);
    return { problems: [...left, { ...error, id: nextProblem++, times: 1 }].slice(-50) };
  });
}

/** Takes problems off the list. */
export function dropProblems(drop: (problem: Problem) => boolean): void {
  const { problems } = useSession.getState();
  const left = problems.filter((problem) => !drop(problem));
  if (left.length < problems.length) useSession.setState({ problems: left });
}

/** Names a run that was opened from elsewhere. */
export function addElsewhere(id: string, from: SessionState["elsewhere"][string]): void {
  useSession.setState(({ elsewhere }) => ({ elsewhere: { ...elsewhere, [id]: from } }));
}

/** Takes problems of these causes off the list, because the causes are gone. */
export function settleProblems(...causes: readonly ProblemCause[]): void {
  dropProblems(({ cause }) => cause !== undefined && causes.includes(cause));
}

export function setTheme(theme: Theme): void {
  remember("theme", theme);
  useSession.setState({ theme });
}

/** Whether a setting belongs to the user and not to a preset: texts, and the memory of the GPU. */
const isPersonal = (key: string): boolean => key === "gpuMemory" || isTextSetting(key);

/** The values of a preset; for a real checkpoint with the sizes that fit the GPU, once the plan knows them. */
export function presetValues(preset: PresetName, plan: RunPlan | null = useSession.getState().plan): LabConfig {
  return { ...presetConfig(preset), ...(preset === "real" ? plan?.fit.fitted?.values : {}) };
}

/** Sets all values of a preset; texts written by the user and the memory of the GPU stay. */
export function choosePreset(preset: PresetName): void {
  useSession.setState(({ config }) => {
    const values = presetValues(preset);
    const { gpuMemory } = config.gpuMemory > 0 ? config : values;
    return { preset, config: { ...values, ...textsOf(config, isTextSetting), gpuMemory } };
  });
}

/** Whether settings differ, but for what belongs to the user. */
export function differs(config: LabConfig, base: LabConfig): boolean {
  return !Object.keys(configDifference(config, base)).every(isPersonal);
}

/** Whether the settings are those of a preset. */
export const isUntouched = (preset: PresetName): boolean =>
  !differs(useSession.getState().config, presetValues(preset));

/** Replaces one preset by another, unless one of its values was changed. */
export function replacePreset(before: PresetName, after: PresetName): void {
  if (useSession.getState().preset === before && isUntouched(before)) choosePreset(after);
}

/** Replaces values of the configuration, which the caller has validated. */
export function changeConfig(values: Partial<LabConfig>): void {
  useSession.setState(({ config }) => ({ config: { ...config, ...values } }));
  if (Object.keys(values).some(isUnlinked)) remember("texts", textsOf(useSession.getState().config));
}

/** Takes all settings of a run, as changes of the preset that they differ least from. */
export function takeSettings(config: LabConfig): void {
  const changes = PRESETS.map(({ name }) => changedSettings(config, presetConfig(name)).length);
  const nearest = PRESETS[changes.indexOf(Math.min(...changes))];
  useSession.setState(({ preset }) => ({ preset: nearest?.name ?? preset }));
  changeConfig(config);
}

/** Text settings that the address does not contain. */
export function textsOf(config: LabConfig, which = isUnlinked): Partial<LabConfig> {
  return Object.fromEntries(Object.entries(config).filter(([key]) => which(key)));
}

/** Whether rows of a run's name and number are open. */
export function hasRowsOf({ name, rows }: RunManifest["data"], { dataInfo, rows: open }: SessionState): boolean {
  return dataInfo?.name === name && open.length === rows;
}

export function isPreset(name: string): name is PresetName {
  return PRESETS.some((preset) => preset.name === name);
}
