/**
 * Free answers of the shipped path, from picture and text to ids and masks, compared with those of the published code:
 * `real_<case>.safetensors` holds the masks of every [SEG] of that case, in the order of their names.
 */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import type { Tensor } from "../../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { type Weights, weightsView } from "../../../src/engine/model/weights/weights.ts";
import { disposeFeatures, encodeImage, type ImageFeatures } from "../../../src/engine/policy/features.ts";
import { regionCells } from "../../../src/engine/policy/prompts.ts";
import { buildPrompt } from "../../../src/engine/text/prompt.ts";
import { answerFreely, type FreeAnswer } from "../../../src/plugins/try-out/free-answer.ts";
import { compareArrays, EXACT, missed } from "../compare.ts";
import { type GoldenArrays, openArrays } from "../golden-arrays.ts";
import { fileBytes, jsonFile, type ParityDeps } from "../golden-model.ts";
import type { ParityRow } from "../row.ts";
import { type GoldenCases, readCases } from "./sa2va-cases.ts";

const REAL = /^real_(.+)\.safetensors$/;
/** Share of pixels that may differ: those whose logit is within rounding of 0. */
const PIXELS = 1e-3;
/** Maximum new tokens if no recorded answer sets it. */
const MOST_TOKENS = 128;

/** One row per mask and one for the ids of each recorded case; none without such files. */
export async function* sa2vaAnswerParity(folder: ByteFolder, deps: ParityDeps): AsyncGenerator<ParityRow> {
  const recorded = folder.paths.flatMap((path) => REAL.exec(path)?.[1] ?? []);
  if (recorded.length === 0) return;
  const answering = await openAnswering(folder, deps);
  try {
    for (const name of recorded) {
      const arrays = await openArrays(folder, `real_${name}.safetensors`);
      const masks = maskNames(arrays, answering.rgb);
      if (masks.length === 0) continue;
      const answer = await answering.answer(name);
      if (answer === undefined) {
        yield missed(name, "free answer", "cases.json has no such case");
        continue;
      }
      const greedy = answering.cases.greedy.find((item) => item.name === name);
      if (greedy !== undefined) yield compareArrays(name, "ids of the free answer", greedy.ids, answer.ids, EXACT);
      yield* maskRows(name, arrays, masks, answer);
    }
  } finally {
    answering.dispose();
  }
}

/** A golden folder's model with its picture. */
export interface Answering {
  readonly model: Sa2vaModel;
  readonly cases: GoldenCases;
  readonly rgb: RgbImage;
  /** The answer to a case's text; undefined when there is no such case. */
  answer(name: string): Promise<FreeAnswer | undefined>;
  dispose(): void;
}

/** @throws LabError naming the file that is missing or wrong */
export async function openAnswering(folder: ByteFolder, deps: ParityDeps): Promise<Answering> {
  const [cases, json] = [await readCases(folder), await jsonFile(folder, "cases.json")];
  const rgb = await deps.decodeImage(await fileBytes(folder, String(json.image)));
  const model = await openSa2va(folder, "golden", { choice: deps.storage });
  const weights: Weights = weightsView(model.frozen, Object.fromEntries<Tensor>(model.base), 0, deps.arithmetic);
  const features: ImageFeatures = await encodeImage(model, rgb, model.tiling.maxTiles);
  const marked = (Array.isArray(json.regions) ? json.regions : []) as Rle[];
  const { height, width } = rgb;
  return {
    model,
    cases,
    rgb,
    async answer(name) {
      const item = cases.cases.find((one) => one.name === name);
      if (item === undefined) return undefined;
      const regions = item.regionTokens.map((_, at) =>
        regionCells(model, decodeRle(marked[at] as Rle), height, width, false),
      );
      const prompt = buildPrompt(model.tokenizer, model.config, {
        text: item.text,
        tiles: features.tiles,
        regionTokenCounts: item.regionTokens,
      });
      const maxCompletionLength = cases.greedy.find((one) => one.name === name)?.ids.length ?? MOST_TOKENS;
      const { signal } = new AbortController();
      return await answerFreely(
        model,
        weights,
        prompt,
        { features, regions, height, width },
        { maxCompletionLength, signal },
      );
    },
    dispose() {
      disposeFeatures(features);
      model.dispose();
    },
  };
}

/**
 * Arrays of the picture's size, or lists of them, by their names with numbers in order. A folder may record the logits of
 * the same masks beside them.
 */
function maskNames(arrays: GoldenArrays, { height, width }: RgbImage): string[] {
  const sized = arrays.names
    .filter((name) => {
      const shape = arrays.shape(name);
      return shape.length >= 2 && shape.at(-1) === width && shape.at(-2) === height;
    })
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const masks = sized.filter((name) => !/logits/i.test(name));
  return masks.length > 0 ? masks : sized;
}

async function* maskRows(
  name: string,
  arrays: GoldenArrays,
  names: readonly string[],
  answer: FreeAnswer,
): AsyncGenerator<ParityRow> {
  const pixels = answer.found[0]?.mask.length ?? 0;
  const expected: Uint8Array[] = [];
  for (const array of names) {
    const values = await arrays.read(array);
    for (let from = 0; pixels > 0 && from < values.length; from += pixels) {
      expected.push(Uint8Array.from(values.subarray(from, from + pixels), (value) => Number(value > 0)));
    }
  }
  if (expected.length !== answer.found.length || pixels === 0) {
    yield missed(name, "masks of the free answer", `${answer.found.length} [SEG] instead of ${expected.length} masks`);
    return;
  }
  for (const [at, { mask }] of answer.found.entries()) {
    const different = mask.reduce((sum, pixel, place) => sum + Number(pixel !== expected[at]?.[place]), 0) / pixels;
    yield {
      case: `${name}.mask.${at}`,
      what: "pixels of a free answer's mask that differ",
      maxAbs: different,
      maxRel: different,
      tolerance: `${PIXELS} of the pixels`,
      pass: different <= PIXELS,
    };
  }
}
