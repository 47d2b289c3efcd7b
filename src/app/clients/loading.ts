/** What the page opens: rows, models, and the plan of the current settings. */

import { inTurn } from "../../engine/bytes/pace.ts";
import { PRESETS, type PresetName } from "../../engine/config/presets.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { usedRows } from "../../engine/data/row-filter.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import type { SetInfo } from "../../engine/data/set-info.ts";
import type { DataMapping } from "../../engine/data/tables/mapping.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { sameStorage, storageChoice } from "../../engine/loading/storage-settings.ts";
import type { PlannedRows } from "../../engine/session/plan.ts";
import { ROW_SAMPLE } from "../../engine/session/row-warnings.ts";
import type { FolderRef } from "../../protocol/common.ts";
import type { LoadProgress, ModelInfo } from "../../protocol/trainer.ts";
import { DRY_RUN, EVALUATION, type JobKind, jobOf, useJobs } from "../stores/jobs.ts";
import { forgetPictures } from "../stores/picture-cache.ts";
import { navigate } from "../stores/route.ts";
import { isActive, useRun } from "../stores/run/run.ts";
import {
  changeConfig,
  choosePreset,
  isUntouched,
  replacePreset,
  type SessionState,
  settleProblems,
  useSession,
} from "../stores/session.ts";
import { useTry } from "../stores/try-out.ts";
import { about, builtIn, keepStorage, lab, replaceTrainer, report } from "./lab.ts";

type BuiltInFolder = Extract<FolderRef, { readonly kind: "built-in" }>;

/** Milliseconds without a change of settings before the plan is computed again. */
const PLAN_PAUSE_MS = 250;

/** Computes the plan again whenever the settings change; called once. */
export function followSettings(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  useSession.subscribe((now, before) => {
    if (now.config === before.config) return;
    clearTimeout(timer);
    timer = setTimeout(() => report(refreshPlan()), PLAN_PAUSE_MS);
  });
}

