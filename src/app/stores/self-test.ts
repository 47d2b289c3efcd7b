/** The result of the last self-test of the graphics adapter, which a plug-in runs. */
import { create } from "zustand";

interface SelfTestResult {
  /** One entry per finished check, for reports. */
  readonly checks: readonly object[];
  readonly failed: number;
}

export const useSelfTest = create<SelfTestResult>()(() => ({ checks: [], failed: 0 }));
