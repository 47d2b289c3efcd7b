/** Open adapters. */
import { create } from "zustand";
import type { AdapterInfo } from "../../protocol/trainer.ts";

interface TryState {
  readonly adapter: AdapterInfo | null;
  /** The adapter of another checkpoint that scores likelihoods. */
  readonly captioner: AdapterInfo | null;
}

export const useTry = create<TryState>()(() => ({ adapter: null, captioner: null }));
