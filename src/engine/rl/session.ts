/**
 * A place to train in: one device, at most one model, at most one run. The trainer worker of the page and the Node tools
 * both drive this; neither knows more than what is here.
 */
import type { ByteFolder } from "../bytes/source.ts";
import type { LabConfig } from "../config/table.ts";
import type { RgbImage } from "../data/sample.ts";
import { LabError } from "../errors.ts";
import type { EngineDevice } from "../gpu/device.ts";
import { trimPool } from "../gpu/memory.ts";
import { measureThroughput, type Throughput } from "../gpu/throughput.ts";
import { type OpenedModel, type OpenModelOptions, openCachedModel, openModelFolder } from "../loading/open-model.ts";
import { checkStorage } from "../loading/storage-settings.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { readStartAdapter, type StartAdapter } from "../model/start-adapter.ts";
import { freeDecodeBuffers } from "../policy/decode-gpu.ts";
import { createFeatureCache, type FeatureCache } from "../policy/features.ts";
import type { BenchGroup } from "../rewards/bench/bench-group.ts";
import { sealReward } from "../rewards/user/seal.ts";
import { readCheckpoint } from "../runs/checkpoint.ts";
import type { RunManifest } from "../runs/manifest.ts";
import type { LoopId } from "../runs/records.ts";
import { createRun, openRun, type RunFolder } from "../runs/run-folder.ts";
import { memoryReport, type SystemReport } from "./holdings.ts";
import { keepStart, keptStart } from "./kept-start.ts";
import { type Plan, planRun } from "./plan.ts";
import { keepGoing, type RunEnd } from "./recovery.ts";
import { benchFromStart } from "./reward-bench.ts";
import { type RowList, type SelectedRows, selectRows } from "./row-selection.ts";
import { checkedRows, checkSameRun, describeData, holdOrRefuse, newRun, parameterCounts } from "./run-facts.ts";
import { runFeatures } from "./run-features.ts";
import { recordJudge } from "./run-judge.ts";
import type { LoadedModel, SessionDeps, StartedRun } from "./session-types.ts";
import { adapterObstacle, loraSettings, resumeState, startState } from "./start-run.ts";
import { newestCheckpoint, storedState } from "./stored-state.ts";
import { Trainer } from "./trainer.ts";
import { disposeState, type TrainingState } from "./training-state.ts";
import { type TryAnswer, type TryContext, type TryTask, type TryWeights, tryOut } from "./try-out.ts";

export const VERSION = "0.1.0";

/** Host bytes of frozen features kept between try-outs: the same picture is asked about again. */
const TRY_FEATURE_BYTES = 256 * 2 ** 20;

export type { SessionDeps, StartedRun } from "./session-types.ts";

