/** The page's one lab: its workers, their clients, and the wiring of their events to the stores. */
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError, quote } from "../../engine/errors.ts";
import { storageChoice } from "../../engine/loading/storage-settings.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { FolderRef } from "../../protocol/common.ts";
import type { FromReward } from "../../protocol/reward.ts";
import type { ModelInfo } from "../../protocol/trainer.ts";
import { addBenchGroup } from "../stores/bench.ts";
import { consentStore } from "../stores/consent.ts";
import { judgeStore } from "../stores/judge.ts";
import { forgetPictures, providePictures } from "../stores/picture-cache.ts";
import { applyEvent, beginRun, isActive, runStore } from "../stores/run.ts";
import { runTitle } from "../stores/run-title.ts";
import { addSelfCheck } from "../stores/self-test.ts";
import { addProblem, sessionStore } from "../stores/session.ts";
import { tryStore } from "../stores/try-out.ts";
import { requireAgreed, tellAgreed } from "./agreed.ts";
import { startBlocker } from "./blockers.ts";
import { createDataClient, type DataClient } from "./data-client.ts";
import { createJudgeClient, type JudgeClient } from "./judge-client.ts";
import { ModelLoads } from "./model-loads.ts";
import { toWire } from "./requests.ts";
import { createRewardClient, type RewardClient } from "./reward-client.ts";
import { createTrainerClient, type Started, type TrainerClient } from "./trainer-client.ts";
import { createWorkers } from "./workers.ts";

interface Lab {
  readonly data: DataClient;
  readonly trainer: TrainerClient;
  readonly reward: RewardClient;
  readonly judge: JudgeClient;
}

let opened: Lab | null = null;

/** Clients of the workers; the page makes them before it draws anything. */
export function lab(): Lab {
  if (opened === null) throw new LabError("internal", "The workers are used before the page has started them");
  return opened;
}

/** Lists whatever a promise fails with; for actions that no one waits for. */
export function report(work: Promise<unknown>): void {
  work.catch((thrown: unknown) => {
    const error = toWire(thrown);
    if (error.code !== "cancelled") addProblem(error);
  });
}

/** Starts the workers; called once. */
export function startLab(): void {
  const workers = createWorkers(builtIn("wordnet/wordnet30.txt"), (name, error, forGood) => {
    if (name === "data") opened?.data.fail(error, forGood);
    if (name === "reward") opened?.reward.fail(error, forGood);
    if (name === "reward") opened?.judge.fail(error, forGood);
    if (name === "trainer") {
      opened?.trainer.fail(error, forGood);
      runStore.setState(({ state }) => ({ state: state === "idle" ? state : "failed" }));
    }
    addProblem(error);
  });
  const data = createDataClient(workers.data);
  const trainer = createTrainerClient(workers.trainer);
  const reward = createRewardClient(workers.reward);
  const judge = createJudgeClient(
    workers.reward,
    (text, share) => judgeStore.setState({ progress: { text, share } }),
    addProblem,
  );
  opened = { data, trainer, reward, judge };
  report(tellAgreed(reward.allow));
  consentStore.subscribe((now, before) => {
    if (now.judges !== before.judges || now.rewards !== before.rewards) report(tellAgreed(reward.allow));
  });
  providePictures((rowId, imageId, maxSide) => data.image(rowId, imageId, maxSide));
  listen(data, trainer);
  workers.reward.addEventListener("message", (message: MessageEvent) => {
    const event = message.data as FromReward;
    if (event.type === "failed" && event.request === null) addProblem(event.error);
  });
}

/** Settings must rest this long before the plan is made anew. */
const PLAN_PAUSE_MS = 250;

