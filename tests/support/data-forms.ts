/** The same regions in common layouts: COCO, refs pickle, tar shards, Osprey and other JSON, zip. */

import { encode as encodePng } from "fast-png";
import { zipSync } from "fflate";
import { type ByteFolder, memoryFolder } from "../../src/engine/bytes/source.ts";
import { decodeRle } from "../../src/engine/data/mask/rle.ts";
import type { RegionSample } from "../../src/engine/data/sample.ts";
import { maskPolygons } from "../../src/plugins/handover/polygons.ts";

export type Files = Record<string, Uint8Array | string>;

/** Name of a sample's picture in every form. */
export function pictureName(at: number): string {
  return `COCO_train2014_${String(at + 1).padStart(12, "0")}.jpg`;
}

const encode = (value: unknown): string => JSON.stringify(value);

function pictures(samples: readonly RegionSample[], directory: string): Files {
  return Object.fromEntries(samples.map((sample, at) => [`${directory}${pictureName(at)}`, sample.image.bytes]));
}

function polygons({ mask, image }: RegionSample): number[][] {
  return maskPolygons(decodeRle(mask), image.width, image.height);
}

function instances(samples: readonly RegionSample[]): string {
  return encode({
    images: samples.map(({ image }, at) => ({
      id: at + 1,
      file_name: pictureName(at),
      height: image.height,
      width: image.width,
    })),
    annotations: samples.map((sample, at) => ({
      id: 100 + at,
      image_id: at + 1,
      category_id: at + 1,
      segmentation: polygons(sample),
      iscrowd: 0,
    })),
    categories: samples.map(({ category }, at) => ({ id: at + 1, name: category[0] })),
  });
}

/** A COCO file of region captions, its pictures in a directory beside it. */
export function cocoForm(samples: readonly RegionSample[]): Files {
  const coco = JSON.parse(instances(samples)) as { annotations: Record<string, unknown>[] };
  coco.annotations.forEach((annotation, at) => {
    annotation.caption = samples[at]?.caption;
  });
  return { "annotations/regions.json": encode(coco), ...pictures(samples, "train2014/") };
}

/** Refs as a pickle of protocol 2, masks in the instances beside them. */
export function refsForm(samples: readonly RegionSample[], split = "train"): Files {
  const refs = samples.map(({ caption }, at) => ({
    ref_id: at,
    ann_id: 100 + at,
    image_id: at + 1,
    category_id: at + 1,
    file_name: `${pictureName(at)}_0.jpg`,
    split,
    sent_ids: [at],
    sentences: [{ sent_id: at, raw: caption, sent: caption, tokens: caption.split(" ") }],
  }));
  return {
    "refcoco/refs(unc).p": pickle(refs),
    "refcoco/instances.json": instances(samples),
    ...pictures(samples, "images/"),
  };
}

/** COCO panoptic: a picture of segments for each sample, the mask and the rest, whose categories are the captions. */
export function panopticForm(samples: readonly RegionSample[]): Files {
  const ids = (at: number): readonly [number, number] => [4_000_037 + 70_001 * at, 257 + at];
  const segments = samples.map(({ mask, image: { width, height } }, at): [string, Uint8Array] => {
    const colours = ids(at).map((id) => [id & 255, (id >> 8) & 255, id >> 16]);
    const data = new Uint8Array(width * height * 3);
    for (const [place, inside] of decodeRle(mask).entries()) data.set(colours[1 - inside] as number[], place * 3);
    return [`panoptic_val/${pictureName(at).replace("jpg", "png")}`, encodePng({ width, height, channels: 3, data })];
  });
  const coco = {
    images: samples.map(({ image: { width, height } }, at) => ({ id: at, file_name: pictureName(at), height, width })),
    annotations: samples.map((_, at) => ({
      image_id: at,
      file_name: pictureName(at).replace("jpg", "png"),
      segments_info: ids(at).map((id, rest) => ({ id, category_id: 2 * at + rest, iscrowd: 0 })),
    })),
    categories: samples.flatMap(({ caption }, at) => [
      { id: 2 * at, name: caption },
      { id: 2 * at + 1, name: `not ${caption}` },
    ]),
  };
  return { "panoptic_val.json": encode(coco), ...Object.fromEntries(segments), ...pictures(samples, "val/") };
}

