/** Current use of a session's device and model: claimed synchronously, released at the end. */
import { badInput } from "../errors.ts";

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

export type Use = keyof typeof SENTENCES;

export class SessionLock {
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