function listen(data: DataClient, trainer: TrainerClient): void {
  let planTimer: ReturnType<typeof setTimeout> | undefined;
  sessionStore.subscribe((now, before) => {
    if (now.config === before.config) return;
    clearTimeout(planTimer);
    planTimer = setTimeout(() => report(refreshPlan()), PLAN_PAUSE_MS);
  });
  data.onEvent((event) => {
    if (event.type === "failed") {
      addProblem(event.error);
    } else if (openings !== 1) {
      // Still the end of a set that is being replaced.
    } else if (event.type === "progress") {
      const { files, filesTotal, rows, file } = event;
      sessionStore.setState({ opening: { files, filesTotal, rows, file } });
    } else {
      sessionStore.setState(({ rows }) => ({ rows: [...rows, ...event.rows] }));
    }
  });
  trainer.onEvent((event) => {
    // Tools that drive the page follow the run by this event.
    window.dispatchEvent(new CustomEvent("lab:trainer", { detail: event }));
    switch (event.type) {
      case "gpu":
        sessionStore.setState({ gpu: event.report, gpuError: event.error });
        break;
      case "model-progress": {
        // A run that lost its device reads the model again: no loading that could end here.
        if (!loads.pending) break;
        const { loadedBytes, totalBytes, what } = event;
        const rate = loadRate(loadedBytes, performance.now() / 1000);
        sessionStore.setState({ modelProgress: { loadedBytes, totalBytes, what, rate } });
        break;
      }
      case "model-closed":
        sessionStore.setState({ model: null, plan: null });
        tryStore.setState({ adapter: null });
        break;
      case "self-check":
        addSelfCheck(event.check, event.total);
        break;
      case "bench-group":
        addBenchGroup(event.group);
        break;
      case "merge-progress":
        tryStore.setState({ merging: { done: event.done, total: event.total } });
        break;
      case "try-phase":
        if (tryStore.getState().phase !== null) tryStore.setState({ phase: event.phase });
        break;
      case "failed":
      case "held":
        addProblem(event.error);
        break;
      case "checkpoint":
        keepStorage();
        applyEvent(event, Date.now());
        break;
      default:
        applyEvent(event, Date.now());
    }
  });
}

let storageAsked = false;

/** Asks the browser once not to clear checkpoints when disk space runs short. */
function keepStorage(): void {
  if (storageAsked) return;
  storageAsked = true;
  report(navigator.storage.persist());
}

/** Absolute address of something that is served with the page. */
export function builtIn(path: string): string {
  return new URL(path, document.baseURI).href;
}

/** Data sets being opened; while an older one is still ending, what arrives belongs to it. */
let openings = 0;
let newestOpening = 0;
const loads = new ModelLoads(() => lab().trainer.stopLoading());

/** A run in progress, paused or not, keeps what it draws from. */
function requireIdle(what: string): void {
  if (!isActive(runStore.getState().state)) return;
  throw new LabError(
    "bad-input",
    `The run in progress uses ${what}. Stop it before you open something else; nothing was changed`,
  );
}

/** Opens shards in place of what was open; rows appear while it runs. */
export async function openData(folders: readonly FolderRef[]): Promise<void> {
  requireIdle("the rows that are open");
  openings++;
  const mine = ++newestOpening;
  forgetPictures();
  sessionStore.setState({ rows: [], dataInfo: null, opening: { files: 0, filesTotal: 0, rows: 0, file: "" } });
  try {
    const info = await lab().data.open(folders);
    if (mine === newestOpening) sessionStore.setState({ dataInfo: info });
  } catch (thrown) {
    // A half-read set cannot be trained on: it is left out as a whole.
    if (mine === newestOpening) sessionStore.setState({ rows: [] });
    throw thrown;
  } finally {
    openings--;
    if (mine === newestOpening) sessionStore.setState({ opening: null });
  }
}

/** Reads a checkpoint folder into the trainer, in place of a loading under way; what was there is kept when it is wrong. */
export async function openModel(folder: FolderRef): Promise<void> {
  const open = (): Promise<ModelInfo> => lab().trainer.openModel(folder, storageChoice(sessionStore.getState().config));
  await loadModel("Reading the folder", folder, open);
}

/** Loads a conversion that the page keeps. */
export async function openStoredModel(id: string): Promise<void> {
  await loadModel("Reading the stored weights", null, () => lab().trainer.openStored(id));
}

async function loadModel(what: string, modelFolder: FolderRef | null, load: () => Promise<ModelInfo>): Promise<void> {
  requireIdle("the loaded model");
  const begin = (): void => {
    loadStart = null;
    sessionStore.setState({ modelProgress: { loadedBytes: 0, totalBytes: 0, what, rate: 0 } });
  };
  begin();
  try {
    await loads.run(async () => {
      // Another one may have told its progress until now.
      begin();
      const model = await load();
      sessionStore.setState({ model, modelFolder, plan: null });
      tryStore.setState({ adapter: null });
    });
  } finally {
    if (!loads.pending) sessionStore.setState({ modelProgress: null });
    // A loading that was stopped leaves something that can be continued.
    report(refreshStored());
    // Settings may have changed meanwhile, also where the model is still the one of before.
    report(refreshPlan());
  }
}

/** Where the loaded model was read from. @throws LabError when none is loaded, or it came from a kept conversion */
export function loadedFolder(): FolderRef {
  const { model, modelFolder } = sessionStore.getState();
  if (model !== null && modelFolder !== null) return modelFolder;
  throw new LabError("bad-input", "No model folder is open; open the model that the run was trained on first");
}

