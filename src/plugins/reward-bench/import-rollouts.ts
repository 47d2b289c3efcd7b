/**
 * Reads rollouts of other programs, or of a stored run, as groups for the reward bench: our own Arrow files, or one
 * JSON object per line.
 */
import { isRecord, parseJson } from "../../engine/bytes/json.ts";
import { parseRle, type Rle } from "../../engine/data/mask/rle.ts";
import { badInput, dropUnseen, type LabError, quote, thrownText, toLabError } from "../../engine/errors.ts";
import { aboutLoop, isLoop, LOOP_IDS } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import { choosesMask } from "../../engine/runs/rollouts/rollout-facts.ts";
import { groupsFromArrow } from "../../engine/runs/rollouts/rollouts-arrow.ts";
import { type BenchGroup, type BenchRollout, factsOf, rolloutOf, UNSCORED } from "./bench-group.ts";

/** Groups of a file in either form. @throws LabError("bad-input") naming file, line and cause */
export async function importRollouts(bytes: Uint8Array, name: string): Promise<readonly BenchGroup[]> {
  const groups = isText(bytes)
    ? rolloutLines(new TextDecoder().decode(bytes), name)
    : (await groupsFromArrow(bytes, name)).map(fromRecord);
  if (groups.length > 0) return groups;
  throw badInput(`${name} contains no rollouts; the open groups are kept`, name);
}

/** Arrow streams start with a continuation marker, Arrow files with "ARROW1"; text starts with neither. */
function isText(bytes: Uint8Array): boolean {
  const marker = bytes[0] === 0xff && bytes[1] === 0xff;
  const magic = String.fromCharCode(...bytes.subarray(0, 6)) === "ARROW1";
  return !marker && !magic;
}

function fromRecord(group: GroupRecord): BenchGroup {
  const { step, loop, rowId, rollouts } = group;
  const key = `${step}-${loop}-${group.group}`;
  return {
    ...UNSCORED,
    ...{ key, batch: String(step), step, loop, group: group.group, rowId },
    imageId: rollouts[0]?.imageId ?? null,
    probabilities: actionSetProbabilities(group),
    rollouts: rollouts.map((rollout, index) =>
      rolloutOf(factsOf(loop, rollout), { ...rollout, id: `${key}-${index}` }),
    ),
  };
}

/**
 * Probabilities under the sampling weights, if the rollouts are the candidates or proposals of one decoding, each once;
 * null for independent samples. The run weighted mean, deviation and advantages with them.
 */
function actionSetProbabilities({ loop, rollouts }: GroupRecord): readonly number[] | null {
  const chosen = rollouts.flatMap((rollout) => (choosesMask(rollout) ? rollout.actions : []));
  const whole = chosen.length === rollouts.length && new Set(chosen.map(({ id }) => id)).size === chosen.length;
  return aboutLoop(loop).samples === "mask" && whole ? chosen.map(({ samplingLogp }) => Math.exp(samplingLogp)) : null;
}

/**
 * Lines such as {"row": "cars#3", "loop": 1, "caption": "a red car", "reference": "the car", "given": {"size", "counts"},
 * "predicted": {…}, "confidence": 0.8, "group": "a"}. Only caption or predicted is needed; the names of our own columns
 * (row_id, reference_caption, given_mask, predicted_mask, caption_prime) serve as well. Lines of one row, loop and group
 * make a group, in order.
 */
function rolloutLines(text: string, name: string): readonly BenchGroup[] {
  const groups = new Map<string, BenchGroup & { readonly rollouts: BenchRollout[] }>();
  for (const [at, line] of text
    .replace(/^\ufeff/u, "")
    .split(/\r?\n/u)
    .entries()) {
    if (line.trim() === "") continue;
    const fail = (cause: string): LabError =>
      badInput(`${name}, line ${at + 1}: ${cause}; nothing was taken from it`, name);
    const record = parsed(line, fail);
    const loop = record.loop ?? 1;
    if (!isLoop(loop)) throw fail(`loop is ${quote(loop)}, none of ${LOOP_IDS.join(", ")}`);
    const rowId = identity(record, ["row", "row_id"]) ?? `line ${at + 1}`;
    const group = identity(record, ["group"]) ?? "";
    const step = identity(record, ["step"]) ?? "";
    const key = JSON.stringify([rowId, loop, step, group]);
    const imageId = pictureName(record);
    const place = { ...UNSCORED, key, batch: step, step: 0, loop, group: 0, rowId, imageId, probabilities: null };
    const own = groups.get(key) ?? { ...place, rollouts: [] };
    groups.set(key, own);
    const facts = {
      loop,
      reference: textOf(record, ["reference", "reference_caption"], fail),
      caption: textOf(record, aboutLoop(loop).text === "caption" ? ["caption"] : ["caption_prime", "caption"], fail),
      given: mask(record, ["given", "given_mask"], fail),
      predicted: mask(record, ["predicted", "predicted_mask", "mask"], fail),
      confidence: share(record.confidence, fail),
      truncated: record.truncated === true,
    } as const;
    if (facts.caption === null && facts.predicted === null)
      throw fail("there is neither a caption nor a predicted mask");
    const { given, predicted } = facts;
    if (given !== null && predicted !== null && String(given.size) !== String(predicted.size)) {
      throw fail(`the masks have sizes ${given.size.join(" x ")} and ${predicted.size.join(" x ")}`);
    }
    const completion = textOf(record, ["completion"], fail) ?? "";
    const index = own.rollouts.length;
    own.rollouts.push(rolloutOf(facts, { id: `${key}-${index}`, index, rowId, imageId: imageId ?? "", completion }));
  }
  return [...groups.values()];
}

type Fail = (cause: string) => LabError;
type Fields = Readonly<Record<string, unknown>>;

function parsed(line: string, fail: Fail): Fields {
  let value: unknown;
  try {
    value = parseJson(line, "it");
  } catch (thrown) {
    throw fail(thrownText(thrown));
  }
  if (isRecord(value)) return value;
  throw fail("it is not a JSON object");
}

function identity(record: Fields, names: readonly string[]): string | null {
  const value = names.map((name) => record[name]).find((found) => found !== undefined && found !== null);
  return typeof value === "string" || typeof value === "number" ? String(value) : null;
}

/** The picture's name in our own exports; numbers from other programs do not match open rows. */
function pictureName(record: Fields): string | null {
  const name = identity(record, ["image_id"]);
  return name !== null && /^[0-9a-f]{16}$/.test(name) ? name : null;
}

function textOf(record: Fields, names: readonly string[], fail: Fail): string | null {
  const name = names.find((candidate) => record[candidate] !== undefined && record[candidate] !== null);
  if (name === undefined) return null;
  const value = record[name];
  if (typeof value === "string") return dropUnseen(value);
  throw fail(`${name} is not a text`);
}

function mask(record: Fields, names: readonly string[], fail: Fail): Rle | null {
  const name = names.find((candidate) => record[candidate] !== undefined && record[candidate] !== null);
  if (name === undefined) return null;
  try {
    return parseRle(record[name]);
  } catch (thrown) {
    throw fail(`${name}: ${toLabError(thrown).message}`);
  }
}

function share(value: unknown, fail: Fail): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw fail("confidence is not a number from 0 to 1");
}
