/** Try-outs of the loaded model, its open adapter, and the progress of try-outs and exports. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { AdapterInfo, TryPhase } from "../../protocol/trainer.ts";

export interface TryState {
  readonly adapter: AdapterInfo | null;
  /** The adapter of another checkpoint that likelihoods are asked of. */
  readonly captioner: AdapterInfo | null;
  /** Null if no try-out is running. */
  readonly phase: TryPhase | "asked" | null;
  /** Written tensors of a merged checkpoint; null if none is being exported. */
  readonly merging: { readonly done: number; readonly total: number } | null;
}

export const tryStore = createStore<TryState>()(() => ({ adapter: null, captioner: null, phase: null, merging: null }));

export function useTry<T>(select: (state: TryState) => T): T {
  return useStore(tryStore, select);
}
