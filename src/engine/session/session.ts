/**
 * A training session: one device, at most one model, at most one run. The page's trainer worker and the Node tools both
 * use this interface.
 */

import { inTurn } from "../bytes/pace.ts";
import type { ByteFolder } from "../bytes/source.ts";
import { defaultConfig } from "../config/parse.ts";
import type { LabConfig } from "../config/table.ts";
import { badInput, LabError } from "../errors.ts";
import { holdShapes } from "../gpu/forms/active.ts";
import { compileUsualPrograms } from "../gpu/precompile.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { type OpenedModel, type OpenModelOptions, openCachedModel, openModelFolder } from "../loading/open-model.ts";
import { adapterTarget, readStartAdapter, type StartAdapter } from "../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { freeDecodeBuffers } from "../policy/decode/decode-gpu.ts";
import { createFeatureCache, type FeatureCache } from "../policy/features.ts";
import { usedCustomReward } from "../rewards/composer/plan.ts";
import type { AdapterRole, Lab, LabHost, LoadedModel, RunControl, StartedRun } from "../rl/run/lab.ts";
import { type AskedRun, type PreparedRun, prepareNew, prepareStored } from "../rl/run/start/prepare-run.ts";
import type { Trainer } from "../rl/run/trainer.ts";
import type { RunManifest } from "../runs/manifest.ts";
import type { RowList } from "../runs/run-rows.ts";
import { DeviceRate, KernelForms } from "./kernel-forms.ts";
import { launchRun, type RunOwner } from "./launch-run.ts";
import { memoryReport, type SystemReport } from "./memory-report.ts";
import { type Plan, type PlannedRows, planRun, withinPlan } from "./plan.ts";

// Current use of a session's device and model: claimed synchronously, released at the end.

const SENTENCES = {
  run: "A run is in progress. Stop it first",
  "dry-run": "A dry run is in progress; wait for it or cancel it",
  bench: "The reward bench is sampling; stop it first",
  "try-out": "A try-out is in progress; wait for its answer or stop it",
  "self-test": "The self-test is in progress; it takes seconds",
  tune: "Kernels are being tuned; wait for it or stop it",
  card: "The card is being measured; wait for it or stop it",
  model: "A model is loading; wait for it or stop it",
  adapter: "An adapter is being read; it takes seconds",
  replay: "A step is being replayed; wait for it or stop it",
  evaluation: "A checkpoint is being evaluated; wait for it or stop it",
  merge: "A checkpoint is being merged; wait for it",
} as const;

type Use = keyof typeof SENTENCES;

class SessionLock {
  readonly #uses: Use[] = [];

  get idle(): boolean {
    return this.#uses.length === 0;
  }

  has(use: Use): boolean {
    return this.#uses.includes(use);
  }

  /** @param beside a use that is compatible @throws LabError("bad-input") naming the current use */
  requireIdle(beside?: Use): void {
    const other = this.#uses.find((use) => use !== beside);
    if (other !== undefined) throw badInput(SENTENCES[other]);
  }

  /**
   * Claims a use synchronously, so that nothing else starts while its holder waits.
   * @param beside a use that is compatible
   * @returns the function that releases it, once
   * @throws LabError("bad-input") naming the current use
   */
  claim(use: Use, beside?: Use): () => void {
    this.requireIdle(beside);
    this.#uses.push(use);
    let held = true;
    return () => {
      if (held) this.#uses.splice(this.#uses.indexOf(use), 1);
      held = false;
    };
  }

  /** Runs `work` under a claim. @throws LabError("bad-input") naming the current use, and errors of `work` */
  async during<T>(use: Use, work: () => Promise<T>, beside?: Use): Promise<T> {
    const release = this.claim(use, beside);
    try {
      return await work();
    } finally {
      release();
    }
  }
}

