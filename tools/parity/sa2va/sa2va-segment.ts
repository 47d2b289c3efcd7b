/** Golden masks from the whole path: the language model's [SEG] states, teacher-forced and of the greedy answer. */
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { languageForward } from "../../../src/engine/model/language/language.ts";
import type { SamFeatures } from "../../../src/engine/model/sam2/hiera.ts";
import { decodeMasks, selectMask } from "../../../src/engine/model/sam2/mask-decoder.ts";
import { imageLogits } from "../../../src/engine/model/sam2/postprocess.ts";
import { languagePrompt } from "../../../src/engine/model/seg-prompt.ts";
import { compareArrays, missed, type Tolerance } from "../compare.ts";
import type { GoldenArrays } from "../golden-arrays.ts";
import { disposeLanguageGolden, openLanguageGolden } from "../golden-language.ts";
import type { GoldenModel } from "../golden-model.ts";
import { maskRow } from "../mask-row.ts";
import type { ParityRow } from "../row.ts";
import { type GoldenCase, segmentedCase } from "./sa2va-cases.ts";
import { embedCase, type LanguageGolden } from "./sa2va-llm-run.ts";

const LANGUAGE: Tolerance = { relative: 2e-4 };
const DECODER: Tolerance = { relative: 5e-4 };

/** Rows of `seg_hidden`, `generated.final_logits.*` and `generated.mask.*`. */
export async function* segmentRows(
  model: GoldenModel,
  golden: GoldenArrays,
  features: SamFeatures,
): AsyncGenerator<ParityRow> {
  const language = await openLanguageGolden(model);
  try {
    const example = segmentedCase(language.cases.cases);
    if (example === undefined) return;
    const hidden = hiddenAt(model, language, example, example.answerIds, example.segPositions);
    yield compareArrays("seg_hidden", "[SEG] states", await golden.read("seg_hidden"), await hidden.data(), LANGUAGE);
    hidden.dispose();
    yield* generatedRows(model, language, golden, example, features);
  } finally {
    disposeLanguageGolden(language);
  }
}

async function* generatedRows(
  model: GoldenModel,
  language: LanguageGolden,
  golden: GoldenArrays,
  example: GoldenCase,
  features: SamFeatures,
): AsyncGenerator<ParityRow> {
  const greedy = language.cases.greedy.find((item) => item.name === example.name);
  if (greedy === undefined) return;
  const first = example.promptIds.length;
  const seg = language.tokenizer.special.seg;
  // A [SEG] that ends the answer was never an input, so it has no state.
  const places = greedy.ids.flatMap((id, at) => (id === seg && at < greedy.ids.length - 1 ? [first + at] : []));
  const names = golden.names.filter((name) => name.startsWith("generated.final_logits."));
  if (names.length !== places.length) {
    yield missed("generated.final_logits", "masks", `${places.length} [SEG] instead of ${names.length}`);
    return;
  }
  if (places.length === 0) return;
  const masks = tf.tidy(() => {
    const hidden = hiddenAt(model, language, example, greedy.ids, places);
    const lang = languagePrompt(model.weights, hidden);
    const { masks: all, iou } = decodeMasks(model.weights, model.config.sam2, features, lang);
    return selectMask(all, iou).mask;
  });
  for (const [index, name] of names.entries()) {
    const [, height, width] = golden.shape(name) as [number, number, number];
    const [, rows, cols] = masks.shape as [number, number, number];
    const final = tf.tidy(() =>
      imageLogits(masks.slice([index, 0, 0], [1, rows, cols]), model.config.sam2.imageSize, height, width),
    );
    const logits = (await final.data()) as Float32Array;
    final.dispose();
    const expected = await golden.read(name);
    yield compareArrays(name, "logits of the greedy answer", expected, logits, DECODER);
    const mask = name.replace("final_logits", "mask");
    yield maskRow(mask, await golden.read(mask), expected, logits);
  }
  masks.dispose();
}

/** Normed hidden states [n, D] at positions of prompt + answer, without adapter. */
function hiddenAt(
  model: GoldenModel,
  language: LanguageGolden,
  example: GoldenCase,
  answer: readonly number[],
  places: readonly number[],
): Tensor {
  return tf.tidy(() => {
    const embedded = embedCase(language, model.weights, example, [...example.promptIds, ...answer]);
    const { hidden } = languageForward(model.weights, model.config.language, embedded);
    const width = hidden.shape[2] as number;
    return tf.concat(places.map((at) => hidden.slice([0, at, 0], [1, 1, width]).reshape([1, width])));
  });
}
