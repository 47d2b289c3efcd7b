/**
 * Golden set of a whole model, the language part: embeddings with visual tokens, rotated queries and keys, hidden states,
 * logits, answer log-probabilities with and without adapter, and greedy decoding. Visual tokens come from the golden
 * vision arrays, so that this part is checked alone.
 */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { languageForward, languageLogits } from "../../../src/engine/model/language/language.ts";
import type { Weights } from "../../../src/engine/model/weights/weights.ts";
import { prediction, stopRule } from "../../../src/engine/text/template.ts";
import { compareArrays, EXACT, missed, type Tolerance } from "../compare.ts";
import { type GoldenArrays, openArrays } from "../golden-arrays.ts";
import { disposeLanguageGolden, openLanguageGolden } from "../golden-language.ts";
import { type GoldenNumbers, openGoldenModel } from "../golden-model.ts";
import { Captured } from "../probes.ts";
import type { ParityRow } from "../row.ts";
import { type GoldenCase, type GoldenGreedy, segmentedCase } from "./sa2va-cases.ts";
import { answerLogProbs, decodeGreedy, embedCase, type LanguageGolden } from "./sa2va-llm-run.ts";
import { grpoRows } from "./sa2va-llm-train.ts";

const SAM2_FILE = "golden_sam2.safetensors";
const FORWARD: Tolerance = { relative: 2e-4 };
const VISION: Tolerance = { relative: 1e-4 };

/** One row per expected array of the language part, per greedy run, and for the group-relative update. */
export async function* sa2vaLlmParity(folder: ByteFolder, deps: GoldenNumbers = {}): AsyncGenerator<ParityRow> {
  const model = await openGoldenModel(folder, deps);
  const golden = await openLanguageGolden(model);
  const hasAdapter = Object.keys(golden.adapter).length > 0;
  try {
    for (const item of golden.cases.cases) {
      const path = `golden_llm_${item.name}.safetensors`;
      if (folder.get(path) === undefined) continue;
      const arrays = await openArrays(folder, path);
      yield* guarded(item.name, () => forwardRows(golden, item, arrays, golden.base, "base"));
      if (hasAdapter) yield* guarded(item.name, () => forwardRows(golden, item, arrays, golden.tuned, "lora"));
    }
    for (const greedy of golden.cases.greedy) yield* guarded(greedy.name, () => greedyRows(folder, golden, greedy));
    yield* guarded("train.grpo", () => grpoRows(folder, golden));
  } finally {
    disposeLanguageGolden(golden);
    model.dispose();
  }
}

/** Rows of one part; an error becomes a missed row, so that the other parts are still reported. */
async function* guarded(name: string, part: () => AsyncGenerator<ParityRow>): AsyncGenerator<ParityRow> {
  try {
    yield* part();
  } catch (thrown) {
    yield missed(name, "the whole part", (thrown as Error).message);
  }
}

/** Forward pass over prompt and answer. Without the adapter every array is compared; with it, the `lora.*` ones. */
async function* forwardRows(
  golden: LanguageGolden,
  item: GoldenCase,
  arrays: GoldenArrays,
  weights: Weights,
  form: "base" | "lora",
): AsyncGenerator<ParityRow> {
  const captured = new Captured();
  const { language } = golden.config;
  const [embedded, hidden, logits, logps] = tf.tidy(() => {
    const x = embedCase(golden, weights, item, [...item.promptIds, ...item.answerIds]);
    const probe = captured.probe;
    const out = languageForward(weights, language, x, { probe });
    const first = item.promptIds.length - 1;
    const rows = tf.slice(out.hidden, [0, first, 0], [1, item.answerIds.length + 1, language.hiddenSize]);
    const scores = languageLogits(weights, rows.reshape([-1, language.hiddenSize]));
    return [x, out.hidden, scores, answerLogProbs(scores, item.answerIds)];
  }) as [Tensor, Tensor, Tensor, Tensor];
  const compare = async (name: string, got: Tensor | Float32Array, tolerance = FORWARD): Promise<ParityRow> => {
    const values = got instanceof Float32Array ? got : await got.data();
    return compareArrays(item.name, name, await arrays.read(name), values, tolerance);
  };
  try {
    if (form === "base") {
      yield await compare("inputs_embeds", embedded, VISION);
      for (const name of arrays.names) {
        const layer = /^layer(\d+)\.[qk]_rope$/.exec(name);
        if (layer !== null) yield await compare(name, await captured.read(name, false));
        const index = /^base\.hidden\.(\d+)$/.exec(name)?.[1];
        if (index === undefined) continue;
        // The last one is stored after the final norm.
        const last = Number(index) === language.layers;
        yield await compare(name, last ? hidden : await captured.read(`hidden.${index}`, false));
      }
    } else if (arrays.has("lora.hidden.last")) yield await compare("lora.hidden.last", hidden);
    yield await compare(`${form}.logits`, logits);
    yield await compare(`${form}.answer_logprobs`, logps);
    const loss = form === "base" ? item.lossBase : item.lossLora;
    if (loss !== undefined) {
      const values = (await logps.data()) as Float32Array;
      const mean = -values.reduce((sum, value) => sum + value, 0) / values.length;
      yield compareArrays(item.name, `${form} cross-entropy`, [loss], [mean], FORWARD);
    }
  } finally {
    captured.dispose();
    tf.dispose([embedded, hidden, logits, logps]);
  }
}

/** Greedy decoding one token at a time through the cache, with its log-probabilities. */
async function* greedyRows(
  folder: ByteFolder,
  golden: LanguageGolden,
  greedy: GoldenGreedy,
): AsyncGenerator<ParityRow> {
  const name = `greedy ${greedy.name}`;
  const item = golden.cases.cases.find((candidate) => candidate.name === greedy.name);
  if (item === undefined) {
    yield missed(name, "ids", "there is no case of that name");
    return;
  }
  const stop = stopRule(golden.tokenizer, golden.config.template);
  const run = await decodeGreedy(golden, item, greedy.ids.length, stop.reached);
  yield compareArrays(name, "ids", greedy.ids, run.ids, EXACT);
  const text = prediction(golden.tokenizer, run.ids);
  yield text === greedy.prediction
    ? compareArrays(name, "text", [], [], EXACT)
    : missed(name, "text", `got ${JSON.stringify(text)} instead of ${JSON.stringify(greedy.prediction)}`);
  if (greedy.logprobs.length > 0) yield compareArrays(name, "logprobs", greedy.logprobs, run.logps, FORWARD);
  // The SAM2 file holds the step logits of the first case with a mask.
  const segmented = segmentedCase(golden.cases.cases);
  if (item !== segmented || folder.get(SAM2_FILE) === undefined) return;
  const sam = await openArrays(folder, SAM2_FILE);
  if (!sam.has("generated.step_logits")) return;
  const expected = await sam.read("generated.step_logits");
  yield compareArrays(name, "generated.step_logits", expected, run.logits, FORWARD);
}
