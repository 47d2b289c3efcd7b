/** Try-outs of the loaded model and its open adapter. */
import { create } from "zustand";
import type { TowerPart } from "../../engine/policy/features.ts";
import type { TryPhase } from "../../engine/session/try-out.ts";
import type { AdapterInfo } from "../../protocol/trainer.ts";

interface TryState {
  readonly adapter: AdapterInfo | null;
  /** The adapter of another checkpoint that scores likelihoods. */
  readonly captioner: AdapterInfo | null;
  /** Null if no try-out is running. */
  readonly phase: TryPhase | "asked" | null;
  /** The part of the picture that is encoded now. */
  readonly part: TowerPart | null;
}

export const useTry = create<TryState>()(() => ({ adapter: null, captioner: null, phase: null, part: null }));
