/** The single current request to the model outside training; it yields when a run continues. */
import type { FeatureCache } from "../policy/features.ts";
import {
  type AskedPicture,
  type Outside,
  type TryAnswer,
  type TryContext,
  type TryTask,
  type TryWeights,
  tryFeatures,
  tryOut,
} from "./try-out.ts";

export interface Asked {
  readonly picture: AskedPicture;
  readonly task: TryTask;
  readonly from: TryWeights;
  /** Upper limit of tiles; the model's own without one. */
  readonly maxTiles?: number | undefined;
}

export class Question {
  #features: FeatureCache | undefined;
  #maxTiles = 0;
  #now: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  /** Frozen features cached between requests. */
  get features(): FeatureCache | undefined {
    return this.#features;
  }

  /** Drops features, because another model replaces the one that computed them. */
  forget(): void {
    this.#features = undefined;
  }

  /**
   * Answers a request; the caller ensures that there is one at a time.
   * @throws LabError("cancelled") when the signal aborts or the request yields, "bad-input" naming the problem
   */
  async ask(
    context: Outside,
    { picture, task, from, maxTiles = context.model.tiling.maxTiles }: Asked,
    onPhase: TryContext["onPhase"],
  ): Promise<TryAnswer> {
    const known = maxTiles === this.#maxTiles ? this.#features : undefined;
    const features = known ?? tryFeatures(context.model, maxTiles);
    this.#features = features;
    this.#maxTiles = maxTiles;
    return this.during(context.signal, (signal) =>
      tryOut({ ...context, features, onPhase, signal }, picture, task, from),
    );
  }

  /** Other work that yields when a run continues. @param work gets a signal that aborts when it must stop */
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
