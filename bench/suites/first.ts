/**
 * The first step on a fresh device, compiling included, from opening the device to the step's result. Every participant
 * needs a fresh process (or browser), because programs compiled for one baseline would be available to the next.
 */

import { type EngineDevice, openAgain } from "../../src/engine/gpu/runtime/device.ts";
import { openJax } from "../baselines/jax.ts";
import { switchBaseline } from "../baselines/tensors.ts";
import { DECODER, openDecoder } from "../cases/decoder.ts";
import type { Pocket } from "../pocket.ts";
import type { Baseline } from "../row.ts";
import type { Clock } from "../turns.ts";
import { runSteps } from "./grpo.ts";

export interface FirstTask {
  readonly what: "decoder" | "grpo";
  readonly who: Exclude<Baseline, "ort">;
  /** The tool measures processor time for the page. */
  readonly processorTime: boolean;
}

export const FIRST_CASES: Readonly<Record<FirstTask["what"], string>> = {
  decoder: `first step, compiling included: ${DECODER}`,
  grpo: "first GRPO step, compiling and loading included",
};

export interface FirstPlace {
  readonly open: () => Promise<EngineDevice>;
  readonly openPocket: () => Promise<Pocket>;
  readonly clock: Clock;
}

/** Milliseconds. */
export async function firstStep({ what, who }: FirstTask, { open, openPocket, clock }: FirstPlace): Promise<number> {
  const pocket = what === "grpo" ? await openPocket() : undefined;
  const start = await clock();
  const device = await open();
  try {
    if (pocket === undefined) {
      const opened = await openDecoder(who === "jaxjs" ? await openJax() : undefined);
      await opened.baselines[who]?.(1);
    } else {
      switchBaseline(who !== "stock");
      await runSteps({ device, reopen: () => openAgain(open), pocket, steps: 1, onStep: () => true });
    }
    device.check();
    return (await clock()) - start;
  } finally {
    device.close();
  }
}
