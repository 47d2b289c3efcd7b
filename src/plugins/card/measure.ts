/**
 * All measurements of a card that need no peer to compare with, the most important first. System → Tools runs the
 * whole list; `npm run card-battery` runs it in calls of limited length and adds comparisons with peers.
 */
import { LabError } from "../../engine/errors.ts";
import type { EngineDevice } from "../../engine/gpu/runtime/device.ts";
import { lengthProblems, longProblems, type Problem, problems } from "../diagnostics/checks.ts";
import { passed } from "../diagnostics/self-check.ts";
import { selfTest } from "../diagnostics/self-test.ts";
import { CARD_STAGES, type CardFacts, type CardLine, type CardSizes, type CardStage } from "./card-line.ts";
import { DECODED_ROWS, decodeRates } from "./decode-rates.ts";
import { countRates, roofline } from "./roofline.ts";
import { sweepRates, trueSweep } from "./sweep.ts";

interface CardWork {
  readonly device: EngineDevice;
  readonly sizes: CardSizes;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Names of cases to leave out because they were measured before. */
  readonly known?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
}

type Lines = AsyncGenerator<CardFacts>;

const RUNS: Readonly<Record<CardStage, (work: CardWork) => Lines>> = {
  async *adapter({ device }) {
    yield { ...device.report };
  },
  "self-test": (work) => checked(work, [...problems(), ...lengthProblems()]),
  long: (work) => checked(work, longProblems()),
  rates: ({ device, now, sizes }) => roofline(device, now, sizes),
  decoding: ({ now, sizes, signal }) => decodeRates(now, sizes, signal),
  tuning: ({ device, now, known, signal }) => sweepRates(device, now, trueSweep(), { known, signal }),
};

async function* checked({ device, now, known }: CardWork, all: readonly Problem[]): Lines {
  const rest = all.filter(({ name }) => known?.has(name) !== true);
  for await (const check of selfTest(device, () => now() / 1000, rest)) {
    yield { case: check.name, passed: passed(check), ...check };
  }
}

/**
 * Lines of one stage, each as soon as it is known.
 * @throws LabError of the device or of the stage
 */
export async function* cardStage(stage: CardStage, work: CardWork): AsyncGenerator<CardLine> {
  for await (const line of RUNS[stage](work)) yield { stage, ...line };
}

/** The stages of a report at these sizes. The checks of the self-test and the tuner's sweep have only one size. */
function stagesOf(sizes: CardSizes): readonly CardStage[] {
  return sizes === "1B" ? CARD_STAGES : (["adapter", "rates", "decoding"] as const);
}

/** Number of lines of a report if nothing fails. */
export function countCardLines(sizes: CardSizes): number {
  const stages = stagesOf(sizes);
  const checks = stages.includes("long") ? problems().length + lengthProblems().length + longProblems().length + 2 : 0;
  const forms = stages.includes("tuning") ? trueSweep().length : 0;
  return 1 + checks + countRates() + DECODED_ROWS.length + forms;
}

/**
 * The whole report. A failed stage is reported and does not stop the others.
 * @throws LabError("cancelled") when the signal aborts
 */
export async function* measureCard(work: CardWork): AsyncGenerator<CardLine> {
  for (const stage of stagesOf(work.sizes)) {
    try {
      for await (const line of cardStage(stage, work)) {
        yield line;
        if (work.signal?.aborted === true) throw new LabError("cancelled", "The measurement was stopped");
      }
    } catch (thrown) {
      if (thrown instanceof LabError && thrown.code === "cancelled") throw thrown;
      yield { stage, failed: thrown instanceof Error ? thrown.message : String(thrown) };
    }
  }
}
