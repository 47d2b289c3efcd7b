import { describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { readJson } from "../../../src/engine/bytes/json.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_MODEL,
  adapterConfigText,
  fromPeftName,
  toPeftName,
} from "../../../src/engine/formats/peft-names.ts";
import { openSafetensors, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { type Adapter, initLora, loraShapes, readAdapter } from "../../../src/engine/model/adapter/lora.ts";
import { isTrainableBase, trainableBlock, trainableSet } from "../../../src/engine/model/adapter/trainable.ts";
import type { LanguageConfig } from "../../../src/engine/model/config.ts";
import { languageLinears } from "../../../src/engine/model/language/language-families.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { packedForm } from "../../../src/engine/model/weights/storage-choice.ts";
import { testWith } from "../../support/plugins.ts";

/** The two files of an adapter, by path. */
function writeAdapter(config: LanguageConfig, { rank: r, alpha, dropout, tensors }: Adapter) {
  const targets = languageLinears(config).map(({ path }) => path.slice(path.lastIndexOf(".") + 1));
  const entries = tensors.map(({ name, shape, values }) => ({ name: toPeftName(name), shape, data: values }));
  return {
    [ADAPTER_CONFIG]: new TextEncoder().encode(adapterConfigText({ r, alpha, dropout, targets }, "tiny")),
    [ADAPTER_MODEL]: writeSafetensors(entries, { format: "pt" }),
  };
}

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

describe("adapters", () => {
  it("come back unchanged through PEFT's files", async () => {
    const folder = await nodeFolder(GOLDEN);
    const { config } = await openCheckpoint(folder);
    const adapter = await readAdapter(folder, config.language);
    expect(adapter).toMatchObject({ rank: 4, alpha: 8, scale: 2 });
    expect(adapter.tensors.length).toBe(loraShapes(config.language, 4).length);
    const files = writeAdapter(config.language, adapter);
    const again = await readAdapter(memoryFolder(files), config.language);
    const values = (items: typeof adapter.tensors) =>
      new Map(items.map((item) => [item.name, Array.from(item.values)]));
    expect(values(again.tensors)).toEqual(values(adapter.tensors));
    const ours = await openSafetensors(memoryFolder(files).get("adapter_model.safetensors")!);
    const theirs = await openSafetensors(folder.get("adapter_model.safetensors")!);
    expect([...ours.names].sort()).toEqual([...theirs.names].sort());
    const stated = (await readJson(folder.get("adapter_config.json")!)) as { target_modules: string[] };
    const written = JSON.parse(new TextDecoder().decode(files["adapter_config.json"])) as typeof stated;
    expect([...written.target_modules].sort()).toEqual([...stated.target_modules].sort());
  });

  it("map names both ways", () => {
    const path = "language_model.model.layers.0.self_attn.q_proj.lora_A.weight";
    expect(toPeftName(path)).toBe("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    expect(fromPeftName(toPeftName(path))).toBe(path);
    expect(fromPeftName("model.x")).toBeNull();
    expect(() => toPeftName("mlp1.1.weight")).toThrow(/mlp1.1.weight/);
  });

  it("start without effect: A uniform within 1/√in, B zero", async () => {
    const { config } = await openCheckpoint(await nodeFolder(GOLDEN));
    const fresh = initLora(config.language, 3, (tensor, element) => ((tensor * 31 + element * 7) % 97) / 97 + 0.005);
    for (const { name, shape, values } of fresh) {
      const bound = 1 / Math.sqrt(shape[1] as number);
      const largest = Math.max(...values.map(Math.abs));
      if (name.includes("lora_B")) expect(largest).toBe(0);
      else {
        expect(largest).toBeLessThanOrEqual(bound * 1.01);
        expect(largest).toBeGreaterThan(bound * 0.8);
      }
    }
  });

  it("refuse another model, a lone factor and other kinds", async () => {
    const folder = await nodeFolder(GOLDEN);
    const { language } = (await openCheckpoint(folder)).config;
    const adapter = await readAdapter(folder, language);
    const files = writeAdapter(language, adapter);
    await expect(readAdapter(memoryFolder(files), { ...language, mlpSize: 81 })).rejects.toThrow(/the model needs/);
    const lone = writeAdapter(language, { ...adapter, tensors: adapter.tensors.slice(1) });
    await expect(readAdapter(memoryFolder(lone), language)).rejects.toThrow(/other factor/);
    const settings = JSON.parse(new TextDecoder().decode(files["adapter_config.json"]));
    const changed = (fields: object): Promise<unknown> =>
      readAdapter(
        memoryFolder({ ...files, "adapter_config.json": JSON.stringify({ ...settings, ...fields }) }),
        language,
      );
    await expect(changed({ use_dora: true })).rejects.toThrow(/DoRA/);
    // PEFT subtracts the first factors of these from the base model whenever it loads the adapter.
    await expect(changed({ init_lora_weights: "pissa_niter_4" })).rejects.toThrow(/PiSSA/);
    await expect(changed({ init_lora_weights: "olora" })).rejects.toThrow(/changes the base model/);
    for (const alpha of [1e39, 1e-60, -1, "8"]) {
      await expect(changed({ lora_alpha: alpha })).rejects.toThrow(/no usable r and lora_alpha/);
    }
    await expect(changed({ init_lora_weights: "gaussian" })).resolves.toMatchObject({ scale: 2 });
  });
});

describe("the trainable set", () => {
  it("is exactly what the golden gradients name", async () => {
    const folder = await nodeFolder(GOLDEN);
    const checkpoint = await openCheckpoint(folder);
    const set = trainableSet(checkpoint.config, checkpoint.tensorNames, { loraR: 4 });
    const golden = await openSafetensors(folder.get("golden_train_seg.safetensors")!);
    const named = golden.names
      .filter((name) => name.startsWith("grad."))
      .map((name) => name.slice(5))
      .map((name) => (name.startsWith("lora.") ? `language_model.${name.slice(5)}.weight` : name));
    expect(set.map(({ path }) => path).sort()).toEqual(named.sort());
  });

  it("leaves buffers and towers alone", () => {
    const encoder = "grounding_encoder.sam2_model.sam_prompt_encoder";
    expect(isTrainableBase(`${encoder}.pe_layer.positional_encoding_gaussian_matrix`)).toBe(false);
    expect(isTrainableBase("grounding_encoder.sam2_model.image_encoder.trunk.pos_embed")).toBe(false);
    expect(isTrainableBase("language_model.lm_head.weight")).toBe(false);
    expect(isTrainableBase(`${encoder}.no_mask_embed.weight`)).toBe(true);
  });

  testWith("qwen-vl")("leaves the mergers of Qwen-VL alone", () => {
    // Published training leaves the mergers of Qwen-VL frozen, so they are stored like other frozen weights.
    const merger = "model.model.visual.merger.linear_fc1.weight";
    expect([trainableBlock(merger), isTrainableBase(merger), isTrainableBase("mlp1.1.weight")]).toEqual([
      "projector",
      false,
      true,
    ]);
    expect(packedForm(merger, [64, 64], { language: "q4", towers: "f16" })).toBe("f16");
  });

  it("refuses a checkpoint whose decoder has other tensors than declared", async () => {
    const checkpoint = await openCheckpoint(await nodeFolder(GOLDEN));
    const renamed = checkpoint.tensorNames.map((name) =>
      name.replace("sam_mask_decoder.conv_s0", "mask_decoder.conv_s0"),
    );
    expect(() => trainableSet(checkpoint.config, renamed, { loraR: 4 })).toThrow(/mask-decoder.*131.*129/);
    expect(() => trainableSet(checkpoint.config, renamed, { loraR: 4, blocks: [] })).toThrow(/No part/);
    const part = trainableSet(checkpoint.config, renamed, { loraR: 0, blocks: ["projector", "lora"] });
    expect(part.map(({ block }) => block)).toEqual(Array(6).fill("projector"));
  });
});
