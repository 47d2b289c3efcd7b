/** Golden folders of the `grpo` form: every JSON file is dispatched by its `schema`. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { missed } from "../compare.ts";
import { type CaseReport, goldenFiles, type Json, record, records, runCase, text } from "../golden-json.ts";
import type { ParityRow } from "../row.ts";
import { checkAdaptiveEntropyCase, checkAdvantagesCase, checkMaskingCase, checkSamplerCase } from "./grpo-cpu.ts";
import { checkFrameworkCase, checkKlClamping, checkNotesCase } from "./grpo-frameworks.ts";
import { caseName, checkLossCase } from "./grpo-loss.ts";
import { checkMaskActionCase } from "./grpo-masks.ts";

type CheckCase = (item: Json, report: CaseReport, file: Json) => Promise<void> | void;

const CHECKS: Readonly<Record<string, CheckCase>> = {
  "grpo-loss": checkLossCase,
  "grpo-advantages": checkAdvantagesCase,
  "grpo-design-notes-formula": checkNotesCase,
  "grpo-other-frameworks": checkFrameworkCase,
  "grpo-masking": checkMaskingCase,
  "grpo-sampler": checkSamplerCase,
  "grpo-adaptive-entropy": checkAdaptiveEntropyCase,
  "grpo-mask-actions": checkMaskActionCase,
};

/**
 * Runs every case of every JSON file of the folder through the training code on the current tf backend. Rows carry
 * `<file> <case>`; a file of an unknown schema is a missed row.
 */
export async function* grpoParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  for (const [path, json] of await goldenFiles(folder)) {
    const check = checkOf(json);
    if (check === undefined) {
      yield missed(path, "recognise the file", `unknown schema "${text(json, "schema")}"`);
      continue;
    }
    if ("kl_clamping" in json)
      yield* await runCase(`${path} kl_clamping`, (report) => checkKlClamping(record(json, "kl_clamping"), report));
    for (const [index, item] of records(json, "cases").entries())
      yield* await runCase(caseName(path, item, index), (report) => check(item, report, json));
  }
}

function checkOf(json: Json): CheckCase | undefined {
  return CHECKS[text(json, "schema").split("/")[0] ?? ""];
}
