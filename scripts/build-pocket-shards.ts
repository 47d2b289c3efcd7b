/**
 * Writes the demo shards: drawn scenes with masks and captions in the layout that `datasets` saves, generated from a
 * seed.
 *
 *   npx tsx scripts/build-pocket-shards.ts [--seed N] [--scenes N] [--frames N [--folders] | --world extent|bells] [--out DIR]
 *
 * In the world "extent" the two regions of a picture overlap: wholes and halves, touching twins, pairs, two of three. In the
 * world "bells" both regions are bells, which no other world has. With several frames the scenes move: each row is a clip with the masklet of one object, and captions name its
 * motion. --folders writes clips of up to 1000 frames as `npm run masklets` reads them: pictures,
 * meta_expressions.json, mask_dict.json.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import jpeg from "jpeg-js";
import { encodeRle } from "../src/engine/data/mask/rle.ts";
import { badInput } from "../src/engine/errors.ts";
import { describe, drawDiscriminating, drawVague } from "../tools/pocket/world/describe.ts";
import { type Dice, sceneDice } from "../tools/pocket/world/dice.ts";
import { type DrawnScene, renderScene } from "../tools/pocket/world/draw.ts";
import { extentPicture } from "../tools/pocket/world/extent.ts";
import { BELL } from "../tools/pocket/world/kinds.ts";
import { describeMotion, drawClip, sceneAt } from "../tools/pocket/world/motion.ts";
import {
  doublesFirst,
  drawScene,
  kindOf,
  type Scene,
  type SceneWishes,
  type Thing,
} from "../tools/pocket/world/scene.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { writeFileList } from "./lib/build/file-list.ts";
import { datasetInfoJson, type ShardRow, shardName, stateJson, writeRegionShard } from "./lib/build/write-shard.ts";
import { root } from "./lib/ensure.mjs";

const REGIONS_PER_SCENE = 2;
/** The content of scenes with one frame and with several. */
const PICTURES = {
  side: 256,
  quality: 82,
  shards: 2,
  seed: 11,
  scenes: 160,
  folder: "shards",
  what: "region captions from vague to discriminating",
};
const EXTENT = { ...PICTURES, seed: 31, folder: "extent", what: "overlapping regions that differ in extent" };
const BELLS = {
  ...PICTURES,
  seed: 53,
  folder: "bells",
  what: "two or three bells each, which colour, size or place distinguish",
};
const CLIPS = {
  side: 96,
  quality: 75,
  shards: 3,
  seed: 21,
  scenes: 48,
  folder: "clips",
  what: "moving drawings, one masklet per row and a caption that says where its object is and where it moves",
};

/**
 * Share of captions that identify their region. The others only name it, as people do. With this share, the most
 * frequent caption is also the one that a policy should learn.
 */
const DISCRIMINATING = 0.85;

/** The rows of a scene: two described objects of a picture, or one of a clip. */
function sceneRows(seed: number, index: number, frames: number, wishes: SceneWishes = {}): ShardRow[] {
  const dice = sceneDice(seed, index);
  const scene = drawScene(dice, wishes);
  return frames === 1 ? pictureRows(scene, index, dice) : [clipRow(scene, index, dice, frames)];
}

function pictureRows(scene: Scene, index: number, dice: Dice): ShardRow[] {
  const { side, quality } = PICTURES;
  const { rgb, masks } = renderScene(scene, side);
  const image = { bytes: jpegOf(rgb, quality), path: `scene-${String(index).padStart(4, "0")}.jpg` };
  return doublesFirst(scene)
    .slice(0, REGIONS_PER_SCENE)
    .map((at) => {
      const thing = scene.things[at] as Thing;
      const what = dice() < DISCRIMINATING ? drawDiscriminating(thing, scene, dice) : drawVague(thing, scene, dice);
      const mask = encodeRle(masks[at] as Uint8Array, side, side);
      return { image, mask, ...saidOf("Please describe the marked region.", describe(what, dice), thing) };
    });
}

function extentRows(seed: number, index: number): ShardRow[] {
  const { side, quality } = EXTENT;
  const { rgb, regions } = extentPicture(seed, index, side);
  const image = { bytes: jpegOf(rgb, quality), path: `extent-${String(index).padStart(4, "0")}.jpg` };
  return regions.map(({ mask, caption, thing }) => {
    return {
      image,
      mask: encodeRle(mask, side, side),
      ...saidOf("Please describe the marked region.", caption, thing),
    };
  });
}

function clipRow(scene: Scene, index: number, dice: Dice, frames: number): ShardRow {
  const { side, quality } = CLIPS;
  const clip = drawClip(scene, dice);
  const [at] = doublesFirst(scene) as [number];
  const drawn = Array.from({ length: frames }, (_, frame) => renderScene(sceneAt(clip, frame / (frames - 1)), side));
  const name = (frame: number) => `clip-${String(index).padStart(4, "0")}-${String(frame).padStart(2, "0")}.jpg`;
  return {
    image: null,
    frames: drawn.map(({ rgb }, frame) => ({ bytes: jpegOf(rgb, quality), path: name(frame) })),
    mask: drawn.map(({ masks }) => encodeRle(masks[at] as Uint8Array, side, side)),
    ...saidOf(
      "Please describe the marked region in the video.",
      describeMotion(clip, at, dice),
      scene.things[at] as Thing,
    ),
  };
}

