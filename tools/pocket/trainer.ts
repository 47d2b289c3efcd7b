/** Supervised steps: gradients of micro-batches, clipping, Adam on one vector, schedule, moving average. */
import { badInput, LabError } from "../../src/engine/errors.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { type FrozenWeights, type ParameterSet, weightsView } from "../../src/engine/model/weights/weights.ts";
import { inspectGradients } from "../../src/engine/rl/optim/monitor.ts";
import {
  ADAM_DEFAULTS,
  type AdamSettings,
  AdamState,
  applyAdamw,
  disposeSet,
  rampedDecay,
} from "../../src/engine/rl/optim/optimiser.ts";
import { clipFactor, learningRate, type ScheduleSettings } from "../../src/engine/rl/optim/training-state.ts";
import type { PictureFeatures } from "../../src/plugins/supervised/forward.ts";
import { scaleGradients, updateEma } from "../parity/optim-sets.ts";
import type { PocketBatch } from "./batch.ts";
import { PARTS, type PocketSettings, pocketLoss } from "./loss.ts";
import { PACKED, type PackedPlace, pack, packedLayout, unpack } from "./packed.ts";

export interface SftTrainerSettings {
  readonly loss: PocketSettings;
  readonly learningRate: number;
  readonly schedule: ScheduleSettings;
  /** Largest norm of a step's gradient; 0 for no limit. */
  readonly maxGradNorm: number;
  /** No weight decay: one vector holds matrices and norms alike. */
  readonly adam?: Partial<Pick<AdamSettings, "beta1" | "beta2" | "eps">>;
  /** Moving average of the weights, ramped at the start. */
  readonly emaDecay: number;
  /** alpha / r of adapters among the trainable tensors. */
  readonly loraScale: number;
}

/**
 * One micro-batch: its arrays, and its pictures as features or as a function that computes them under the current
 * weights.
 */
export interface MicroBatch {
  readonly batch: PocketBatch;
  readonly features: PictureFeatures | ((weights: ReturnType<typeof weightsView>) => PictureFeatures);
}

export interface SftStepReport {
  readonly loss: number;
  readonly parts: Readonly<Record<(typeof PARTS)[number], number>>;
  readonly gradNorm: number;
  readonly learningRate: number;
  /** False when a gradient was not finite: nothing was changed. */
  readonly stepped: boolean;
}

/** Vectors of a stored run, all with the length of the layout. */
export interface SftVectors {
  readonly step: number;
  readonly params: Float32Array;
  readonly ema: Float32Array;
  readonly m: Float32Array;
  readonly v: Float32Array;
}

/** Owns parameters, average and moments. */
export class SftTrainer {
  readonly #model: Sa2vaModel;
  readonly #settings: SftTrainerSettings;
  readonly #layout: readonly PackedPlace[];
  readonly #stored: FrozenWeights;
  #params: ParameterSet;
  #ema: ParameterSet;
  #adam: AdamState;
  #steps: number;