/** Takes errors off the list when their causes go; called once. @returns ends it */
export function followCauses(): () => void {
  const settleIdle = (): void => {
    if (user() === undefined) settleProblems("busy");
  };
  const ends = [
    useRun.subscribe((now, before) => {
      if (now.state === before.state) return;
      settleIdle();
      if (now.state === "running") settleProblems("run");
      if (["running", "stopping", "finished"].includes(now.state)) settleProblems("training");
    }),
    useJobs.subscribe(settleIdle),
    useTry.subscribe(() => settleProblems("adapter")),
    useSession.subscribe((now, before) => {
      if (now.dataInfo !== before.dataInfo && now.dataInfo !== null) settleProblems("data", "run");
      if (now.model !== before.model && now.model !== null) settleProblems("model", "run");
      if (now.config !== before.config) settleProblems("run");
    }),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** What uses the open rows or the model now: a run, paused or not, a dry run or the evaluation of a checkpoint. */
function user(): string | undefined {
  const jobs: readonly JobKind<never, unknown>[] = [DRY_RUN, EVALUATION];
  return isActive(useRun.getState().state) ? "run" : jobs.find((kind) => jobOf(kind)?.state === "running")?.name;
}

/** Throws while a run, paused or not, a dry run or the evaluation of a checkpoint uses the open rows or model. */
export function requireIdle(what: string): Promise<void> {
  return about("busy", async () => {
    const busy = user();
    if (busy === undefined) return;
    throw badInput(`The ${busy} in progress uses ${what}. Stop it before you open something else; nothing was changed`);
  });
}

let opening = new AbortController();

/** Aborts when other rows replace the open ones. */
export function openRowsSignal(): AbortSignal {
  return opening.signal;
}

/** The folders that were opened last, to open them again with other columns. */
let openFolders: readonly FolderRef[] = [];

/** Whether the rows that are open, or being opened, come with the page. */
export function rowsComeWithPage(): boolean {
  return openFolders.length > 0 && openFolders.every(({ kind }) => kind === "built-in");
}

/** The last data set that was read completely, and its folders. */
let whole: {
  readonly folders: readonly FolderRef[];
  readonly session: Pick<SessionState, "rows" | "dataInfo" | "mapping">;
} = { folders: [], session: { rows: [], dataInfo: null, mapping: {} } };

/** Opens the same files with corrections. @throws LabError as `openData` */
export function reopenData(mapping: DataMapping): Promise<string> {
  return openData(openFolders, mapping);
}

/**
 * Opens shards in place of the open ones; rows appear while it runs.
 * @param mapping null uses the folder's own mapping
 * @param onRows called with the first row
 * @returns the name of these rows
 * @throws LabError when the files hold no table; the open rows stay
 */
export async function openData(
  folders: readonly FolderRef[],
  mapping: DataMapping | null = null,
  onRows: () => void = () => undefined,
): Promise<string> {
  await requireIdle("the rows that are open");
  return about("data", () => readData(folders, mapping, onRows));
}

async function readData(
  folders: readonly FolderRef[],
  mapping: DataMapping | null,
  onRows: () => void,
  others: SetInfo["ignored"] = [],
): Promise<string> {
  openFolders = folders;
  opening.abort();
  const mine = new AbortController();
  opening = mine;
  const isNewest = (): boolean => mine === opening;
  const corrections = mapping ?? {};
  let read: readonly RegionSummary[] = [];
  let begun = useSession.getState().dataInfo === null;
  if (begun) onRows();
  const begin = (): void => {
    begun = true;
    forgetPictures();
    // The filter does not apply to other rows.
    navigate({ rows: null });
    onRows();
  };
  useSession.setState({
    mapping: corrections,
    ...(begun && { rows: [] }),
    opening: { files: 0, filesTotal: 0, rows: 0, totalRows: 0 },
  });
  try {
    const { alone, ...info } = await lab().data.open(
      folders,
      mapping,
      (progress) => isNewest() && useSession.setState({ opening: progress }),
      (added) => {
        read = [...read, ...added];
        if (!isNewest() || added.length === 0) return;
        if (!begun) begin();
        useSession.setState({ rows: read, dataInfo: null });
      },
      mine.signal,
    );
    // Ids and name of rows do not depend on files that were opened with them and hold none.
    if (alone !== undefined && isNewest())
      return await readData(
        folders.filter((_, at) => alone.folders.includes(at)),
        null,
        onRows,
        alone.others,
      );
    const dataInfo = { ...info, ignored: [...info.ignored, ...others] };
    const { folders: last, session: before } = whole;
    const name = before.dataInfo?.name;
    if (name !== undefined && before.rows.length > 0 && builtInRows(name) === undefined) {
      const corrected = isEmpty(before.mapping) ? null : before.mapping;
      useSession.setState({ replaced: { name, open: () => openData(last, corrected) } });
    }
    // Set even if another data set is opening: if that fails, these rows stay open.
    whole = { folders, session: { rows: read, dataInfo, mapping: corrections } };
    if (isNewest()) {
      if (!begun) begin();
      useSession.setState({ rows: read, dataInfo, opening: null });
    }
    return dataInfo.name;
  } catch (thrown) {
    // A partly read data set cannot be trained on, so it is dropped as a whole.
    if (isNewest()) {
      mine.abort();
      opening = new AbortController();
      forgetPictures();
      openFolders = whole.folders;
      useSession.setState({ ...whole.session, opening: null });
    }
    throw thrown;
  } finally {
    // Clips need more than pictures.
    report(refreshPlan());
  }
}

export function cancelOpening(): void {
  // Afterwards the signal belongs to the open rows.
  if (useSession.getState().opening !== null) opening.abort();
}

/** Loads that replace each other: only the newest counts. */
export class ModelLoads {
  readonly #inTurn = inTurn();
  #newest = new AbortController();
  #pending = 0;

  /** Whether a load is running or waiting. */
  get pending(): boolean {
    return this.#pending > 0;
  }

  /**
   * Aborts the current load, waits for its end, and then starts this one.
   * @throws LabError("cancelled") when it was stopped or replaced by a newer load before it began; also throws the
   *   errors of `load`
   */
  async run<T>(load: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.stop();
    this.#newest = new AbortController();
    const { signal } = this.#newest;
    this.#pending++;
    try {
      return await this.#inTurn(async () => {
        if (signal.aborted) throw new LabError("cancelled", "Loading was stopped before it began");
        return load(signal);
      });
    } finally {
      this.#pending--;
    }
  }

  /** Stops the current load and the waiting ones. */
  stop(): void {
    this.#newest.abort();
  }
}

