/**
 * Writes the demo shards: drawn scenes with masks and captions in the layout `datasets` saves, made from a seed.
 *
 *   npx tsx scripts/build-pocket-shards.ts [--seed N] [--scenes N] [--out public/pocket/shards]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import jpeg from "jpeg-js";
import { encodeRle } from "../src/engine/data/mask/rle.ts";
import {
  datasetInfoJson,
  type ShardRow,
  shardName,
  stateJson,
  writeRegionShard,
} from "../src/engine/data/write-shard.ts";
import { describe, drawDiscriminating, drawVague } from "../tools/pocket/world/describe.ts";
import { sceneDice } from "../tools/pocket/world/dice.ts";
import { renderScene } from "../tools/pocket/world/draw.ts";
import { drawScene, kindOf, type Thing } from "../tools/pocket/world/scene.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { writeFileList } from "./lib/file-list.ts";

const SIDE = 256;
const SHARDS = 2;
const REGIONS_PER_SCENE = 2;
const JPEG_QUALITY = 82;

/**
 * Share of captions that tell their region apart. The others only name it, as people do; the answer that a policy should
 * learn to give is then also the one that the captions mostly contain.
 */
const DISCRIMINATING = 0.85;

/** Two described things; doubles first, since they are what a caption has to tell apart. */
function sceneRows(seed: number, index: number): ShardRow[] {
  const dice = sceneDice(seed, index);
  const scene = drawScene(dice);
  const { rgb, masks } = renderScene(scene, SIDE);
  const rgba = new Uint8Array(SIDE * SIDE * 4).fill(255);
  for (let pixel = 0; pixel < SIDE * SIDE; pixel++) rgba.set(rgb.data.subarray(pixel * 3, pixel * 3 + 3), pixel * 4);
  const bytes = new Uint8Array(jpeg.encode({ data: rgba, width: SIDE, height: SIDE }, JPEG_QUALITY).data);
  const doubles = (thing: Thing): number => scene.things.filter((other) => other.kind === thing.kind).length;
  const order = scene.things
    .map((_, at) => at)
    .sort((a, b) => doubles(scene.things[b] as Thing) - doubles(scene.things[a] as Thing));
  return order.slice(0, REGIONS_PER_SCENE).map((at) => {
    const thing = scene.things[at] as Thing;
    const what = dice() < DISCRIMINATING ? drawDiscriminating(thing, scene, dice) : drawVague(thing, scene, dice);
    return {
      image: { bytes, path: `scene-${String(index).padStart(4, "0")}.jpg` },
      mask: encodeRle(masks[at] as Uint8Array, SIDE, SIDE),
      conversations: [
        { from: "human", value: "<image>\nPlease describe the marked region." },
        { from: "gpt", value: describe(what, dice) },
      ],
      category: [kindOf(thing).words[0] as string],
    };
  });
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), { seed: { takes: 1 }, scenes: { takes: 1 }, out: { takes: 1 } });
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, 11);
  const scenes = whole(parsed, "scenes", 1, 1_000_000, 160);
  const out = one(parsed, "out") ?? join(root, "public", "pocket", "shards");
  mkdirSync(out, { recursive: true });

  const rows = Array.from({ length: scenes }, (_, index) => sceneRows(seed, index)).flat();
  const perShard = Math.ceil(rows.length / SHARDS);
  const names = Array.from({ length: SHARDS }, (_, shard) => shardName(shard, SHARDS));
  names.forEach((name, shard) => {
    const own = rows.slice(shard * perShard, (shard + 1) * perShard);
    writeFileSync(join(out, name), writeRegionShard(own, { batchRows: 32 }));
  });
  const fingerprint = seed.toString(16).padStart(8, "0") + scenes.toString(16).padStart(8, "0");
  writeFileSync(join(out, "state.json"), `${stateJson(names, fingerprint)}\n`);
  const description =
    "Scenes of drawings with region captions from vague to discriminating. Drawings: Fluent Emoji Flat, Microsoft, MIT";
  writeFileSync(
    join(out, "dataset_info.json"),
    `${datasetInfoJson({ description, license: "MIT (drawings), CC0-1.0 (scenes and captions)" })}\n`,
  );
  writeFileList(out);
  process.stdout.write(`${rows.length} regions of ${scenes} scenes, written to ${out}\n`);
  return 0;
});