let loadStart: { readonly bytes: number; readonly seconds: number } | null = null;

/** Bytes a second since the first report of this loading. */
function loadRate(bytes: number, seconds: number): number {
  if (loadStart === null || bytes < loadStart.bytes) loadStart = { bytes, seconds };
  const past = seconds - loadStart.seconds;
  return past <= 0 ? 0 : (bytes - loadStart.bytes) / past;
}

async function refreshStored(): Promise<void> {
  sessionStore.setState({ storedModels: await lab().trainer.storedModels() });
}

/** Stops the loading under way; what was converted so far is kept to go on from. */
export function stopLoading(): void {
  loads.stop();
}

/** Deletes a stored conversion; the loaded model stays. */
export async function removeStoredModel(id: string): Promise<void> {
  sessionStore.setState({ storedModels: await lab().trainer.removeStored(id) });
}

let planAsked = 0;

/** Asks for the plan of the present settings; only the newest answer counts. Once a model is loaded, it is asked for anyway. */
export async function refreshPlan(): Promise<void> {
  const { model, config } = sessionStore.getState();
  if (model === null || loads.pending) return;
  const asked = ++planAsked;
  const plan = await lab().trainer.plan(config);
  if (asked === planAsked) sessionStore.setState({ plan });
}

/** Rows of the open data set in the form the trainer draws from. */
function selection() {
  const { dataInfo, rows } = sessionStore.getState();
  return { dataSet: dataInfo?.name ?? "", rows: rows.map((row) => [row.id, row.imageId] as const) };
}

function newTitle(): string {
  return runTitle(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
}

/** The present settings, once the person agreed to what they reach for. @throws LabError("cancelled") */
export async function agreedSettings(): Promise<LabConfig> {
  const { config } = sessionStore.getState();
  await requireAgreed(config, "The settings of this page", lab().reward.allow);
  return config;
}

/** Starts a new run with the present settings. @throws LabError when it cannot */
export async function startRun(): Promise<void> {
  const blocker = startBlocker();
  if (blocker !== null) throw new LabError("bad-config", blocker);
  const config = await agreedSettings();
  await begin(() => lab().trainer.start(config, selection(), newTitle(), new Date().toISOString()));
}

/**
 * Continues a stored run from its newest checkpoint, with the rows that are open.
 * @param steps its length from now on; as it was by default
 * @throws LabError when it cannot
 */
export async function resumeRun(run: Pick<RunManifest, "id" | "title" | "config">, steps?: number): Promise<void> {
  await requireAgreed(run.config, `Run ${quote(run.title)}`, lab().reward.allow);
  await begin(() => lab().trainer.resume(run.id, selection(), new Date().toISOString(), steps));
}

/** Occupies the page from the moment a run is asked for; one that does not come to be leaves it as it was. */
async function begin(ask: () => Promise<Started>): Promise<void> {
  const { state } = runStore.getState();
  if (isActive(state)) throw new LabError("bad-input", "A run is in progress. Stop it first");
  runStore.setState({ state: "starting" });
  try {
    const started = await ask();
    beginRun(started.manifest, started.resumedAt, started.trainRows, started.heldOutRows);
  } catch (thrown) {
    // A worker that crashed meanwhile has said so.
    if (runStore.getState().state === "starting") runStore.setState({ state });
    throw thrown;
  }
}

/** Whether a folder is served with the page. A development server answers an absent file with the page itself. */
async function isServed(baseUrl: string): Promise<boolean> {
  const response = await fetch(new URL("files.json", baseUrl), { method: "HEAD" }).catch(() => null);
  return response?.ok === true && !(response.headers.get("content-type") ?? "").includes("html");
}

/** Opens the pocket model and shard that come with the page; their absence is a sentence, not a fault. */
export async function openDemo(): Promise<void> {
  const demo = async (path: string, open: (folder: FolderRef) => Promise<void>, what: string): Promise<void> => {
    const baseUrl = builtIn(path);
    if (await isServed(baseUrl)) return open({ kind: "built-in", baseUrl });
    addProblem({
      code: "bad-input",
      message: `The built-in ${what} is not served with this page; open your own files instead`,
      subject: path,
    });
  };
  report(demo("pocket/shards/", (folder) => openData([folder]), "demo shard"));
  report(demo("pocket/model/", openModel, "pocket model"));
  report(openRecorded(builtIn("pocket/recorded/")));
}

/** Makes the recorded run the one that is shown before there is another; a page without one does without. */
async function openRecorded(baseUrl: string): Promise<void> {
  if (!(await isServed(baseUrl))) return;
  sessionStore.setState({ recordedRun: await lab().data.recorded(baseUrl) });
}