const loads = new ModelLoads();
/** Loads the model again that was loaded last. */
let loadAgain: () => Promise<void> = async () => undefined;
type OnLoad = (progress: LoadProgress) => void;

/**
 * Reads a checkpoint folder into the trainer, and replaces a load in progress; after an error the previous model is kept.
 * @param exact whether a large checkpoint is read in the storage of the settings instead of one that fits the GPU
 */
export async function openModel(folder: FolderRef, exact = false): Promise<void> {
  await loadModel("Reading the folder", folder, exact, (onProgress, signal) => {
    const { config, rows } = useSession.getState();
    const fit = exact ? null : { gigabytes: config.gpuMemory, ...plannedSizes(rows) };
    return lab().trainer.openModel(folder, storageChoice(config), fit, onProgress, signal);
  });
  loadAgain = () => openModel(folder, exact);
}

/**
 * Takes the settings with which a run on a large checkpoint fits the GPU, unless the user has set some: then only the
 * storage follows the one in which the weights were read.
 */
async function fitToGpu(untouched: boolean): Promise<void> {
  await refreshPlan();
  const { plan, model, config } = useSession.getState();
  if (model === null || (plan?.fit.fitted ?? null) === null) return;
  if (untouched) choosePreset("real");
  else if (!sameStorage(storageChoice(config), model.storage)) {
    const { language, towers } = model.storage;
    changeConfig({ weightStorage: language, towerStorage: language === towers ? "same" : towers });
  }
}

/** Loads a conversion that the page keeps. */
export async function openStoredModel(id: string): Promise<void> {
  await loadModel("Reading the stored weights", null, false, (onProgress, signal) =>
    lab().trainer.openStored(id, onProgress, signal),
  );
  loadAgain = () => openStoredModel(id);
}

/** Replaces the trainer by another one with the same model. @throws LabError when the model cannot be read again */
export async function restartTrainer(): Promise<void> {
  loads.stop();
  replaceTrainer();
  await loadAgain();
}

async function loadModel(
  what: string,
  modelFolder: FolderRef | null,
  exact: boolean,
  load: (onProgress: OnLoad, signal: AbortSignal) => Promise<ModelInfo>,
): Promise<void> {
  await requireIdle("the loaded model");
  const begin = (): void => useSession.setState({ modelProgress: { loadedBytes: 0, totalBytes: 0, what, rate: 0 } });
  begin();
  let untouched: boolean | null = null;
  try {
    const loading = loads.run(async (signal) => {
      // Another load may have reported progress meanwhile.
      begin();
      const rate = loadRate();
      const onProgress = (progress: LoadProgress): void =>
        useSession.setState({ modelProgress: { ...progress, rate: rate(progress.loadedBytes) } });
      const model = await load(onProgress, signal);
      untouched = isUntouched(useSession.getState().preset);
      useSession.setState({ model, modelFolder, plan: null });
      useTry.setState({ adapter: null, captioner: null });
      if (model.cached === "written") keepStorage();
    });
    await about("model", () => loading);
  } finally {
    // A stopped load leaves a conversion that can be continued.
    report(refreshStored());
    // Settings may have changed meanwhile, even if the model has not. Nothing starts before they fit a large model.
    const planned = (untouched === null || exact ? refreshPlan() : fitToGpu(untouched)).finally(() => {
      if (!loads.pending) useSession.setState({ modelProgress: null });
    });
    report(planned);
    await Promise.allSettled([planned]);
  }
}

/** Where the loaded model was read from. @throws LabError when none is loaded, or it came from a kept conversion */
export function loadedFolder(): FolderRef {
  const { model, modelFolder } = useSession.getState();
  if (model !== null && modelFolder !== null) return modelFolder;
  throw badInput("No model folder is open; open the model that the run was trained on first");
}

