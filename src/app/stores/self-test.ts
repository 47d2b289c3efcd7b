/** The self-test of the graphics adapter: checks as they arrive. */
import { create } from "zustand";
import type { SelfCheck } from "../../engine/self-test/self-check.ts";

interface SelfTestState {
  /** "broken": it ended before its last check. */
  readonly state: "never" | "running" | "done" | "broken";
  readonly checks: readonly SelfCheck[];
  readonly total: number;
}

export const useSelfTest = create<SelfTestState>()(() => ({ state: "never", checks: [], total: 0 }));

export function addSelfCheck(check: SelfCheck, total: number): void {
  useSelfTest.setState(({ checks }) => ({ checks: [...checks, check], total }));
}
