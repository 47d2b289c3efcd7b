/** The self-test, the memory of the trainer's device, and the dry run. */
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import type { DryRun, DryRunPlace } from "../../engine/session/dry-run.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { RowSelection } from "../../protocol/trainer.ts";
import { dryRun } from "./measure-steps.ts";
import { findMemory } from "./probe-memory.ts";
import { passed, type SelfCheck } from "./self-check.ts";
import { countChecks, selfTest } from "./self-test.ts";

const seconds = (): number => performance.now() / 1000;

export const diagnosticsCalls = (place: () => Promise<TrainerPlace>) => ({
  /**
   * Self-test: solves small problems with known answers.
   * @throws LabError when the device is in use, LabError("cancelled") when the signal aborts
   */
  async selfTest(onCheck: (check: SelfCheck, total: number) => void, signal: AbortSignal): Promise<void> {
    const { lab } = await place();
    const total = countChecks();
    await lab.selfTest(async (device) => {
      const failed: string[] = [];
      for await (const check of selfTest(device, seconds)) {
        if (!passed(check)) failed.push(check.name);
        onCheck(check, total);
        if (signal.aborted) throw new LabError("cancelled", "The self-test was stopped");
      }
      return { checks: total, failed };
    });
  },
  /**
   * The GPU's memory in gigabytes, at most 24, found by allocating until it refuses.
   * @throws LabError when the device is in use, LabError("gpu") on a software adapter
   */
  async probeMemory(): Promise<number> {
    const { lab } = await place();
    return lab.whileIdle("card", () => findMemory(lab.device));
  },
  /**
   * Measures two steps of a run that is not stored; see measure-steps.ts.
   * @throws LabError("cancelled") when the signal aborts
   */
  async dryRun(
    settings: LabConfig,
    list: RowSelection,
    onPhase: (place: DryRunPlace) => void,
    signal: AbortSignal,
  ): Promise<DryRun> {
    const { lab } = await place();
    return dryRun(lab, { settings, list, onPhase, signal });
  },
});

export type DiagnosticsCalls = CallsOf<typeof diagnosticsCalls>;
