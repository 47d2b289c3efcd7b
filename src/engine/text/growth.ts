/** Bounds how much the steps of a tokenizer.json may lengthen a text, before the library runs them. */
import { isRecord } from "../bytes/json.ts";
import { LabError } from "../errors.ts";

/** Maximum steps of a definition, and maximum factor by which all of them together may lengthen a text. */
const STEPS = 64;
const GROWTH = 1000;

/** Normalizers and pre-tokenizers in order, including those of nested sequences. */
function steps(part: unknown, depth = 0): readonly Record<string, unknown>[] {
  if (!isRecord(part)) return [];
  const inner = part.normalizers ?? part.pretokenizers;
  if (!Array.isArray(inner)) return [part];
  return depth > STEPS ? [] : inner.flatMap((step) => steps(step, depth + 1));
}

/** A byte becomes at most two of UTF-8; a replacement may apply to every character. */
function factor(step: Readonly<Record<string, unknown>>): number {
  if (step.type === "ByteLevel") return 4;
  return typeof step.content === "string" ? Math.max(1, step.content.length) : 1;
}

/** @throws LabError when the steps are too many, or would lengthen a text too much */
export function checkGrowth(definition: Readonly<Record<string, unknown>>): void {
  const all = [...steps(definition.normalizer), ...steps(definition.pre_tokenizer)];
  const growth = all.reduce((product, step) => product * factor(step), 1);
  if (all.length <= STEPS && growth <= GROWTH) return;
  const cause = all.length > STEPS ? `has ${all.length} steps` : "may lengthen a text more than a thousand times";
  throw new LabError("bad-input", `tokenizer.json ${cause}, so it is not loaded`, { subject: "tokenizer.json" });
}