export class Session {
  readonly #deps: SessionDeps;
  #device: EngineDevice;
  #model: LoadedModel | undefined;
  #adapter: StartAdapter | undefined;
  #live: TryContext["live"];
  #trying = false;
  #tryFeatures: FeatureCache | undefined;
  #rate: Promise<Throughput> | undefined;
  #trainer: Trainer | undefined;
  #sampling = false;
  #testing = false;
  #selfTest: RunManifest["selfTest"];

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    this.#device = deps.device;
  }

  get device(): EngineDevice {
    return this.#device;
  }

  get model(): Sa2vaModel | undefined {
    return this.#model?.model;
  }

  /** The adapter new runs start from. */
  get adapter(): StartAdapter | undefined {
    return this.#adapter;
  }

  /** The run under way. */
  get trainer(): Trainer | undefined {
    return this.#trainer;
  }

  /**
   * Loads a model in place of the present one.
   * @throws LabError; a folder that is wrong leaves the present model, a file that breaks off while it is read leaves none
   */
  async openModel(
    folder: ByteFolder,
    name: string,
    options: Omit<OpenModelOptions, "cache" | "beforeWeights"> = {},
  ): Promise<OpenedModel> {
    const { models } = this.#deps;
    return this.#replaceModel((beforeWeights) =>
      openModelFolder(folder, name, { ...options, cache: models, beforeWeights }),
    );
  }

  /** Loads a stored conversion in place of the present model. @param id of `ModelCache.list` */
  async openStored(
    id: string,
    options: Omit<OpenModelOptions, "cache" | "choice" | "beforeWeights"> = {},
  ): Promise<OpenedModel> {
    const { models } = this.#deps;
    if (models === undefined) throw new LabError("storage", "No stored models are kept here");
    return this.#replaceModel((beforeWeights) => openCachedModel(models, id, { ...options, beforeWeights }));
  }

  async #replaceModel(open: (beforeWeights: () => void) => Promise<OpenedModel>): Promise<OpenedModel> {
    this.requireIdle();
    const beforeWeights = (): void => {
      this.#model?.model.dispose();
      this.#model = undefined;
      this.#adapter = undefined;
      this.#tryFeatures = undefined;
    };
    const opened = await open(beforeWeights);
    this.#device.check();
    this.#model = { ...opened, reload: () => open(() => undefined) };
    return opened;
  }

  /**
   * Reads an adapter folder for the loaded model; new runs and try-outs start from it.
   * @throws LabError naming file and tensor; an adapter that was open before stays
   */
  async openAdapter(folder: ByteFolder, name: string): Promise<StartAdapter> {
    const { model } = this.#idleModel();
    this.#adapter = await readStartAdapter(folder, { language: model.config.language, base: model.base }, name);
    return this.#adapter;
  }

  /** @throws LabError when something is under way that another model on the device would disturb */
  requireIdle(): void {
    if (this.#trainer !== undefined) throw new LabError("bad-input", "A run is under way; stop it first");
    if (this.#sampling) throw new LabError("bad-input", "The reward bench is sampling; stop it first");
    if (this.#trying) throw new LabError("bad-input", "The model is being tried out; wait for its answer or stop it");
    if (this.#testing) throw new LabError("bad-input", "The self-test is under way; it takes seconds");
  }

  /** Has `work` test the device, which nothing else uses meanwhile; runs record the result. @throws LabError("bad-input") when it is in use */
  async selfTest(work: (device: EngineDevice) => Promise<RunManifest["selfTest"]>): Promise<void> {
    this.requireIdle();
    this.#testing = true;
    try {
      // A measurement under way would count as work of this; whoever asked hears of a failure.
      await this.#rate?.catch(() => undefined);
      this.#selfTest = await work(this.#device);
    } finally {
      this.#testing = false;
    }
  }

  /** Runs start from fresh adapters again. */
  closeAdapter(): void {
    this.#idleModel();
    this.#adapter = undefined;
  }

  /** What a run with this configuration would take; the device's rate is measured once, while nothing runs. */
  async plan(config: LabConfig): Promise<Plan> {
    const { model } = this.#loaded();
    if (this.#rate === undefined && this.#trainer === undefined) {
      this.#rate = measureThroughput(this.#deps.now);
      // Measured anew next time.
      this.#rate.catch(() => {
        this.#rate = undefined;
      });
    }
    return planRun(model, config, this.#device, { start: this.#adapter, rate: await this.#rate });
  }

  /** What is held, by its owner, and what the device was measured to do; may be asked at any moment. */
  async system(): Promise<SystemReport> {
    // A measurement that failed was told to whoever asked for the plan.
    const rate = (await this.#rate?.catch(() => null)) ?? null;
    const [model, state] = [this.#model?.model, this.#live?.state];
    return { memory: memoryReport({ model, state, run: this.#trainer?.features, tries: this.#tryFeatures }), rate };
  }

  /** Starts a new run. @param created ISO time */
  async start(settings: LabConfig, list: RowList, title: string, created: string): Promise<StartedRun> {
    // A measurement under way would be disturbed, and counted as work of the first step; whoever asked hears of a failure.
    await this.#rate?.catch(() => undefined);
    const { model, hash } = this.#idleModel();
    // The record says how the weights are held, whatever the settings ask of the next loading.
    const held = { weightStorage: model.storage.language, towerStorage: model.storage.towers };
    const config = await sealReward({ ...settings, ...held });
    const start = this.#adapter;
    const obstacle = start === undefined ? null : adapterObstacle(start, config);
    if (obstacle !== null) throw new LabError("bad-config", obstacle, { subject: "loraRank" });
    const selected = selectRows(list, config);
    const manifest: RunManifest = {
      ...newRun(title, created, VERSION, this.#device.report),
      config,
      model: { name: model.name, hash, ...parameterCounts(model, config) },
      ...(start === undefined ? {} : { startAdapter: { name: start.name, hash: start.hash } }),
      ...(this.#selfTest === undefined ? {} : { selfTest: this.#selfTest }),
      data: await describeData(list, selected),
    };
    const release = await holdOrRefuse(manifest.id);
    try {
      const judge = await this.#deps.scorer.begin(config);
      const run = await createRun(this.#deps.store, manifest);
      await recordJudge(run, judge, 0);
      if (start !== undefined) await keepStart(this.#deps.store, manifest.id, start);
      return this.#launch(run, config, startState(model, config, start), list, selected, 0, release);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /** Goes on from the newest checkpoint of a stored run, on the same data and model. */
  async resume(id: string, list: RowList): Promise<StartedRun> {
    const { model, hash } = this.#idleModel();
    const { store } = this.#deps;
    const run = await openRun(store, id);
    const manifest = run.manifest();
    await sealReward(manifest.config);
    checkStorage(manifest.title, manifest.config, model.storage);
    const selected = selectRows(list, manifest.config);
    checkSameRun(manifest, hash, await describeData(list, selected));
    const step = await newestCheckpoint(store, manifest);
    const release = await holdOrRefuse(id);
    try {
      const checkpoint = await readCheckpoint(store, id, step);
      const change = await recordJudge(run, await this.#deps.scorer.begin(manifest.config), step);
      if (change !== null) {
        this.#deps.emit({ type: "alarm", alarm: { id: "judge-changed", step, severity: "warning", message: change } });
      }
      const start =
        manifest.startAdapter === undefined ? undefined : await keptStart(store, id, model, manifest.startAdapter);
      const state = resumeState(model, manifest.config, checkpoint, start);
      await run.truncateAfter(step);
      await run.update({ state: "running" });
      return this.#launch(run, manifest.config, state, list, selected, step, release);
    } catch (thrown) {
      release();
      throw thrown;
    }
  }

  /**
   * Samples groups of rows with the weights a run would start from, for the reward bench.
   * @throws LabError("cancelled") when the signal aborts
   */
  async bench(
    config: LabConfig,
    indices: readonly number[],
    loops: readonly LoopId[],
    onGroup: (group: BenchGroup) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { model } = this.#idleModel();
    const { rows, scorer } = this.#deps;
    const device = this.#device;
    this.#sampling = true;
    try {
      const from = { model, config, adapter: this.#adapter, scorer, signal };
      await benchFromStart(from, { rows, indices, loops, onGroup, checkDevice: () => device.check() });
    } finally {
      this.#sampling = false;
    }
  }

  /** Ends the run under way, if any, and frees everything. */
  dispose(): void {
    this.#trainer?.gate.stop();
    this.#model?.model.dispose();
    this.#model = undefined;
  }

  /**
   * Answers one question about a picture, beside training only while the run is paused.
   * @throws LabError("cancelled") when the signal fires
   */
  async tryOut(
    picture: { readonly id: string; readonly rgb: RgbImage },
    task: TryTask,
    from: TryWeights,
    onPhase: TryContext["onPhase"],
    signal: AbortSignal,
  ): Promise<TryAnswer> {
    if (this.#trainer !== undefined && this.#trainer.gate.state !== "paused")
      throw new LabError("bad-input", "A run is under way; pause it before trying the model out");
    const { model, hash } = this.#trainer === undefined ? this.#idleModel() : this.#loaded();
    if (this.#trying) throw new LabError("bad-input", "The model is answering another question; stop it first");
    this.#tryFeatures ??= createFeatureCache(model, model.tiling.maxTiles, TRY_FEATURE_BYTES);
    this.#trying = true;
    const { store } = this.#deps;
    const device = this.#device;
    const context = { model, hash, adapter: this.#adapter, live: this.#live, store, features: this.#tryFeatures };
    try {
      const answer = await tryOut({ ...context, onPhase, signal }, picture.id, picture.rgb, task, from);
      device.check();
      return answer;
    } finally {
      this.#trying = false;
    }
  }

  #launch(
    run: RunFolder,
    config: LabConfig,
    state: TrainingState,
    list: RowList,
    selected: SelectedRows,
    doneSteps: number,
    release: () => void,
  ): StartedRun {
    const { scorer, now, emit } = this.#deps;
    const attempt = (own: TrainingState, done: number): (() => Promise<RunEnd>) => {
      const loaded = this.#model as LoadedModel;
      const { model } = loaded;
      const before = this.#trainer;
      const trainer = new Trainer({
        model,
        config,
        state: own,
        rows: checkedRows(this.#deps.rows, list),
        trainRows: selected.train,
        heldOutRows: selected.heldOut,
        scorer,
        run,
        doneSteps: done,
        openShelf: () => runFeatures(this.#deps.features, loaded, config, this.#device.report, done, emit),
        lora: loraSettings(model, config),
        now,
        emit,
        checkDevice: () => this.#device.check(),
        whyLost: () => this.#device.whyLost(),
      });
      // A stop that came while there was no trainer to hear it.
      if (before?.gate.signal.aborted === true) trainer.gate.stop();
      this.#trainer = trainer;
      this.#live = { runId: run.id, state: own };
      return () => trainer.run().finally(() => disposeState(own));
    };
    const done = keepGoing(attempt(state, doneSteps), {
      lost: () => this.#device.whyLost(),
      pause: async () => {
        await run.update({ state: "paused" });
        this.#trainer?.gate.setState("finished");
      },
      restore: async (reason) => {
        const from = await this.#reload(run, config, reason);
        return attempt(from.state, from.step);
      },
      now,
    }).finally(() => {
      this.#trainer = undefined;
      this.#live = undefined;
      freeDecodeBuffers();
      trimPool();
      release();
    });
    return {
      manifest: run.manifest(),
      resumedAt: doneSteps,
      trainRows: selected.train.length,
      heldOutRows: selected.heldOut.length,
      done,
    };
  }

  /** Another device, the model on it, and the state of the newest checkpoint, or of the start where there is none. */
  async #reload(
    run: RunFolder,
    config: LabConfig,
    reason: string,
  ): Promise<{ readonly state: TrainingState; readonly step: number }> {
    const { store, emit, reopen } = this.#deps;
    const { model: old, hash, reload } = this.#model as LoadedModel;
    const failedAt = this.#trainer?.step ?? 0;
    emit({ type: "state", state: "starting", step: failedAt });
    old.dispose();
    freeDecodeBuffers();
    this.#model = undefined;
    this.#rate = undefined;
    this.#device.close();
    this.#device = await reopen();
    const { model } = await reload();
    this.#model = { model, hash, reload };
    const { state, step } = await storedState(store, run, model, config);
    const message = `${reason}; it was opened again and the run goes on from step ${step}`;
    emit({ type: "alarm", alarm: { id: "device-lost", step: failedAt + 1, severity: "warning", message } });
    return { state, step };
  }

  #idleModel(): LoadedModel {
    this.requireIdle();
    return this.#loaded();
  }

  #loaded(): LoadedModel {
    if (this.#model !== undefined) return this.#model;
    throw new LabError("bad-input", "No model is loaded; open a model folder first");
  }
}
