/** A suite's scores of recorded rows. */
import { parseRle } from "../../../src/engine/data/mask/rle.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { suiteOf } from "../../../src/plugins/suites/all.ts";
import { type SuiteScores, suiteScores } from "../../../src/plugins/suites/run-suite.ts";
import type { AnsweredItem, SuiteItem, SuiteTools } from "../../../src/plugins/suites/suite.ts";
import { masks } from "./golden.ts";

const NO_TOOLS: SuiteTools = { meteor: () => 0 };

/** Scores of the suite of that name, of one system or two. */
export function scoresOf(
  name: string,
  systems: Parameters<typeof suiteScores>[1],
  tools: SuiteTools = NO_TOOLS,
): SuiteScores {
  const suite = suiteOf(name);
  if (suite === undefined) throw new LabError("internal", `There is no suite ${name}`);
  return suiteScores(suite, systems, tools);
}

/** Value of each metric of one system. */
export function suiteValues(
  name: string,
  base: readonly AnsweredItem[],
  tools?: SuiteTools,
): Readonly<Record<string, number | undefined>> {
  const { systems } = scoresOf(name, { base }, tools);
  return Object.fromEntries((systems.base ?? []).map(({ metric, value }) => [metric, value]));
}

/** A row of a suite that needs only masks. @param target null for a sentence that refers to nothing */
export function maskRow(imageId: string, target: unknown, predicted: unknown): AnsweredItem {
  const mask = target === null ? [] : [parseRle(target)];
  return { item: itemOf(imageId, { masks: mask }), answer: { masks: masks(predicted) ?? [] } };
}

/** An item of a picture; by default its id is the picture's. */
export function itemOf(imageId: string, given: Partial<SuiteItem> = {}): SuiteItem {
  return { id: imageId, imageId, size: [1, 1], text: "", masks: [], ...given };
}
