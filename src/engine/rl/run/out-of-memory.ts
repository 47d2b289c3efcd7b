/**
 * Handles a step or evaluation for which the GPU refused memory: finds the cause, frees the buffers, and chooses
 * smaller settings to repeat it with.
 */
import { smallerSetting } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";
import { OutOfMemory } from "../../gpu/runtime/device.ts";
import { trimPool } from "../../gpu/runtime/pool.ts";
import { flushBackend } from "../../gpu/runtime/program.ts";
import { freeDecodeBuffers } from "../../policy/decode/decode-gpu.ts";
import { raiseAlarm } from "./alarms.ts";
import type { TrainerDeps } from "./trainer-deps.ts";

/** Thrown instead of an uncaptured error when a buffer is created with its contents. */
const NOT_MADE = /createBuffer/;

/**
 * The cause of a failure. The device reports a refused buffer after its creation, and calls that use the buffer fail in
 * other ways.
 * @returns the device's report if it ran out of memory, else what was thrown
 */
export async function causeOf(thrown: unknown, whyFull: TrainerDeps["whyFull"]): Promise<unknown> {
  if (thrown instanceof OutOfMemory || (thrown instanceof LabError && thrown.code === "cancelled")) return thrown;
  if (thrown instanceof RangeError && NOT_MADE.test(thrown.message)) {
    return new OutOfMemory("gpu", `The GPU ran out of memory: ${thrown.message}`);
  }
  return (await whyFull()) ?? thrown;
}

/**
 * Frees the buffers of undone work, because refused ones are invalid and may wait in a pool for reuse. Later errors of
 * the same work are dropped.
 */
export async function dropUndoneWork(checkDevice: () => Promise<void>): Promise<void> {
  flushBackend();
  freeDecodeBuffers();
  trimPool();
  await checkDevice().catch((late) => {
    if (!(late instanceof LabError)) throw late;
  });
}

/** The settings of a run, which this module makes smaller when memory runs out. */
export class MemorySettings {
  #config: LabConfig;
  #next: Partial<LabConfig> | undefined;

  constructor(config: LabConfig) {
    this.#config = config;
  }

  /** As stored with the run. */
  get config(): LabConfig {
    return this.#config;
  }

  /**
   * Chooses the settings of the next attempt.
   * @returns the question for the user before it, or nothing if the run may continue by itself
   * @throws LabError("gpu") if no smaller setting is left
   */
  choose(cause: OutOfMemory, step: number): LabError | undefined {
    const smaller = smallerSetting(this.#config);
    if (smaller === null) {
      throw new LabError("gpu", `Step ${step} was undone and no smaller setting is left. ${cause.message}`, { cause });
    }
    this.#next = smaller;
    if (this.#config.outOfMemory === "smaller") return undefined;
    const message =
      `The GPU ran out of memory in step ${step}, which was undone; the weights are kept. Continue repeats it with ` +
      `${textOf(smaller)}. With outOfMemory "smaller" a run does this automatically`;
    return new LabError("gpu", message, { subject: "outOfMemory" });
  }

  /**
   * Applies the chosen settings to the run and records them.
   * @param done steps done
   * @param step the step to repeat
   */
  async take({ run, emit }: Pick<TrainerDeps, "run" | "emit">, done: number, step: number): Promise<void> {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    this.#config = { ...this.#config, ...next };
    const entry = { afterStep: done, settings: Object.keys(next) };
    await run.update({ config: this.#config, smaller: [...(run.manifest().smaller ?? []), entry] });
    const message = `The GPU ran out of memory in step ${step}, which was undone and is repeated with ${textOf(next)}`;
    await raiseAlarm(run, emit, { id: "out-of-memory", step, severity: "warning", message });
  }
}

function textOf(values: Partial<LabConfig>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(" and ");
}