  /** @param start trainable tensors by full path; the caller still owns it */
  constructor(model: Sa2vaModel, start: ParameterSet, settings: SftTrainerSettings, resume?: SftVectors) {
    this.#model = model;
    this.#settings = settings;
    this.#layout = packedLayout(start, Object.keys(start));
    this.#stored = new Map([...model.frozen, ...model.base]);
    const size = this.#layout.reduce((sum, place) => sum + place.size, 0);
    if (resume !== undefined && [resume.params, resume.ema, resume.m, resume.v].some(({ length }) => length !== size)) {
      throw badInput("The checkpoint belongs to a model of another size; nothing was resumed");
    }
    const load = (values: Float32Array): ParameterSet => ({ [PACKED]: tf.tensor1d(values) });
    this.#params = resume === undefined ? { [PACKED]: pack(this.#layout, start) } : load(resume.params);
    this.#ema = resume === undefined ? { [PACKED]: pack(this.#layout, start) } : load(resume.ema);
    this.#adam =
      resume === undefined ? AdamState.fresh(this.#params) : new AdamState(resume.step, load(resume.m), load(resume.v));
    this.#steps = resume?.step ?? 0;
  }

  /** Updates done. */
  get steps(): number {
    return this.#steps;
  }

  /** Current or averaged weights by full path; owned by the caller. */
  weights(which: "current" | "average"): Record<string, Tensor> {
    return unpack(this.#layout, (which === "current" ? this.#params : this.#ema)[PACKED] as Tensor);
  }

  /**
   * One update from the mean loss of the micro-batches. A step whose gradient is not finite changes nothing.
   * @param change loss settings of this step that differ from the run's
   */
  async step(micro: readonly MicroBatch[], change: Partial<PocketSettings> = {}): Promise<SftStepReport> {
    const rate = learningRate(this.#settings.learningRate, this.#steps, this.#settings.schedule);
    const own = unpack(this.#layout, this.#params[PACKED] as Tensor);
    let gradient: Tensor | undefined;
    let numbers: Tensor | undefined;
    for (const one of micro) {
      const { packed, values } = this.#gradient(own, one, 1 / micro.length, { ...this.#settings.loss, ...change });
      gradient = sum(gradient, packed);
      numbers = sum(numbers, values);
    }
    disposeSet(own);
    if (gradient === undefined || numbers === undefined) throw new LabError("internal", "A step without micro-batches");
    const report = await inspectGradients({ [PACKED]: gradient }, () => PACKED);
    const read = Array.from(await numbers.data());
    numbers.dispose();
    const stepped = report.nonFinite === 0 && Number.isFinite(report.norm);
    if (stepped) this.#update(gradient, report.norm, rate);
    gradient.dispose();
    const parts = Object.fromEntries(PARTS.map((name, at) => [name, read[at + 1]])) as SftStepReport["parts"];
    return { loss: read[0] as number, parts, gradNorm: report.norm, learningRate: rate, stepped };
  }

  /** Everything that a resumed run needs; reads back four vectors. */
  async vectors(): Promise<SftVectors> {
    const read = async (set: ParameterSet): Promise<Float32Array> =>
      Float32Array.from((await (set[PACKED] as Tensor).data()) as Float32Array);
    const moments = async (which: "first" | "second"): Promise<Float32Array> => {
      const set = this.#adam.moments(which);
      return await read(set).finally(() => disposeSet(set));
    };
    return {
      step: this.#steps,
      params: await read(this.#params),
      ema: await read(this.#ema),
      m: await moments("first"),
      v: await moments("second"),
    };
  }

  dispose(): void {
    disposeSet(this.#params);
    disposeSet(this.#ema);
    this.#adam.dispose();
  }

  #gradient(
    own: ParameterSet,
    micro: MicroBatch,
    share: number,
    settings: PocketSettings,
  ): { packed: Tensor; values: Tensor } {
    const names = this.#layout.map((place) => place.name);
    let values: Tensor | undefined;
    const { value, grads } = tf.engine().gradients(
      () => {
        const weights = weightsView(this.#stored, own, this.#settings.loraScale);
        const features = typeof micro.features === "function" ? micro.features(weights) : micro.features;
        const { loss, parts } = pocketLoss(this.#model, weights, features, micro.batch, settings);
        values = tf.keep(tf.concat([loss.reshape([1]), parts], 0).mul(share));
        return loss.mul(share).asScalar();
      },
      names.map((name) => own[name] as Tensor),
      undefined,
      true,
    );
    const found = Object.fromEntries(names.map((name, at) => [name, grads[at] ?? undefined]));
    const packed = pack(this.#layout, found);
    tf.dispose([value, ...Object.values(found).filter((gradient) => gradient !== undefined)]);
    return { packed, values: values as Tensor };
  }

  #update(gradient: Tensor, norm: number, rate: number): void {
    const { maxGradNorm, emaDecay, adam } = this.#settings;
    const factor = maxGradNorm === 0 ? 1 : clipFactor(norm, maxGradNorm);
    const raw: ParameterSet = { [PACKED]: gradient };
    const clipped = factor < 1 ? scaleGradients(raw, factor) : raw;
    const next = applyAdamw(this.#params, clipped, this.#adam, rate, { ...ADAM_DEFAULTS, ...adam, weightDecay: 0 });
    if (clipped !== raw) disposeSet(clipped);
    disposeSet(this.#params);
    this.#params = next;
    this.#steps++;
    const average = updateEma(this.#ema, next, rampedDecay(emaDecay, this.#steps));
    disposeSet(this.#ema);
    this.#ema = average;
  }
}

/** Adds both and consumes them. */
function sum(before: Tensor | undefined, more: Tensor): Tensor {
  if (before === undefined) return more;
  const total = tf.tidy(() => before.add(more));
  tf.dispose([before, more]);
  return total;
}
