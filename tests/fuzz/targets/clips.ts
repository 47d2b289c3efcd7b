/** Data sets of clips with damaged files, opened and read to the last mask. */

import { encode } from "fast-png";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { openClips } from "../../../src/plugins/data-sets/clip-set.ts";
import { framePicture } from "../../../src/plugins/data-sets/frame-picture.ts";
import { jpg } from "../../unit/data/make.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { check, checkSentence, type Files, type Target } from "../target.ts";

const bytes = (value: unknown): Uint8Array<ArrayBuffer> => new TextEncoder().encode(JSON.stringify(value));
const mask = encodeRle(new Uint8Array(12 * 16).fill(1, 20, 60), 12, 16);
const jpeg = new Uint8Array(jpg(16, 12));
const frames = { "JPEGImages/a/0.jpg": jpeg, "JPEGImages/a/1.jpg": jpeg };
const labels = new Uint8Array(encode({ width: 16, height: 12, data: new Uint8Array(192).fill(1, 40), channels: 1 }));
const videos = (entry: object) => bytes({ videos: { a: { frames: ["0", "1"], expressions: { "0": entry } } } });
const inputs: Readonly<Record<string, Files>> = {
  dictionary: {
    ...frames,
    "meta_expressions.json": videos({ exp: "a thing", obj_id: [1], anno_id: [3, 4], type_id: 1 }),
    "mask_dict.json": bytes({ "3": [mask, null], "4": [null, mask] }),
    "mask_dict_foreground.json": bytes({ a: { masks_rle: [[mask, mask], null] } }),
  },
  palette: {
    ...frames,
    "meta_expressions.json": videos({ exp: "a thing", obj_id: "1" }),
    "Annotations/a/0.png": labels,
    "Annotations/a/1.png": labels,
  },
};

export const clips: Target = {
  ...casesOf(inputs, (path) => (path.endsWith(".json") ? jsonDamage() : undefined)),
  async read(files) {
    const set = await openClips(memoryFolder(files));
    for (const sentence of set.leftOut) checkSentence(sentence);
    let refused: LabError | undefined;
    for (const clip of set.clips) {
      check(clip.frames.length === clip.names.length && clip.frames.length > 0, "A clip has no frames");
      for (const source of clip.frames) await framePicture(source);
      for (const { truth } of clip.expressions) {
        try {
          const pixels = (await clip.foreground?.()) ?? clip.frames;
          check(pixels.length === clip.frames.length, "Foreground masks and frames differ in number");
          const masks = (await truth?.()) ?? [];
          check(masks.length === 0 || masks.length === clip.frames.length, "Masks and frames differ in number");
          for (const one of masks)
            check(decodeRle(one).length === one.size[0] * one.size[1], "A mask has other pixels");
        } catch (thrown) {
          if (!(thrown instanceof LabError)) throw thrown;
          refused = thrown;
        }
      }
    }
    if (refused !== undefined) throw refused;
  },
};
