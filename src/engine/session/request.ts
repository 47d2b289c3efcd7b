/** The single current try-out request; it yields to a run that continues. */
import type { RgbImage } from "../data/sample.ts";
import type { FeatureCache } from "../policy/features.ts";
import { type TryAnswer, type TryContext, type TryTask, type TryWeights, tryFeatures, tryOut } from "./try-out.ts";

export interface Asked {
  /** Its id is the key in the feature cache. */
  readonly picture: { readonly id: string; readonly rgb: RgbImage };
  readonly task: TryTask;
  readonly from: TryWeights;
}

export class Question {
  #features: FeatureCache | undefined;
  #now: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  /** Frozen features cached between requests. */
  get features(): FeatureCache | undefined {
    return this.#features;
  }

  /** Drops the features, because another model replaces the one that computed them. */
  forget(): void {
    this.#features = undefined;
  }

  /**
   * Answers a request; the caller ensures that there is one at a time.
   * @throws LabError("cancelled") when the signal fires or the request yields, "bad-input" naming the problem
   */
  async ask(context: Omit<TryContext, "features">, { picture, task, from }: Asked): Promise<TryAnswer> {
    const { model, signal } = context;
    this.#features ??= tryFeatures(model);
    const features = this.#features;
    const stop = new AbortController();
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#now = { stop, ended };
    try {
      const either = AbortSignal.any([signal, stop.signal]);
      return await tryOut({ ...context, features, signal: either }, picture.id, picture.rgb, task, from);
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
