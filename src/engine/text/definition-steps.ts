/** Checks the steps of a tokenizer.json before the library runs them. */
import { isRecord } from "../bytes/json.ts";
import { badInput, type LabError, quote } from "../errors.ts";
import { patternProblem } from "./pattern-checks.ts";

/** Maximum steps of a definition, and maximum factor by which all of them together may lengthen a text. */
const STEPS = 64;
const GROWTH = 1000;

type Step = Readonly<Record<string, unknown>>;

/** Steps in order, including those of nested sequences. */
function steps(part: unknown, depth = 0): readonly Step[] {
  if (!isRecord(part)) return [];
  const inner = part.normalizers ?? part.pretokenizers ?? part.decoders;
  if (!Array.isArray(inner)) return [part];
  return depth > STEPS ? [] : inner.flatMap((step) => steps(step, depth + 1));
}

/** A byte becomes at most two bytes of UTF-8; a replacement may apply to every character. */
function factor(step: Step): number {
  if (step.type === "ByteLevel") return 4;
  return typeof step.content === "string" ? Math.max(1, step.content.length) : 1;
}

/** Whether the library can apply a step's pattern; otherwise it would skip the step. */
function hasPattern({ type, pattern }: Step): boolean {
  if (type !== "Replace" && type !== "Split") return true;
  return isRecord(pattern) && typeof (pattern.Regex ?? pattern.String) === "string";
}

/**
 * @throws LabError when a step lacks the pattern it needs, or the steps are too many or would lengthen a text too much
 */
export function checkSteps(definition: Step): void {
  const bad = (cause: string): LabError => badInput(`tokenizer.json ${cause}; it is not loaded`, "tokenizer.json");
  const all = [...steps(definition.normalizer), ...steps(definition.pre_tokenizer)];
  if (all.length > STEPS) throw bad(`has ${all.length} steps`);
  if (all.reduce((product, step) => product * factor(step), 1) > GROWTH) {
    throw bad("may make a text more than a thousand times longer");
  }
  const every = [...all, ...steps(definition.decoder)];
  const without = every.find((step) => !hasPattern(step));
  if (without !== undefined) throw bad(`has a step ${String(without.type)} without a Regex or String to look for`);
  for (const { type, pattern } of every) {
    const regex = isRecord(pattern) && typeof pattern.Regex === "string" ? pattern.Regex : undefined;
    const problem = regex === undefined ? undefined : patternProblem(regex);
    if (problem === undefined) continue;
    throw bad(`has a step ${String(type)} whose pattern ${quote(regex)} ${problem}, so a text could take it hours`);
  }
}
