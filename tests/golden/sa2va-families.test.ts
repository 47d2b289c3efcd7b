/** The language families other than Qwen2: every stage against the stored golden sets. */
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { toPeftName } from "../../src/engine/formats/peft-names.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { loraShapes } from "../../src/engine/model/adapter/lora.ts";
import { trainableSet } from "../../src/engine/model/adapter/trainable.ts";
import { languageLinears } from "../../src/engine/model/language/language-families.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { loadDeps } from "../../tools/parity/deps.ts";
import { findGoldenSets } from "../../tools/parity/kinds.ts";
import { testWith } from "../support/plugins.ts";

const GOLDEN = fileURLToPath(new URL(".", import.meta.url));

beforeAll(async () => {
  await tf.setBackend("cpu");
});

describe.each([
  ["sa2va-tiny-internlm2", 329, 5, "base_model.model.model.layers.0.attention.wqkv.lora_A.weight"],
  ["sa2va-tiny-phi3", 321, 4, "base_model.model.model.layers.0.self_attn.qkv_proj.lora_A.weight"],
] as const)("%s", (name, count, linears, first) => {
  testWith("sentencepiece")(
    "equals the independent implementation at every stage and leaves no tensor behind",
    async () => {
      const before = tf.memory().numTensors;
      const rows = [];
      const deps = await loadDeps();
      for (const set of await findGoldenSets(GOLDEN + name)) {
        for (const check of set.kind.modules)
          for await (const row of await check.open(set.folder, deps)) rows.push(row);
      }
      expect(rows.filter((row) => !row.pass)).toEqual([]);
      expect(rows.length).toBe(count);
      expect(
        rows.filter((row) => row.case.startsWith("grad.lora.") || row.case.startsWith("greedy")).length,
      ).toBeGreaterThan(8);
      expect(tf.memory().numTensors).toBe(before);
    },
  );

  test("has an adapter under PEFT's names on every linear layer of a block", async () => {
    const { config, tensorNames } = await openCheckpoint(await nodeFolder(GOLDEN + name));
    expect(languageLinears(config.language).length).toBe(linears * config.language.layers);
    expect(toPeftName(loraShapes(config.language, 2)[0]?.name as string)).toBe(first);
    const set = trainableSet(config, tensorNames, { loraR: 2, blocks: ["lora"] });
    expect(set.length).toBe(2 * linears * config.language.layers);
  });
});
