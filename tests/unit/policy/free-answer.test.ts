/** Questions answered freely: every [SEG] of an answer has its mask, in order, with the phrase before it. */

import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../../src/engine/model/sa2va.ts";
import { disposeFeatures, encodeImage } from "../../../src/engine/policy/features.ts";
import { questionPrompt } from "../../../src/engine/policy/prompts.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
import { phrasesBefore } from "../../../src/plugins/try-out/free-answer.ts";
import { loadDeps } from "../../../tools/parity/deps.ts";
import { openArrays } from "../../../tools/parity/golden-arrays.ts";
import type { ParityRow } from "../../../tools/parity/row.ts";
import { sa2vaAnswerParity } from "../../../tools/parity/sa2va/sa2va-answer.ts";
import { expectGoldenAnswers } from "../../support/free-answer.ts";
import { arePluggedIn } from "../../support/plugins.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

describe("an answer", () => {
  const pieces: readonly (readonly [string, number])[] = [
    ["internlm2", 2],
    ["phi3", 2],
  ];

  it.each<readonly [string, number]>([["variant", 2], ["qwen2", 1], ...(arePluggedIn("sentencepiece") ? pieces : [])])(
    "of sa2va-tiny-%s has the golden ids and masks",
    async (name, masks) => {
      const answers = await expectGoldenAnswers(`tests/golden/sa2va-tiny-${name}`);
      const found = answers.get("refseg")?.found ?? [];
      expect(found.length).toBe(masks);
      expect(answers.get("refseg")?.text.split("[SEG]").length).toBe(masks + 1);
      expect(answers.get("refseg")?.text).not.toMatch(/<\|/);
      for (const [case_, { ended, found: none }] of answers) {
        expect(ended, case_).toBe(true);
        if (case_ !== "refseg") expect(none).toEqual([]);
      }
    },
  );

  it("is compared with recorded masks of every [SEG] where a folder has them", async () => {
    const folder = await nodeFolder("tests/golden/sa2va-tiny-variant");
    const golden = await openArrays(folder, "golden_sam2.safetensors");
    const masks = await Promise.all([0, 1].map((at) => golden.read(`generated.mask.${at}`)));
    const shape = golden.shape("generated.mask.0");
    const rowsOf = async (values: readonly Float32Array[], names = ["mask"]) => {
      const arrays = names.flatMap((name) => values.map((data, at) => ({ name: `${name}.${at}`, shape, data })));
      const file = writeSafetensors(arrays);
      const extra = memoryFolder({ "real_refseg.safetensors": file });
      const paths = [...folder.paths, "real_refseg.safetensors"];
      const rows: ParityRow[] = [];
      const both = { paths, get: (path: string) => extra.get(path) ?? folder.get(path) };
      for await (const row of sa2vaAnswerParity(both, await loadDeps())) rows.push(row);
      return rows.map(({ case: name, pass }) => [name, pass]);
    };
    const [first, second] = masks as [Float32Array, Float32Array];
    const named = (...passes: boolean[]) => passes.map((pass, at) => [`refseg.mask.${at}`, pass]);
    expect(await rowsOf([first, second])).toEqual([["refseg", true], ...named(true, true)]);
    // Logits beside the masks are no further masks; alone they stand for them.
    for (const names of [["final_logits", "mask"], ["final_logits"]]) {
      expect(await rowsOf([first, second], names)).toEqual([["refseg", true], ...named(true, true)]);
    }
    expect(await rowsOf([first, second.map((value) => 1 - value)])).toEqual([["refseg", true], ...named(true, false)]);
    expect(await rowsOf([first])).toEqual([
      ["refseg", true],
      ["refseg", false],
    ]);
  });

  it("is asked for with the lines of the question, as the published code asks", async () => {
    const model = await openSa2va(await nodeFolder("tests/golden/sa2va-tiny-qwen2"), "tiny");
    const features = await encodeImage(model, { width: 20, height: 20, data: new Uint8Array(1200) }, 1);
    const question = "Which colour?\nA. red\n\nB.  blue";
    const { full } = questionPrompt(model, ` ${question}\n`, { features, regions: [] });
    expect(full).toContain(`</img>\n${question}<|im_end|>`);
    disposeFeatures(features);
    model.dispose();
  });

  it("names each mask by what stands before it", async () => {
    const tokenizer = await openTokenizer(await nodeFolder("tests/golden/sa2va-tiny-qwen2"));
    const { seg } = tokenizer.special;
    const phrases = (text: string) => {
      const ids = tokenizer.encode(text);
      return phrasesBefore(
        tokenizer,
        ids,
        ids.flatMap((id, at) => (id === seg ? [at] : [])),
      );
    };
    expect(phrases("Sure, the red car [SEG], and\nthe dog [SEG].")).toEqual(["Sure, the red car", "and the dog"]);
    expect(phrases("<p> a man </p> [SEG] next to <p>his</p> <p> dog </p> [SEG] [SEG]")).toEqual(["a man", "dog", ""]);
    expect(phrases("none")).toEqual([]);
  });
});