/** Bytes per second since the first report of a load. */
function loadRate(): (bytes: number) => number {
  let start: { readonly bytes: number; readonly seconds: number } | null = null;
  return (bytes) => {
    const seconds = performance.now() / 1000;
    if (start === null || bytes < start.bytes) start = { bytes, seconds };
    const past = seconds - start.seconds;
    return past <= 0 ? 0 : (bytes - start.bytes) / past;
  };
}

async function refreshStored(): Promise<void> {
  // Without a GPU every call of the trainer fails with the sentence that the load itself reports.
  if (useSession.getState().gpuError !== null) return;
  useSession.setState({ storedModels: await lab().trainer.storedModels() });
}

/** Stops the current load; the finished part of the conversion is kept and can be continued. */
export function stopLoading(): void {
  loads.stop();
}

/** What a plan reads of rows besides their captions. */
function plannedSizes(rows: readonly RegionSummary[]): Omit<PlannedRows, "captions"> {
  const sizes = rows.map(({ height, width, frames = 1 }) => ({ height: height / frames, width }));
  const pictures = [...new Map(sizes.map((size) => [`${size.height}x${size.width}`, size])).values()];
  return { clips: rows.some(({ frames }) => frames !== undefined), pictures };
}

/** The rows that the next run uses; all of them while its filter cannot be read, which the plan names as a problem. */
function rowsOfRun(rows: readonly RegionSummary[], config: LabConfig): readonly RegionSummary[] {
  try {
    return usedRows(rows, (row) => row, config);
  } catch (thrown) {
    if (thrown instanceof LabError) return rows;
    throw thrown;
  }
}

let planAsked = 0;

/**
 * Requests the plan of the current settings; only the newest answer counts. Does nothing without a model, or during a
 * load, which requests the plan at its end.
 */
export async function refreshPlan(): Promise<void> {
  const { model, config, rows } = useSession.getState();
  if (model === null || loads.pending) return;
  const asked = ++planAsked;
  const used = rowsOfRun(rows, config);
  const step = Math.max(1, used.length / ROW_SAMPLE);
  const sample = Array.from({ length: Math.min(used.length, ROW_SAMPLE) }, (_, at) => used[Math.floor(at * step)]);
  const captions = sample.flatMap((row) => row?.caption ?? []);
  const plan = await lab().trainer.plan(config, {
    ...plannedSizes(used),
    captions,
    ...(rows.length > 0 && { used: used.length }),
  });
  if (asked === planAsked) useSession.setState({ plan });
}

/** Whether a folder is served with the page. A development server answers an absent file with the page itself. */
async function isServed(baseUrl: string): Promise<boolean> {
  const response = await fetch(new URL("files.json", baseUrl), { method: "HEAD" }).catch(() => null);
  return response?.ok === true && !(response.headers.get("content-type") ?? "").includes("html");
}

/** Opens the rows and the pocket model of the address's preset; if they are absent, one sentence says so. */
export async function openDemo(): Promise<void> {
  const demo = async (
    folder: BuiltInFolder,
    open: (folder: FolderRef) => Promise<unknown>,
    what: string,
  ): Promise<unknown> => {
    if (await isServed(folder.baseUrl)) return open(folder);
    throw badInput(`The built-in ${what} is not served with this page; open your own files instead`, folder.baseUrl);
  };
  const { preset } = useSession.getState();
  const shards = { kind: "built-in", baseUrl: builtIn(demoRows(preset)) } as const;
  report(demo(shards, (folder) => openData([folder]), "demo shard"));
  report(demo(pocketModel(preset), openModel, "pocket model"));
  report(openRecorded(builtIn("pocket/recorded/")));
}

/** The pocket model that a preset trains. */
export function pocketModel(preset: PresetName): BuiltInFolder {
  const folder = PRESETS.find(({ name }) => name === preset)?.pocketModel ?? "model";
  return { kind: "built-in", baseUrl: builtIn(`pocket/${folder}/`) };
}

/** Sets that come with the page: their rows, and the preset that trains its pocket model on them. */
export const DEMO_SETS = PRESETS.flatMap(({ name: preset, demoSet }) =>
  demoSet === undefined ? [] : [{ ...demoSet, preset }],
);

