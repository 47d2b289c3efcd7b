/** Loading a model in the trainer worker: progress out, a stop in. */
import { PackedMatrix } from "../src/engine/gpu/packed/matrix.ts";
import type { OpenedModel, OpenModelOptions } from "../src/engine/loading/open-model.ts";
import type { RemoteDeps } from "../src/engine/loading/remote/request.ts";
import type { Session } from "../src/engine/session/session.ts";
import type { FromTrainer, ModelInfo } from "../src/protocol/trainer.ts";

/** Of the loading under way; one that has ended must not hear of it, for a run reads its model again with it. */
let stop: AbortController | undefined;

/** Ends the loading under way. */
export function stopLoading(): void {
  stop?.abort();
}

/** Loads a model with progress; says so when a failure leaves the session without one. */
export async function loadModel(
  lab: Session,
  send: (message: FromTrainer) => void,
  open: (options: Pick<OpenModelOptions, "onProgress" | "signal">, fetching: RemoteDeps) => Promise<OpenedModel>,
): Promise<ModelInfo> {
  // The newest is what is wanted; it begins when the session is done with the other.
  stop?.abort();
  const mine = new AbortController();
  stop = mine;
  const { signal } = mine;
  const progress = progressOf(send);
  try {
    const { model, cached, note } = await open(
      { signal, onProgress: progress.read },
      { signal, onBytes: progress.arrived, onRepeat: progress.repeat },
    );
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
  } finally {
    if (stop === mine) stop = undefined;
  }
}

/** Bytes that arrive before it is told. */
const TOLD_EVERY = 2 ** 20;

/** What was read of the tensors, and between two of them what arrived over the network. */
function progressOf(send: (message: FromTrainer) => void): {
  readonly read: NonNullable<OpenModelOptions["onProgress"]>;
  readonly arrived: (count: number) => void;
  readonly repeat: (sentence: string) => void;
} {
  let [read, total, since, told, what] = [0, 0, 0, 0, ""];
  const tell = (text: string): void => {
    // Small tensors are fetched ahead: what is counted twice must not make the bar go back.
    told = Math.max(told, Math.min(total, read + since));
    send({ type: "model-progress", loadedBytes: told, totalBytes: total, what: text });
  };
  return {
    read({ bytes, totalBytes, name }) {
      if (bytes < read) told = 0;
      [read, total, since, what] = [bytes, totalBytes, 0, name];
      tell(what);
    },
    arrived(count) {
      const before = since;
      since += count;
      if (total > 0 && Math.floor(since / TOLD_EVERY) > Math.floor(before / TOLD_EVERY)) tell(what);
    },
    repeat: tell,
  };
}
