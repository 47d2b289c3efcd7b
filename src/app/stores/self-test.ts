/** The self-test of the graphics adapter: checks as they arrive. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { SelfCheck } from "../../engine/self-test/self-check.ts";

export interface SelfTestState {
  /** "broken": it ended before its last check. */
  readonly state: "never" | "running" | "done" | "broken";
  readonly checks: readonly SelfCheck[];
  readonly total: number;
}

export const selfTestStore = createStore<SelfTestState>()(() => ({ state: "never", checks: [], total: 0 }));

/** Subscribes to a part of the self-test. */
export function useSelfTest<T>(select: (state: SelfTestState) => T): T {
  return useStore(selfTestStore, select);
}

export function addSelfCheck(check: SelfCheck, total: number): void {
  selfTestStore.setState(({ checks }) => ({ checks: [...checks, check], total }));
}
