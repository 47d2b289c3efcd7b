/** Adapters of every language family as PEFT spells them: names, targets, and the way back. */
import { expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { adapterFiles } from "../../../src/engine/export/adapter.ts";
import { openSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { initLora, readAdapter } from "../../../src/engine/model/adapter/lora.ts";
import { languageLinears } from "../../../src/engine/model/language/language-families.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import type { TrainedTensors } from "../../../src/engine/runs/checkpoint/trained.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";
import { manifest } from "../runs/sample-run.ts";

const BLOCK: Readonly<Record<string, readonly string[]>> = {
  qwen2: [
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
  ],
  internlm2: ["attention.wqkv", "attention.wo", "feed_forward.w1", "feed_forward.w2", "feed_forward.w3"],
  phi3: ["self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj"],
};

test.each(Object.keys(BLOCK))(
  "an adapter of %s has PEFT's names on its own layers and comes back as it was",
  async (family) => {
    const { config } = await openCheckpoint(await nodeFolder(`tests/golden/sa2va-tiny-${family}`));
    const { language } = config;
    const factors = [...initLora(language, 3, (tensor, at) => ((tensor * 131 + at * 29) % 997) / 997)];
    const layers = BLOCK[family] as readonly string[];
    const targets = languageLinears(language).map(({ path }) => path.slice(path.lastIndexOf(".") + 1));
    const trained: TrainedTensors = {
      step: 1,
      side: "policy",
      lora: { r: 3, alpha: 5, targets },
      tensors: inMemory(new Map(factors.map(({ name, shape, values }) => [name, { shape, data: values }]))),
    };
    const files = await collectFiles(adapterFiles(manifest(), trained));
    const folder = memoryFolder(files);
    const source = folder.get("adapter_model.safetensors");
    const file = await openSafetensors(source as NonNullable<typeof source>);
    const expected = Array.from({ length: language.layers }, (_, layer) =>
      layers.flatMap((path) =>
        ["A", "B"].map((side) => `base_model.model.model.layers.${layer}.${path}.lora_${side}.weight`),
      ),
    ).flat();
    expect([...file.names].sort()).toEqual(expected.sort());
    const described = JSON.parse(new TextDecoder().decode(files["adapter_config.json"])) as Record<string, unknown>;
    // PEFT 0.11 fails on any field it does not know.
    expect(described).toEqual({
      peft_type: "LORA",
      task_type: "CAUSAL_LM",
      base_model_name_or_path: "pocket",
      bias: "none",
      lora_dropout: 0,
      r: 3,
      lora_alpha: 5,
      target_modules: layers.map((path) => path.slice(path.lastIndexOf(".") + 1)).sort(),
    });
    const back = await readAdapter(folder, language);
    expect(back).toMatchObject({ rank: 3, alpha: 5, scale: 5 / 3 });
    const byName = new Map(back.tensors.map(({ name, values }) => [name, values]));
    for (const { name, values } of factors) expect(byName.get(name), name).toEqual(values);
    expect(byName.size).toBe(factors.length);
  },
);
