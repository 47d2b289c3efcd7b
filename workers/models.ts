/** Loading a model in the trainer worker. */
import { PackedMatrix } from "../src/engine/gpu/packed/matrix.ts";
import type { OpenedModel, OpenModelOptions } from "../src/engine/loading/open-model.ts";
import type { Session } from "../src/engine/session/session.ts";
import type { Fetching } from "../src/protocol/plugin-calls.ts";
import type { LoadProgress, ModelInfo } from "../src/protocol/trainer.ts";

export interface LoadCalls {
  readonly onProgress: (progress: LoadProgress) => void;
  /** A failure leaves the session without a model. */
  readonly onClosed: () => void;
  readonly signal: AbortSignal;
}

/** Loads a model into the session and describes it. @throws LabError as `open` does */
export async function loadModel(
  lab: Session,
  { onProgress, onClosed, signal }: LoadCalls,
  open: (options: Pick<OpenModelOptions, "onProgress" | "signal">, fetching: Fetching) => Promise<OpenedModel>,
): Promise<ModelInfo> {
  const progress = progressOf(onProgress);
  const { model, hash, cached, note } = await open(
    { signal, onProgress: progress.read },
    { signal, onBytes: progress.arrived, onRepeat: progress.repeat },
  ).catch((thrown: unknown) => {
    if (lab.model === undefined) onClosed();
    throw thrown;
  });
  const { name, config, parameters, bytes, storage, frozen, base } = model;
  const held = [...frozen.values(), ...base.values()];
  return {
    name,
    hash,
    family: config.language.family,
    parameters,
    bytes,
    visualTokensPerTile: config.tokensPerTile,
    storage,
    heldBytes: held.reduce((sum, weight) => sum + (weight instanceof PackedMatrix ? weight.bytes : 4 * weight.size), 0),
    cached,
    note: note ?? null,
  };
}

/** Bytes between two reports of progress. */
const TOLD_EVERY = 2 ** 20;

/** Progress in bytes of tensors read and, between two tensors, of bytes received over the network. */
function progressOf(onProgress: (progress: LoadProgress) => void): {
  readonly read: NonNullable<OpenModelOptions["onProgress"]>;
  readonly arrived: (count: number) => void;
  readonly repeat: (sentence: string) => void;
} {
  let [read, total, since, reported, what] = [0, 0, 0, 0, ""];
  const tell = (text: string): void => {
    // Small tensors are fetched ahead and counted twice; keep the bar from moving back.
    reported = Math.max(reported, Math.min(total, read + since));
    onProgress({ loadedBytes: reported, totalBytes: total, what: text });
  };
  return {
    read({ bytes, totalBytes, name }) {
      if (bytes < read) reported = 0;
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
