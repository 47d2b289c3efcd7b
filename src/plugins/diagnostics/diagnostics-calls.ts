/** The self-test on the trainer's device. */
import { LabError } from "../../engine/errors.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
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
});

export type DiagnosticsCalls = CallsOf<typeof diagnosticsCalls>;