/** Osprey descriptions, masks as run lengths of numbers or polygons. */
export function ospreyForm(samples: readonly RegionSample[]): Files {
  const items = samples.map((sample, at) => ({
    file_name: pictureName(at),
    height: sample.image.height,
    width: sample.image.width,
    annotation: [{ segmentation: at % 2 === 0 ? polygons(sample) : { ...sample.mask } }],
    description: [`<region1>: ${sample.caption}`],
  }));
  return { "osprey_detail.json": encode(items), ...pictures(samples, "coco/") };
}

/** The fine-tune list of Sa2VA. */
export function sa2vaForm(samples: readonly RegionSample[]): Files {
  const items = samples.map((sample, at) => ({
    image: pictureName(at),
    mask: [polygons(sample)],
    text: [sample.caption],
  }));
  return { "annotations.json": encode(items), ...pictures(samples, "images/") };
}

/** One JSON record per line, masks as pictures. */
export function linesForm(samples: readonly RegionSample[]): Files {
  const lines = samples.map(({ caption, category }, at) =>
    encode({ file_name: pictureName(at), mask: `masks/${at}.png`, caption, category }),
  );
  const masks = samples.map((sample, at) => [`masks/${at}.png`, maskPng(sample)] as const);
  return { "metadata.jsonl": `${lines.join("\n")}\n`, ...Object.fromEntries(masks), ...pictures(samples, "") };
}

/** One label map per picture: 1 is the region, 2 everything else, each with its caption. */
export function labelMapForm(
  samples: readonly RegionSample[],
  form: "JSON lines" | "WebDataset" | "JSON, rows of numbers",
): Files {
  const maps = samples.map(({ mask }) => decodeRle(mask).map((pixel) => (pixel === 1 ? 1 : 2)));
  const texts = samples.map(({ caption }) => [caption, `not ${caption}`]);
  const png = (at: number): Uint8Array => {
    const { height, width } = (samples[at] as RegionSample).image;
    return encodePng({ width, height, data: maps[at] as Uint8Array, channels: 1, depth: 8 });
  };
  if (form === "JSON lines") {
    const lines = texts.map((captions, at) => encode({ image: pictureName(at), mask: `maps/${at}.png`, captions }));
    const files = maps.map((_, at) => [`maps/${at}.png`, png(at)] as const);
    return { "rows.jsonl": lines.join("\n"), ...Object.fromEntries(files), ...pictures(samples, "") };
  }
  if (form === "WebDataset") {
    const members = samples.flatMap(({ image }, at): [string, Uint8Array][] => {
      const key = String(at).padStart(6, "0");
      const json = new TextEncoder().encode(encode({ captions: texts[at] }));
      return [
        [`${key}.jpg`, image.bytes],
        [`${key}.json`, json],
        [`${key}.png`, png(at)],
      ];
    });
    return { "shards/000000.tar": tar(members) };
  }
  const rows = samples.map(({ image: { width, height } }, at) => {
    const pixels = [...(maps[at] as Uint8Array)];
    const mask = Array.from({ length: height }, (_, y) => pixels.slice(y * width, (y + 1) * width));
    return encode({ image: pictureName(at), mask, captions: texts[at] });
  });
  return { "rows.json": `[${rows.join(",")}]`, ...pictures(samples, "") };
}

/** Annotations of describe-anything, pictures in a tar shard. */
export function damForm(samples: readonly RegionSample[]): Files {
  const key = (at: number): string => String(at).padStart(12, "0");
  const regions = samples.map(({ mask, caption, category }, at) => [
    {
      img_id: key(at),
      ann_id: at,
      image: `train2017/${key(at)}.jpg`,
      category: category[0],
      caption,
      mask_rle: mask,
      tar_file: "00000000.tar",
    },
  ]);
  const members = samples.flatMap(({ image }, at): [string, Uint8Array][] => [
    [`${key(at)}.jpg`, image.bytes],
    [`${key(at)}.pickle`, pickle(regions[at])],
  ]);
  return {
    "COCOStuff/annotations.json": encode(Object.fromEntries(regions.map((own, at) => [key(at), own]))),
    "COCOStuff/images/00000000.tar": tar(members),
  };
}

