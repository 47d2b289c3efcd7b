/** Weights of questions to the model outside training. */
import { badInput } from "../../engine/errors.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import { uploadTensors } from "../../engine/model/weights/weight-pieces.ts";
import { type Weights, weightsView } from "../../engine/model/weights/weights.ts";
import { readTrained } from "../../engine/runs/checkpoint/trained.ts";
import { openRun } from "../../engine/runs/run-folder.ts";
import type { Outside } from "../../engine/session/session.ts";

/** Weights: the published model, the opened adapter, or policy and partner of a run. */
export type TryWeights =
  | { readonly from: "base" }
  | { readonly from: "adapter" }
  | { readonly from: "run"; readonly runId: string; readonly side: "policy" | "ema" };

/** What weights are taken from. */
export type WeightSource = Pick<Outside, "model" | "hash" | "adapters" | "live" | "store">;

interface OwnedWeights {
  readonly weights: Weights;
  dispose(): void;
}

/**
 * The requested weights and the tensors uploaded for them.
 * @throws LabError if they are not available
 */
export async function weightsOf(context: WeightSource, from: TryWeights): Promise<OwnedWeights> {
  const { model, live, store } = context;
  const { start: adapter } = context.adapters;
  if (from.from === "base") return owned(model, new Map(), 0);
  if (from.from === "adapter") {
    if (adapter === undefined) throw badInput("No adapter is open; open one first");
    const tensors = [...adapter.tensors].map(
      ([name, { shape, values }]) => [name, { shape, read: async () => values }] as const,
    );
    return owned(model, await uploadTensors(tensors), adapter.scale);
  }
  if (live !== undefined && live.current.folder.id === from.runId) {
    const { state } = live.current;
    const set = from.side === "policy" ? state.params : state.ema;
    // The clones share the buffers and keep them alive if the run continues meanwhile.
    return owned(model, new Map(Object.entries(set).map(([name, tensor]) => [name, tensor.clone()])), state.loraScale);
  }
  const manifest = (await openRun(store, from.runId)).manifest();
  if (manifest.model.hash !== context.hash) {
    throw badInput(
      `Run "${manifest.title}" was trained on ${manifest.model.name}, but another model is loaded`,
      from.runId,
    );
  }
  const { tensors, lora } = await readTrained(store, from.runId, null, from.side);
  return owned(model, await uploadTensors(tensors), lora === null ? 0 : lora.alpha / lora.r);
}

/** The published tensors with those of `set` taking precedence; the result owns the set. */
function owned(model: Sa2vaModel, set: ReadonlyMap<string, Tensor>, scale: number): OwnedWeights {
  const trainable = Object.fromEntries([...model.base, ...set]);
  return {
    weights: weightsView(model.frozen, trainable, scale),
    dispose: () => tf.dispose([...set.values()]),
  };
}
