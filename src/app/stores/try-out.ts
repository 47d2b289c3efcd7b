/** Questions to the loaded model outside training, and its exports: the adapter that is open, and how far the answer is. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { AdapterInfo, TryPhase } from "../../protocol/trainer.ts";

export interface TryState {
  readonly adapter: AdapterInfo | null;
  /** Null when nothing is being asked. */
  readonly phase: TryPhase | "asked" | null;
  /** Tensors of a merged checkpoint that have been written; null when none is being made. */
  readonly merging: { readonly done: number; readonly total: number } | null;
}

export const tryStore = createStore<TryState>()(() => ({ adapter: null, phase: null, merging: null }));

export function useTry<T>(select: (state: TryState) => T): T {
  return useStore(tryStore, select);
}
