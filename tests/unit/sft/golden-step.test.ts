import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { decodeRle } from "../../../src/engine/data/mask/rle.ts";
import { inPace } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { nearestMask } from "../../../src/engine/model/preprocess/region-grid.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import { encodeSam, type SamFeatures } from "../../../src/engine/model/sam2/hiera.ts";
import { contextRuns } from "../../../src/engine/text/prompt.ts";
import type { SftBatch } from "../../../src/plugins/supervised/batch.ts";
import { SFT_DEFAULTS, type SftLoss, sftLoss } from "../../../src/plugins/supervised/forward.ts";
import { disposeLanguageGolden, openLanguageGolden } from "../../../tools/parity/golden-language.ts";
import { type GoldenModel, openGoldenModel } from "../../../tools/parity/golden-model.ts";
import type { GoldenCase } from "../../../tools/parity/sa2va/sa2va-cases.ts";
import type { LanguageGolden } from "../../../tools/parity/sa2va/sa2va-llm-run.ts";
import { goldenRegions } from "../../../tools/parity/sa2va/sa2va-preprocess.ts";
import { POCKET_LOSS, type PocketSettings, pocketLoss } from "../../../tools/pocket/loss.ts";

let model: GoldenModel;
let language: LanguageGolden;
let sam: SamFeatures;
let example: GoldenCase;

beforeAll(async () => {
  await tf.setBackend("cpu");
  model = await openGoldenModel(await nodeFolder("tests/golden/sa2va-tiny-qwen2"));
  language = await openLanguageGolden(model);
  const size = model.config.sam2.imageSize;
  const stored = await model.arrays("golden_preprocess.safetensors");
  const bytes = Uint8Array.from(await stored.read("sam_u8"));
  const pixels = tf.tensor(normalisePixels(bytes), [1, size, size, 3]);
  sam = await inPace(encodeSam(model.weights, model.config.sam2, pixels));
  pixels.dispose();
  example = language.cases.cases.find((item) => item.segPositions.length > 0) as GoldenCase;
});

afterAll(() => {
  tf.dispose([sam.f16, sam.f8, sam.f4]);
  disposeLanguageGolden(language);
  model.dispose();
});

/** One row per [SEG] of the golden answer, each running up to its [SEG]; its tokens are the labels of the caption rows. */
function goldenBatch(): SftBatch {
  const ids = [...example.promptIds, ...example.answerIds];
  const [imageSpan] = contextRuns(ids, language.tokenizer.special.imageContext);
  if (imageSpan === undefined) throw new Error("the case has no picture");
  const end = imageSpan.end + 1;
  const rest = ids.slice(end, -1);
  const rows = example.segPositions.map((at) => ids.slice(end, at + 1));
  const length = Math.max(...rows.map((row) => row.length));
  const each = <T>(value: T): T[] => rows.map(() => value);
  const maskSide = model.config.sam2.imageSize / 4;
  return {
    images: 1,
    cut: 0,
    regions: rows.length,
    frames: 1,
    prefix: ids.slice(0, end),
    spans: [imageSpan],
    caption: {
      from: end,
      length: rest.length,
      ids: each(rest),
      copies: each(rest.map(() => -1)),
      labels: each(ids.slice(end + 1)),
      labelled: each(rest.map((_, at) => Number(at + end + 1 >= example.promptIds.length))),
    },
    segment: {
      length,
      ids: rows.map((row) => [...row, ...new Array<number>(length - row.length).fill(0)]),
      segAt: rows.map((row) => row.length - 1),
    },
    maskSide,
    masks: goldenRegions(model)
      .slice(0, rows.length)
      .map((rle) => Float32Array.from(nearestMask(decodeRle(rle), ...rle.size, maskSide, maskSide))),
  };
}

const features = () => ({ vision: language.shuffled, sam });
const published = () => sftLoss(model, language.tuned, features(), goldenBatch(), SFT_DEFAULTS);

/** The loss of the pocket model's builder, without the terms that need targets of cells. */
function built(settings: Partial<PocketSettings>): SftLoss {
  const batch = { ...goldenBatch(), naming: null, cells: [], samCells: [] };
  return pocketLoss(model, language.tuned, features(), batch, { ...POCKET_LOSS, pointingWeight: 0, ...settings });
}

/** Loss and parts. */
async function numbersOf(result: SftLoss): Promise<number[]> {
  const numbers = Array.from(await result.parts.data());
  const [loss] = await result.loss.data();
  tf.dispose([result.loss, result.parts] as Tensor[]);
  return [loss as number, ...numbers];
}

describe("supervised loss on the golden training case", () => {
  it("has the golden cross-entropy and Dice of the selected masks, and the mean of the golden log-probs", async () => {
    const before = tf.memory().numTensors;
    const golden = (language.cases.train as { seg: { bce: number; dice: number } }).seg;
    const logps = await (await model.arrays("golden_train_seg.safetensors")).read("answer_logprobs");
    const token = -logps.reduce((sum, value) => sum + value, 0) / logps.length;
    const [loss, got, bce, dice] = await numbersOf(published());
    expect(got).toBeCloseTo(token, 3);
    expect(bce).toBeCloseTo(golden.bce, 4);
    expect(dice).toBeCloseTo(golden.dice, 4);
    expect(loss).toBeCloseTo(token + 2 * golden.bce + 0.5 * golden.dice, 3);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("gives the table's product the same numbers as the gather", async () => {
    const gathered = await numbersOf(built({ trainEmbedding: false }));
    const multiplied = await numbersOf(built({ trainEmbedding: true }));
    gathered.forEach((value, at) => {
      expect(multiplied[at]).toBeCloseTo(value, 4);
    });
  });

  it("is no worse for the best candidate than for the selected one", async () => {
    const best = await numbersOf(built({ candidateShare: 0 }));
    const mask = (numbers: number[]): number => 2 * (numbers[2] as number) + 0.5 * (numbers[3] as number);
    expect(mask(best)).toBeLessThanOrEqual(mask(await numbersOf(published())) + 1e-5);
  });
});
