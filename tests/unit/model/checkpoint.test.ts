import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type ByteFolder, memoryFolder } from "../../../src/engine/bytes/source.ts";
import { openSafetensors, type TensorToWrite, writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { isVideoOnly } from "../../../src/engine/model/sam2-shapes.ts";
import { type LoadProgress, openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { ALL_F32 } from "../../../src/engine/model/weights/storage-choice.ts";
import { collectWeights, convertCheckpoint } from "../../../src/engine/model/weights/weight-pieces.ts";
import { disposeWeights } from "../../../src/engine/model/weights/weights.ts";
import { videoShapes } from "../../../src/plugins/clips/sam2/video-shapes.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

async function config(): Promise<Record<string, unknown>> {
  const source = (await nodeFolder(GOLDEN)).get("config.json")!;
  return JSON.parse(new TextDecoder().decode(await source.read(0, source.size)));
}

/** The golden model with its files replaced. */
async function changed(files: Record<string, Uint8Array | string>, drop: string[] = []): Promise<ByteFolder> {
  const golden = await nodeFolder(GOLDEN);
  const own = memoryFolder(files);
  return {
    paths: [...new Set([...golden.paths, ...own.paths])].filter((path) => !drop.includes(path)),
    get: (path) => (drop.includes(path) ? undefined : (own.get(path) ?? golden.get(path))),
  };
}

async function entries(): Promise<TensorToWrite[]> {
  const file = await openSafetensors((await nodeFolder(GOLDEN)).get("model.safetensors")!);
  return Promise.all(
    file.names.map(async (name) => ({ name, shape: file.info(name).shape, data: await file.read(name) })),
  );
}

describe("a checkpoint folder", () => {
  it("loads what passes the filter, with progress", async () => {
    const checkpoint = await openCheckpoint(await nodeFolder(GOLDEN));
    expect(checkpoint.tensorNames.some(isVideoOnly)).toBe(false);
    expect(checkpoint.tensorNames).toContain("grounding_encoder.sam2_model.no_mem_embed");
    const seen: number[] = [];
    const loaded = await collectWeights(
      convertCheckpoint(checkpoint, {
        choice: ALL_F32,
        filter: (name) => name.startsWith("mlp1."),
        onProgress: ({ bytes, totalBytes }) => seen.push(bytes / totalBytes),
      }),
    );
    expect([...loaded.keys()].sort()).toEqual([0, 1, 3].flatMap((i) => [`mlp1.${i}.bias`, `mlp1.${i}.weight`]));
    expect(seen.at(-1)).toBe(1);
    expect(loaded.get("mlp1.1.weight")?.shape).toEqual(checkpoint.shape("mlp1.1.weight"));
    disposeWeights(loaded.values());
  });

  it("reads shards like one file", async () => {
    const all = await entries();
    const parts = [all.filter((_, at) => at % 2 === 0), all.filter((_, at) => at % 2 === 1)];
    const path = (at: number) => `model-0000${at + 1}-of-00002.safetensors`;
    const weightMap = Object.fromEntries(all.map(({ name }, at) => [name, path(at % 2)]));
    const files = {
      [path(0)]: writeSafetensors(parts[0]!),
      [path(1)]: writeSafetensors(parts[1]!),
      "model.safetensors.index.json": JSON.stringify({ weight_map: weightMap }),
    };
    const checkpoint = await openCheckpoint(await changed(files, ["model.safetensors"]));
    expect([...checkpoint.tensorNames].sort()).toEqual(
      all
        .map(({ name }) => name)
        .filter((name) => !isVideoOnly(name))
        .sort(),
    );
    await expect(changed(files, [path(1), "model.safetensors"]).then(openCheckpoint)).rejects.toThrow(/00002-of-00002/);
    const twice = { ...files, [path(1)]: writeSafetensors([...parts[1]!, parts[0]![0]!]) };
    const sharded = (own: typeof files) => changed(own, ["model.safetensors"]);
    await expect(sharded(twice).then(openCheckpoint)).rejects.toThrow(/is in both/);
    const fewer = { ...files, [path(1)]: writeSafetensors(parts[1]!.slice(1)) };
    await expect(sharded(fewer).then(openCheckpoint)).rejects.toThrow(/but the file does not have it/);
    // transformers leaves the index behind when a sharded checkpoint is saved again as one file, and reads the file.
    const again = await openCheckpoint(
      await changed({ "model.safetensors.index.json": JSON.stringify({ weight_map: weightMap }) }),
    );
    expect(again.holder("mlp1.1.weight").source).toBe("model.safetensors");
  });

  it("names a tensor that is missing or has another shape", async () => {
    const all = await entries();
    const lacking = (gone: string) =>
      changed({ "model.safetensors": writeSafetensors(all.filter(({ name }) => name !== gone)) });
    await expect(lacking("mlp1.3.bias").then((folder) => openCheckpoint(folder))).rejects.toThrow(/"mlp1.3.bias"/);
    const pointer = "grounding_encoder.sam2_model.no_obj_ptr";
    expect((await openCheckpoint(await lacking(pointer))).tensorNames.length).toBeGreaterThan(300);
    await expect(lacking(pointer).then((folder) => openCheckpoint(folder, videoShapes))).rejects.toThrow(
      `can only decode frames alone: it lacks SAM2's memory (tensor "${pointer}")`,
    );
    for (const [name, shape] of [
      ["mlp1.3.weight", [24, 96]],
      ["grounding_encoder.sam2_model.image_encoder.trunk.blocks.0.attn.qkv.weight", [8, 24]],
    ] as const) {
      const bent = all.map((item) => (item.name === name ? { ...item, shape } : item));
      await expect(changed({ "model.safetensors": writeSafetensors(bent) }).then(openCheckpoint)).rejects.toThrow(name);
    }
  });

  it("stops when asked and leaves no tensor behind", async () => {
    const checkpoint = await openCheckpoint(await nodeFolder(GOLDEN));
    const before = tf.memory().numTensors;
    const stop = new AbortController();
    const onProgress = ({ done }: LoadProgress): void => (done === 3 ? stop.abort() : undefined);
    const loading = collectWeights(convertCheckpoint(checkpoint, { choice: ALL_F32, onProgress, signal: stop.signal }));
    await expect(loading).rejects.toMatchObject({ code: "cancelled" });
    expect(tf.memory().numTensors).toBe(before);
  });

  it("says what a folder lacks", async () => {
    await expect(openCheckpoint(memoryFolder({}))).rejects.toThrow(/config.json/);
    await expect(changed({}, ["model.safetensors"]).then(openCheckpoint)).rejects.toThrow(/model.safetensors/);
  });
});

describe("config.json", () => {
  it("reads sizes and fills published defaults", async () => {
    const json = await config();
    const parsed = parseSa2vaConfig(json);
    expect(parsed).toMatchObject({ tileSize: 112, maxTiles: 4, tokensPerTile: 16, tokenGridSide: 4, psVersion: "v2" });
    expect(parsed.language).toMatchObject({ family: "qwen2", heads: 6, kvHeads: 2, headSize: 8 });
    expect(parsed.language.rope).toEqual({ theta: 1e6, scaling: { kind: "none" } });
    const bare = { ...json, sam2_config: undefined, ps_version: undefined, use_thumbnail: undefined };
    expect(parseSa2vaConfig(bare).sam2).toMatchObject({ imageSize: 1024, embedDim: 144, hiddenDim: 256 });
    expect(parseSa2vaConfig({ ...json, template: "qwen-chat", dynamic_image_size: false })).toMatchObject({
      template: "qwen_chat",
      maxTiles: 1,
    });
  });

  it("names another language model and what is supported", async () => {
    const json = await config();
    const language = json.llm_config as Record<string, unknown>;
    const other = { ...json, llm_config: { ...language, architectures: ["GemmaForCausalLM"] } };
    expect(() => parseSa2vaConfig(other)).toThrow(/GemmaForCausalLM; this lab runs Qwen2ForCausalLM, Qwen3/);
  });

  it.each([
    ["template", "llama_chat", /llama_chat/],
    ["force_image_size", 100, /force_image_size/],
    ["select_layer", 3, /select_layer/],
    ["max_dynamic_patch", 0, /max_dynamic_patch is 0/],
    ["architectures", ["Qwen3VLForConditionalGeneration"], /./],
    ["vision_config", null, /vision_config is null/],
  ])("refuses a wrong %s", async (key, value, message) => {
    const json = { ...(await config()), ...(key === "architectures" ? { model_type: "qwen3" } : {}), [key]: value };
    expect(() => parseSa2vaConfig(json)).toThrow(message);
  });

  it("accepts dynamic rotary scaling and refuses unknown kinds", async () => {
    const json = await config();
    const withScaling = (type: string) => ({
      ...json,
      llm_config: { ...(json.llm_config as object), rope_scaling: { type, factor: 2 } },
    });
    expect(parseSa2vaConfig(withScaling("dynamic")).language.rope.scaling).toEqual({
      kind: "dynamic",
      factor: 2,
      limit: 1024,
    });
    expect(() => parseSa2vaConfig(withScaling("ntk"))).toThrow(/ntk/);
  });
});
