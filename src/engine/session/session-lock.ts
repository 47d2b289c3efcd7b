/** What a session's one device and model are busy with: claimed before the first wait, given back at the end. */
import { LabError } from "../errors.ts";

const SENTENCES = {
  run: "A run is in progress. Stop it first",
  bench: "The reward bench is sampling; stop it first",
  "try-out": "The model is being tried out; wait for its answer or stop it",
  "self-test": "The self-test is under way; it takes seconds",
  model: "A model is loading; wait for it or stop it",
  adapter: "An adapter is being read; it takes seconds",
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

  /** @param beside a use that does not disturb @throws LabError("bad-input") naming what is under way */
  requireIdle(beside?: Use): void {
    const other = this.#uses.find((use) => use !== beside);
    if (other !== undefined) throw new LabError("bad-input", SENTENCES[other]);
  }

  /**
   * Takes a use at once, so that nothing else begins while its holder waits.
   * @param beside a use that does not disturb
   * @returns the way to give it back, which counts once
   * @throws LabError("bad-input") naming what is under way
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

  /** Does something under a claim. @throws LabError("bad-input") naming what is under way, and what `work` throws */
  async during<T>(use: Use, work: () => Promise<T>, beside?: Use): Promise<T> {
    const release = this.claim(use, beside);
    try {
      return await work();
    } finally {
      release();
    }
  }
}