/** The rows of a preset, or those of the demo. */
export function demoRows(preset: PresetName): string {
  return (DEMO_SETS.find((set) => set.preset === preset) ?? (DEMO_SETS[0] as (typeof DEMO_SETS)[number])).rows;
}

/** Name of a folder that comes with the page, as manifests record it. */
export const builtInName = (path: string): string => path.split("/").filter(Boolean).join(" ");

/** The folder of rows of this name that comes with the page; undefined for rows of the user. */
export function builtInRows(name: string): string | undefined {
  return DEMO_SETS.find(({ rows }) => builtInName(rows) === name)?.rows;
}

/** Opens rows that come with the page (`builtInRows`); an unchanged preset of another set gives way to theirs. */
export async function openBuiltInRows(path: string): Promise<void> {
  await openData([{ kind: "built-in", baseUrl: builtIn(path) }]);
  const { preset, modelFolder } = useSession.getState();
  const own = DEMO_SETS.find((set) => set.preset === preset);
  if (own === undefined || own.rows === path || !isUntouched(preset)) return;
  // Two sets share their rows; a run that resumes has loaded its model.
  const [first = own, ...others] = DEMO_SETS.filter(({ rows }) => rows === path);
  const set = others.find((one) => isSame(modelFolder, pocketModel(one.preset))) ?? first;
  choosePreset(set.preset);
  await openPocketModel(set.preset);
}

/** Whether the evidence of the chosen preset is about what is open: its settings, all rows of its set and its model. */
export function evidenceApplies({ preset, config, dataInfo, model, modelFolder }: SessionState): boolean {
  if (model !== null && !isSame(modelFolder, pocketModel(preset))) return false;
  if (dataInfo !== null && dataInfo.name !== builtInName(demoRows(preset))) return false;
  return config.rowFilter === "" && isUntouched(preset);
}

/**
 * Opens a set's rows, and its model in place of another one that comes with the page. A user's model stays; so does the
 * open one if the page lacks the set's. A preset of another set is replaced by this set's, unless a setting was changed.
 */
export async function openDemoSet(preset: PresetName): Promise<void> {
  const rows = demoRows(preset);
  await requireIdle("the rows that are open");
  // Also where the rows are open already.
  settleProblems("data");
  for (const other of DEMO_SETS) if (other.preset !== preset) replacePreset(other.preset, preset);
  const data = isOpen(builtIn(rows)) ? null : openBuiltInRows(rows);
  await Promise.all([data, openPocketModel(preset)]);
}

/** Opens the pocket model of a preset, unless it or a user's model is open or the page lacks it. */
export async function openPocketModel(preset: PresetName): Promise<void> {
  const folder = pocketModel(preset);
  const { modelFolder, gpuError } = useSession.getState();
  // Without a GPU the first load has said so.
  if (gpuError !== null) return;
  if (!hasOwnModel() && !isSame(modelFolder, folder) && (await isServed(folder.baseUrl))) await openModel(folder);
}

/** Whether exactly these rows of the page are open, without corrections: to read them again would only blank the screens. */
function isOpen(baseUrl: string): boolean {
  const { folders, session } = whole;
  const [only = null] = folders;
  const same = folders.length === 1 && isSame(only, { kind: "built-in", baseUrl });
  return same && openFolders === folders && useSession.getState().dataInfo !== null && isEmpty(session.mapping);
}

const isEmpty = (mapping: DataMapping): boolean => Object.keys(mapping).length === 0;

const isSame = (folder: FolderRef | null, { baseUrl }: BuiltInFolder): boolean =>
  folder?.kind === "built-in" && folder.baseUrl === baseUrl;

/** Whether the loaded model is not one that comes with the page. */
export function hasOwnModel(): boolean {
  const { model, modelFolder } = useSession.getState();
  return model !== null && modelFolder?.kind !== "built-in";
}

/** Shows the recorded run until there is another run; does nothing if the page has none. */
async function openRecorded(baseUrl: string): Promise<void> {
  let recordedRun: string | null = null;
  try {
    if (await isServed(baseUrl)) recordedRun = await lab().data.recorded(baseUrl);
  } finally {
    useSession.setState({ recordedRun });
  }
}
