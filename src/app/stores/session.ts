/** What the page has loaded and chosen: device, data, model, settings, problems, theme. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { isTextSetting, parseConfig } from "../../engine/config/parse.ts";
import { PRESETS, type PresetName, presetConfig } from "../../engine/config/presets.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import type { GpuReport } from "../../engine/gpu/runtime/device.ts";
import type { FolderRef, WireError } from "../../protocol/common.ts";
import type { DataSetInfo } from "../../protocol/data.ts";
import type { CachedModel, ModelInfo, RunPlan } from "../../protocol/trainer.ts";
import { remember, remembered } from "./saved.ts";

export interface OpeningProgress {
  readonly files: number;
  readonly filesTotal: number;
  readonly rows: number;
  readonly file: string;
}

export interface ModelProgress {
  readonly loadedBytes: number;
  readonly totalBytes: number;
  readonly what: string;
  /** Bytes a second since the first ones; 0 while there is nothing to go by. */
  readonly rate: number;
}

/** An error as it is listed until it is dismissed; the same sentence again only counts up. */
export interface Problem extends WireError {
  readonly id: number;
  readonly times: number;
}

export type Theme = "system" | "light" | "dark";

export interface SessionState {
  readonly gpu: GpuReport | null;
  readonly gpuError: WireError | null;
  readonly dataInfo: DataSetInfo | null;
  /** Rows of the open data set, in file order; grows while it is being indexed. */
  readonly rows: readonly RegionSummary[];
  /** Null when nothing is being opened. */
  readonly opening: OpeningProgress | null;
  readonly model: ModelInfo | null;
  readonly modelProgress: ModelProgress | null;
  /** Where the loaded model came from; null for a stored conversion. */
  readonly modelFolder: FolderRef | null;
  /** Conversions of checkpoints that the page keeps. */
  readonly storedModels: readonly CachedModel[];
  readonly config: LabConfig;
  readonly preset: PresetName;
  readonly plan: RunPlan | null;
  /** The run that is served with the page and shown until there is another. */
  readonly recordedRun: string | null;
  readonly problems: readonly Problem[];
  readonly theme: Theme;
  readonly showAdvanced: boolean;
}

const isTheme = (value: unknown): value is Theme => value === "system" || value === "light" || value === "dark";
const isFlag = (value: unknown): value is boolean => typeof value === "boolean";

export const sessionStore = createStore<SessionState>()(() => ({
  gpu: null,
  gpuError: null,
  dataInfo: null,
  rows: [],
  opening: null,
  model: null,
  modelProgress: null,
  modelFolder: null,
  storedModels: [],
  config: presetConfig("demo"),
  preset: "demo",
  plan: null,
  recordedRun: null,
  problems: [],
  theme: remembered("theme", "system", isTheme),
  showAdvanced: remembered("advanced", false, isFlag),
}));

/** Reads a part of the session and follows it. */
export function useSession<T>(select: (state: SessionState) => T): T {
  return useStore(sessionStore, select);
}

let nextProblem = 1;

/** Lists an error; nothing that failed stays invisible. */
export function addProblem(error: WireError): void {
  sessionStore.setState(({ problems }) => {
    const known = problems.find((problem) => problem.message === error.message);
    if (known === undefined) return { problems: [...problems, { ...error, id: nextProblem++, times: 1 }].slice(-50) };
    return {
      problems: problems.map((problem) => (problem === known ? { ...known, times: known.times + 1 } : problem)),
    };
  });
}

export function dismissProblem(id: number): void {
  sessionStore.setState(({ problems }) => ({ problems: problems.filter((problem) => problem.id !== id) }));
}

export function setTheme(theme: Theme): void {
  remember("theme", theme);
  sessionStore.setState({ theme });
}

export function setShowAdvanced(showAdvanced: boolean): void {
  remember("advanced", showAdvanced);
  sessionStore.setState({ showAdvanced });
}

/** Takes all values of a preset; texts that the person wrote stay. */
export function choosePreset(preset: PresetName): void {
  sessionStore.setState(({ config }) => ({ preset, config: { ...presetConfig(preset), ...textsOf(config) } }));
}

/** Replaces values of the configuration; the caller has checked them. */
export function changeConfig(values: Partial<LabConfig>): void {
  sessionStore.setState(({ config }) => ({ config: { ...config, ...values } }));
  if (Object.keys(values).some(isTextSetting)) remember("texts", textsOf(sessionStore.getState().config));
}

/** Settings of kind text, which the address does not carry, as the person left them at the last visit. */
export function rememberedTexts(): Partial<LabConfig> {
  const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
    typeof value === "object" && value !== null;
  return textsOf(parseConfig(remembered("texts", {}, isRecord)).config);
}

function textsOf(config: LabConfig): Partial<LabConfig> {
  return Object.fromEntries(Object.entries(config).filter(([key]) => isTextSetting(key)));
}

export function isPreset(name: string): name is PresetName {
  return PRESETS.some((preset) => preset.name === name);
}