/** The lab during a request outside training. */
export interface Outside extends Lab {
  /** The trainer of the paused run, if any. */
  readonly live: Trainer | undefined;
  /** The frozen features kept between requests about pictures of at most this number of tiles. */
  readonly features: (maxTiles: number) => FeatureCache;
  /** Changes whenever weights may have changed. */
  readonly weightChanges: number;
  readonly signal: AbortSignal;
}

/** Host bytes of frozen features cached between try-outs, for repeated requests about a picture. */
const FEATURE_BYTES = 256 * 2 ** 20;

/** Features of try-out pictures in host memory, least recently used dropped first. */
export function tryFeatures(model: Sa2vaModel, maxTiles: number): FeatureCache {
  const { regionPrompt } = model.config;
  return createFeatureCache(model, maxTiles, FEATURE_BYTES, "f32", undefined, undefined, { regionPrompt });
}

/** The single current request to the model outside training; it yields when a run continues. */
class Question {
  #features: FeatureCache | undefined;
  #maxTiles = 0;
  #now: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  /** Frozen features cached between requests. */
  get features(): FeatureCache | undefined {
    return this.#features;
  }

  featuresOf(model: Sa2vaModel, maxTiles: number): FeatureCache {
    if (this.#features === undefined || maxTiles !== this.#maxTiles) this.#features = tryFeatures(model, maxTiles);
    this.#maxTiles = maxTiles;
    return this.#features;
  }

  /** Drops features, because another model replaces the one that computed them. */
  forget(): void {
    this.#features = undefined;
  }

  /** Work that yields when a run continues. @param work gets a signal that aborts when it must stop */
  async during<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#now = { stop, ended };
    try {
      return await work(AbortSignal.any([signal, stop.signal]));
    } finally {
      this.#now = undefined;
      end();
    }
  }

  /** Stops the current request and waits until it has released its resources. */
  async yield(): Promise<void> {
    // Another request may have started meanwhile.
    while (this.#now !== undefined) {
      this.#now.stop.abort();
      await this.#now.ended;
    }
  }
}

export type { AdapterRole, RunControl, StartedRun } from "../rl/run/lab.ts";

type OpenOptions = Omit<OpenModelOptions, "cache" | "beforeWeights">;

export class Session implements RunOwner {
  #host: LabHost;
  readonly #loads = inTurn();
  #model: LoadedModel | undefined;
  /** Opened adapters by role. */
  #adapters: Lab["adapters"] = {};
  readonly #question = new Question();
  /** Counts loads, starts and continuations, after which weights differ. */
  #weightChanges = 0;
  readonly #uses = new SessionLock();
  readonly #rate: DeviceRate;
  /** The trainer of the current run. */
  trainer: Trainer | undefined;
  /** The measured forms of kernels. */
  readonly forms: KernelForms;
  #selfTest: RunManifest["selfTest"];

