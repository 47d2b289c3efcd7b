/** Loadings that replace each other: the newest is what is wanted. */
import { LabError } from "../../engine/errors.ts";
import { inTurn } from "../../engine/gpu/in-turn.ts";

export class ModelLoads {
  readonly #inTurn = inTurn();
  readonly #stop: () => void;
  #newest = 0;
  #pending = 0;

  /** @param stop ends the loading under way, which then fails */
  constructor(stop: () => void) {
    this.#stop = stop;
  }

  /** Whether one is under way or waits for another's end. */
  get pending(): boolean {
    return this.#pending > 0;
  }

  /**
   * Stops the loading under way, waits for its end, and only then begins this one.
   * @throws LabError("cancelled") when it was stopped before it began, or a newer one was asked for, and what `load` throws
   */
  async run<T>(load: () => Promise<T>): Promise<T> {
    const mine = ++this.#newest;
    if (this.pending) this.#stop();
    this.#pending++;
    try {
      return await this.#inTurn(async () => {
        if (mine !== this.#newest) throw new LabError("cancelled", "Loading was stopped before it began");
        return load();
      });
    } finally {
      this.#pending--;
    }
  }

  /** Stops the loading under way and those that wait. */
  stop(): void {
    this.#newest++;
    this.#stop();
  }
}
