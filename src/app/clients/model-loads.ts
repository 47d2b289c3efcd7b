/** Loads that replace each other: only the newest counts. */

import { inTurn } from "../../engine/bytes/pace.ts";
import { LabError } from "../../engine/errors.ts";

export class ModelLoads {
  readonly #inTurn = inTurn();
  #newest = new AbortController();
  #pending = 0;

  /** Whether a load is running or waiting. */
  get pending(): boolean {
    return this.#pending > 0;
  }

  /**
   * Aborts the current load, waits for its end, and then starts this one.
   * @throws LabError("cancelled") when it was stopped or replaced by a newer load before it began; also throws the
   *   errors of `load`
   */
  async run<T>(load: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.stop();
    this.#newest = new AbortController();
    const { signal } = this.#newest;
    this.#pending++;
    try {
      return await this.#inTurn(async () => {
        if (signal.aborted) throw new LabError("cancelled", "Loading was stopped before it began");
        return load(signal);
      });
    } finally {
      this.#pending--;
    }
  }

  /** Stops the current load and the waiting ones. */
  stop(): void {
    this.#newest.abort();
  }
}