/** Clips in the layout of MeViS. */
function writeFolders(out: string, seed: number, scenes: number, frames: number): void {
  const names = Array.from({ length: frames }, (_, frame) => String(frame).padStart(5, "0"));
  const videos: Record<string, unknown> = {};
  const masks: Record<string, unknown> = {};
  for (let index = 0; index < scenes; index++) {
    const dice = sceneDice(seed, index);
    const { frames: pictures, mask, conversations } = clipRow(drawScene(dice), index, dice, frames);
    const id = `clip-${String(index).padStart(4, "0")}`;
    mkdirSync(join(out, "JPEGImages", id), { recursive: true });
    pictures?.forEach(({ bytes }, frame) => {
      writeFileSync(join(out, "JPEGImages", id, `${names[frame]}.jpg`), bytes as Uint8Array);
    });
    videos[id] = { frames: names, expressions: { "0": { exp: conversations?.at(-1)?.value, anno_id: [id] } } };
    masks[id] = mask;
  }
  writeFileSync(join(out, "meta_expressions.json"), `${JSON.stringify({ videos })}\n`);
  writeFileSync(join(out, "mask_dict.json"), `${JSON.stringify(masks)}\n`);
}

function saidOf(question: string, caption: string, thing: Thing): Pick<ShardRow, "conversations" | "category"> {
  return {
    conversations: [
      { from: "human", value: `<image>\n${question}` },
      { from: "gpt", value: caption },
    ],
    category: [kindOf(thing).words[0] as string],
  };
}

function jpegOf({ width, height, data: rgb }: DrawnScene["rgb"], quality: number): Uint8Array {
  const data = new Uint8Array(width * height * 4).fill(255);
  for (let pixel = 0; pixel < width * height; pixel++) data.set(rgb.subarray(pixel * 3, pixel * 3 + 3), pixel * 4);
  return new Uint8Array(jpeg.encode({ data, width, height }, quality).data);
}

await runTool(async () => {
  const number = { takes: 1 } as const;
  const options = {
    seed: number,
    scenes: number,
    frames: number,
    world: number,
    out: number,
    folders: { takes: 0 },
  } as const;
  const parsed = parseArguments(process.argv.slice(2), options);
  const folders = parsed.has("folders");
  const frames = folders ? whole(parsed, "frames", 2, 1000, 300) : whole(parsed, "frames", 1, 64, 1);
  const world = one(parsed, "world");
  if (world !== undefined && ((world !== "extent" && world !== "bells") || frames > 1)) {
    throw badInput('--world must be "extent" or "bells" and cannot be combined with --frames', "world");
  }
  const kind = world === "extent" ? EXTENT : world === "bells" ? BELLS : frames === 1 ? PICTURES : CLIPS;
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, kind.seed);
  const scenes = whole(parsed, "scenes", 1, 1_000_000, kind.scenes);
  const out = one(parsed, "out") ?? join(root, "public", "pocket", kind.folder);
  mkdirSync(out, { recursive: true });
  if (folders) {
    writeFolders(out, seed, scenes, frames);
    process.stdout.write(`${scenes} clips of ${frames} frames, written to ${out}\n`);
    return 0;
  }

  const layout = frames === 1 ? "fine-grained" : "clip";
  const rows = Array.from({ length: scenes }, (_, index) =>
    world === "extent"
      ? extentRows(seed, index)
      : sceneRows(seed, index, frames, world === "bells" ? { kind: BELL, alike: 2 + (index % 2) } : {}),
  ).flat();
  const perShard = Math.ceil(rows.length / kind.shards);
  const names = Array.from({ length: kind.shards }, (_, shard) => shardName(shard, kind.shards));
  names.forEach((name, shard) => {
    const own = rows.slice(shard * perShard, (shard + 1) * perShard);
    writeFileSync(join(out, name), writeRegionShard(own, { layout, batchRows: 32 }));
  });
  const fingerprint = seed.toString(16).padStart(8, "0") + scenes.toString(16).padStart(8, "0");
  writeFileSync(join(out, "state.json"), `${stateJson(names, fingerprint)}\n`);
  const description = `Scenes of drawings with ${kind.what}. Drawings: Fluent Emoji Flat, Microsoft, MIT`;
  const license = "MIT (drawings), CC0-1.0 (scenes and captions)";
  writeFileSync(join(out, "dataset_info.json"), `${datasetInfoJson({ layout, description, license })}\n`);
  writeFileList(out);
  process.stdout.write(`${rows.length} rows of ${scenes} scenes, written to ${out}\n`);
  return 0;
});