  constructor(host: LabHost) {
    this.#host = host;
    this.#rate = new DeviceRate(host.now);
    this.forms = new KernelForms(host, this, this.#rate);
  }

  get device(): EngineDevice {
    return this.#host.device;
  }

  get model(): Sa2vaModel | undefined {
    return this.#model?.model;
  }

  /** The adapter that new runs start from. */
  get adapter(): StartAdapter | undefined {
    return this.#adapters.start;
  }

  /**
   * Loads a model and replaces the current one.
   * @throws LabError; an invalid folder keeps the current model, a file that fails while it is read leaves no model
   */
  async openModel(folder: ByteFolder, name: string, options: OpenOptions = {}): Promise<OpenedModel> {
    const cache = this.#host.models;
    return this.#replaceModel((beforeWeights) => openModelFolder(folder, name, { ...options, cache, beforeWeights }));
  }

  /** Loads a stored conversion and replaces the current model. @param id of `ModelCache.list` */
  async openStored(id: string, options: Omit<OpenOptions, "choice"> = {}): Promise<OpenedModel> {
    const { models } = this.#host;
    if (models === undefined) throw new LabError("storage", "Models cannot be stored here");
    return this.#replaceModel((beforeWeights) => openCachedModel(models, id, { ...options, beforeWeights }));
  }

  async #replaceModel(open: (beforeWeights: () => void) => Promise<OpenedModel>): Promise<OpenedModel> {
    // Loads run one at a time, because one of two concurrent models could not be freed.
    return this.#loads(async () => {
      this.#uses.requireIdle();
      let free = (): void => undefined;
      try {
        await this.forms.activate();
        const opened = await open(() => {
          // Work that started meanwhile keeps the current model; from here on nothing starts.
          free();
          free = this.#uses.claim("model");
          this.#model?.model.dispose();
          this.#model = undefined;
          this.#adapters = {};
          this.#question.forget();
          this.#weightChanges++;
        });
        this.device.check();
        this.#model = { ...opened, reload: () => open(() => undefined) };
        return opened;
      } finally {
        free();
      }
    });
  }

  /**
   * Reads an adapter folder for the loaded model.
   * @param role "start": new runs and try-outs start from it; "captioner": it computes likelihoods as another
   * checkpoint
   * @throws LabError naming file and tensor; a previously opened adapter stays
   */
  async openAdapter(folder: ByteFolder, name: string, role: AdapterRole = "start"): Promise<StartAdapter> {
    return this.whileIdle("adapter", async () => {
      const adapter = await readStartAdapter(folder, adapterTarget(this.#lab().model), name);
      this.#adapters = { ...this.#adapters, [role]: adapter };
      return adapter;
    });
  }

  /** Runs `work` with exclusive use of device and model. @throws LabError("bad-input") naming the current use */
  async whileIdle<T>(use: Use, work: () => Promise<T>): Promise<T> {
    return this.#uses.during(use, work);
  }

  /** Runs a test of the device with exclusive use; runs record the result. @throws LabError("bad-input") when it is in use */
  async selfTest(work: (device: EngineDevice) => Promise<RunManifest["selfTest"]>): Promise<void> {
    await this.whileIdle("self-test", async () => {
      await this.#rate.quiet();
      const forget = holdShapes();
      try {
        this.#selfTest = await work(this.device);
      } finally {
        forget();
      }
    });
  }

  /** Closes the adapter: runs start from fresh adapters again, or have no other checkpoint for likelihoods. */
  closeAdapter(role: AdapterRole = "start"): void {
    this.#uses.requireIdle();
    this.#lab();
    this.#adapters = { ...this.#adapters, [role]: undefined };
  }

  /** Forecast of a run with this configuration on the open rows; the device's rate is measured once, while nothing runs. */
  async plan(config: LabConfig, rows?: PlannedRows): Promise<Plan> {
    const lab = this.#lab();
    const custom = usedCustomReward(config);
    const unread = custom === null ? null : await lab.scorer.unread(custom);
    const plan = planRun(lab, config, rows, await this.#rate.measured(this.#uses.idle));
    if (unread === null) return plan;
    return { ...plan, problems: [{ sentence: unread, remedy: "rewards" }, ...plan.problems] };
  }

  /** Memory by owner, and the measured rate of the device; can be called at any time. */
  async system(): Promise<SystemReport> {
    const rate = await this.#rate.quiet();
    return { memory: memoryReport(this.model, this.trainer, this.#question.features), rate };
  }

  /**
   * Starts a new run.
   * @param own store and events of a run that is not kept; those of the session by default
   * @throws LabError when the session is in use, or naming what does not fit
   */
  async start(asked: AskedRun, own?: Pick<LabHost, "store" | "emit">): Promise<StartedRun> {
    return this.launch(async (lab) => prepareNew(lab, asked, await this.forms.table()), own);
  }

  /**
   * Resumes a stored run from its newest checkpoint, on the same data and model.
   * @param steps new total length; unchanged by default
   * @param from step of an earlier checkpoint, whose later steps are dropped; the newest by default
   * @throws LabError like `start`
   */
  async resume(id: string, list: RowList, steps?: number, from?: number): Promise<StartedRun> {
    return this.launch((lab) => prepareStored(lab, id, list, steps, from));
  }

  /**
   * Work with the device and the model, such as repeating a part of a stored run.
   * @throws LabError("bad-input") naming the current use, or without a model
   */
  async withLab<T>(use: Use, work: (lab: Lab) => Promise<T>): Promise<T> {
    return this.whileIdle(use, () => work(this.#lab()));
  }

  /**
   * Starts a prepared run. Claims the session synchronously and keeps the claim until the run has ended or failed to start.
   * @param own store and events of a run that is not kept; those of the session by default
   * @throws LabError when the session is in use; errors of `prepare`
   */
  async launch(
    prepare: (lab: Lab) => Promise<PreparedRun>,
    own?: Pick<LabHost, "store" | "emit">,
  ): Promise<StartedRun> {
    const free = this.#uses.claim(own === undefined ? "run" : "dry-run");
    this.#weightChanges++;
    try {
      await this.#rate.quiet();
      void compileUsualPrograms("run");
      await this.forms.table();
      const lab = { ...this.#lab(), ...own };
      return launchRun(this, lab, await prepare(lab), free);
    } catch (thrown) {
      free();
      throw thrown;
    }
  }

  /** Ends the current run, if any, and frees everything. */
  dispose(): void {
    this.trainer?.control.stop();
    this.#model?.model.dispose();
    this.#model = undefined;
  }

  /** Controls the current run, if there is one. A try-out during a pause ends before the run continues. */
  async control(action: RunControl): Promise<void> {
    if (this.trainer !== undefined) await this.#question.yield();
    this.#weightChanges++;
    this.trainer?.control[action]();
  }

  /**
   * Work with the model outside training; during a run only while it is paused.
   * @param tiles upper limit of tiles; the model's own without one
   * @throws LabError("cancelled") when the signal aborts or the run continues
   */
  async askRows<T>(tiles: number | undefined, signal: AbortSignal, work: (outside: Outside) => Promise<T>): Promise<T> {
    return this.#besideRun(tiles, (outside) =>
      this.#question.during(signal, (stopped) => work({ ...outside, signal: stopped })),
    );
  }

  /** @param tiles upper limit of tiles; the model's own without one */
  async #besideRun<T>(tiles: number | undefined, work: (outside: Omit<Outside, "signal">) => Promise<T>): Promise<T> {
    if (this.#uses.has("run") && this.trainer?.control.state !== "paused")
      throw badInput("A run is in progress. Pause it before you try the model");
    const answering = async (): Promise<T> => {
      const [lab, live] = [this.#lab(), this.trainer];
      const { model, device } = lab;
      const cached = (maxTiles: number): FeatureCache => this.#question.featuresOf(model, maxTiles);
      const asked = (): Promise<T> => work({ ...lab, live, weightChanges: this.#weightChanges, features: cached });
      const settings = { ...defaultConfig(), maxTiles: tiles ?? model.tiling.maxTiles };
      // A paused run has its own plan.
      const answer = await (live === undefined ? withinPlan(lab, settings, asked) : asked());
      device.check();
      return answer;
    };
    return this.#uses.during("try-out", answering, "run");
  }

  async reopen(lab: Lab): Promise<Lab> {
    const { model: old, hash, reload } = this.#lab();
    old.dispose();
    freeDecodeBuffers();
    this.#model = undefined;
    this.#rate.forget();
    this.device.close();
    const device = await this.#host.reopen();
    this.#host = { ...this.#host, device };
    this.#model = { model: (await reload()).model, hash, reload };
    return { ...lab, device, ...this.#model };
  }

  /** @throws LabError("bad-input") without a loaded model */
  #lab(): Lab {
    if (this.#model === undefined) throw badInput("No model is loaded; open a model folder first");
    return { ...this.#host, ...this.#model, adapters: this.#adapters, selfTest: this.#selfTest };
  }
}