/** A WebDataset shard: picture, mask and text of one name. */
export function webdatasetForm(samples: readonly RegionSample[]): Files {
  return { "shards/000000.tar": tar(webdatasetMembers(samples)) };
}

/** The files of that shard. */
export function webdatasetMembers(samples: readonly RegionSample[]): readonly (readonly [string, Uint8Array])[] {
  return samples.flatMap((sample, at): [string, Uint8Array][] => [
    [`${at}.jpg`, sample.image.bytes],
    [`${at}.json`, new TextEncoder().encode(encode({ caption: sample.caption, category: sample.category }))],
    [`${at}.mask.png`, maskPng(sample)],
  ]);
}

/** GranD-f: the caption of a region as the one phrase of a grounded caption. */
export function grandfForm(samples: readonly RegionSample[]): Files {
  const items = samples.map(({ caption, mask }, at) => ({
    file_name: pictureName(at),
    caption,
    groundings: { [caption]: { token_positives: [0, [...caption].length], rle_masks: [mask] } },
  }));
  return { "GranDf_HA_GCG_train.json": encode(items), ...pictures(samples, "GranDf_HA_images/train/") };
}

/** Any form packed into one zip archive, half of it deflated. */
export function zipped(files: Files): Files {
  const entries = Object.entries(files).map(([path, content], at) => {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : new Uint8Array(content);
    return [path, [bytes, { level: at % 2 === 0 ? 6 : 0 }]] as const;
  });
  return { "data.zip": zipSync(Object.fromEntries(entries) as Parameters<typeof zipSync>[0]) };
}

export function folderFrom(files: Files): ByteFolder {
  return memoryFolder(files);
}

function maskPng({ mask, image }: RegionSample): Uint8Array {
  const data = decodeRle(mask).map((pixel) => 255 * pixel);
  return encodePng({ width: image.width, height: image.height, data, channels: 1 });
}

/** A ustar archive of files. */
export function tar(members: readonly (readonly [name: string, bytes: Uint8Array])[]): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const [name, bytes] of members) {
    const header = new Uint8Array(512);
    const write = (text: string, at: number): void => header.set(new TextEncoder().encode(text), at);
    write(name, 0);
    write("0000644\0", 100);
    write(`${bytes.length.toString(8).padStart(11, "0")}\0`, 124);
    write(`${"0".repeat(11)}\0`, 136);
    write("        0", 148);
    write("ustar\x0000", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    blocks.push(header, bytes, new Uint8Array((512 - (bytes.length % 512)) % 512));
  }
  blocks.push(new Uint8Array(1024));
  return joined(blocks);
}

/** Plain data as a pickle of protocol 2. */
export function pickle(value: unknown): Uint8Array {
  const out: number[] = [0x80, 2];
  const size = (n: number): number[] => [n & 255, (n >> 8) & 255, (n >> 16) & 255, (n >> 24) & 255];
  const write = (item: unknown): void => {
    if (item === null) out.push(0x4e);
    else if (typeof item === "number") out.push(0x4a, ...size(item));
    else if (typeof item === "string") {
      const bytes = new TextEncoder().encode(item);
      out.push(0x58, ...size(bytes.length), ...bytes);
    } else if (item instanceof Uint8Array) out.push(0x42, ...size(item.length), ...item);
    else if (Array.isArray(item)) {
      out.push(0x5d, 0x28);
      for (const inner of item) write(inner);
      out.push(0x65);
    } else if (typeof item === "object") {
      out.push(0x7d, 0x28);
      for (const [key, inner] of Object.entries(item)) {
        write(key);
        write(inner);
      }
      out.push(0x75);
    } else throw new Error(`no pickle of ${typeof item} is written here`);
  };
  write(value);
  out.push(0x2e);
  return Uint8Array.from(out);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
