/** Loading a model in the trainer worker: progress out, a stop in. */
import { PackedMatrix } from "../src/engine/gpu/packed/matrix.ts";
import type { OpenedModel, OpenModelOptions } from "../src/engine/loading/open-model.ts";
import type { Session } from "../src/engine/rl/session.ts";
import type { FromTrainer, ModelInfo } from "../src/protocol/trainer.ts";

let stop = new AbortController();

/** Ends the loading under way. */
export function stopLoading(): void {
  stop.abort();
}

/** Loads a model with progress; says so when a failure leaves the session without one. */
export async function loadModel(
  lab: Session,
  send: (message: FromTrainer) => void,
  open: (options: Pick<OpenModelOptions, "onProgress" | "signal">) => Promise<OpenedModel>,
): Promise<ModelInfo> {
  stop = new AbortController();
  try {
    const { model, cached, note } = await open({
      signal: stop.signal,
      onProgress: ({ bytes, totalBytes, name }) =>
        send({ type: "model-progress", loadedBytes: bytes, totalBytes, what: name }),
    });
    const { name, config, parameters, bytes, storage, frozen, base } = model;
    const held = [...frozen.values(), ...base.values()];
    return {
      name,
      family: config.language.family,
      parameters,
      bytes,
      vocabulary: config.language.vocabSize,
      visualTokensPerTile: config.tokensPerTile,
      gpu: lab.device.report,
      storage,
      heldBytes: held.reduce(
        (sum, weight) => sum + (weight instanceof PackedMatrix ? weight.bytes : 4 * weight.size),
        0,
      ),
      cached,
      note: note ?? null,
    };
  } catch (thrown) {
    if (lab.model === undefined) send({ type: "model-closed" });
    throw thrown;
  }
}
