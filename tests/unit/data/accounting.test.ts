/**
 * What goes into every reader comes out: each region of a set is used, or listed as left out. The sets have good,
 * damaged, orphaned, textless and maskless entries.
 */
import { encode as encodePng } from "fast-png";
import { expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { type ByteSource, memoryFolder } from "../../../src/engine/bytes/source.ts";
import { READERS } from "../../../src/engine/data/readers/all.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { lostBy } from "../../../src/engine/data/sample.ts";
import { toLabError } from "../../../src/engine/errors.ts";
import { writeParquet } from "../../../src/plugins/exchange/parquet-write.ts";
import { type Files, pickle, tar } from "../../support/data-forms.ts";
import { boxMask, jpg, png, row } from "./make.ts";

const [WIDTH, HEIGHT] = [48, 40];
const mask = boxMask(HEIGHT, WIDTH, 4, 3, 10, 8);
const polygon = [[4, 3, 14, 3, 14, 11, 4, 11]];
const picture = png(WIDTH, HEIGHT);
const damaged = { size: [HEIGHT, WIDTH], counts: "!!" };
const text = (value: unknown): string => JSON.stringify(value);
const frame = jpg(WIDTH, HEIGHT);

/** A set with the number of regions in it, used or not, and how many can be used. */
interface Case {
  readonly files: Files;
  readonly entries: number;
  readonly good: number;
  /** Parts of the reasons that must be given. */
  readonly says?: readonly string[];
}

const image = (id: unknown, more: object = {}): object => ({
  id,
  file_name: "a.png",
  width: WIDTH,
  height: HEIGHT,
  ...more,
});

/** COCO: ids of pictures 1 (there), 2 (missing file), 3 (nameless), 9 (not listed). */
function coco(more: (id: number) => object): Case {
  const annotation = (id: number, image_id: number, changes: object = {}): object => ({
    id,
    image_id,
    category_id: 1,
    segmentation: polygon,
    ...more(id),
    ...changes,
  });
  const set = {
    images: [image(1), image(2, { file_name: "gone.png" }), { id: 3 }, image(4)],
    annotations: [
      annotation(1, 1),
      annotation(2, 1, { segmentation: damaged }),
      annotation(3, 1, { segmentation: null }),
      annotation(4, 1, { segmentation: [mask, damaged] }),
      annotation(5, 1, { caption: "", category_id: 7 }),
      annotation(6, 2),
      annotation(7, 2),
      annotation(8, 3),
      annotation(9, 9),
      annotation(10, 9),
      null,
      annotation(11, 4),
    ],
    categories: [{ id: 1, name: "box" }],
  };
  const says = ["2 annotations are left out", "1 annotation is left out: it is of a picture without a file name"];
  return { files: { "set.json": text(set), "a.png": picture }, entries: 12, good: 2, says: [...says, "no object"] };
}

const refs = (list: boolean): Case => {
  const ref = (ref_id: number, image_id: number, ann: unknown, sentences: unknown): object => ({
    ref_id,
    image_id,
    ann_id: list ? [ann] : ann,
    split: "train",
    sentences,
  });
  const said = (...all: unknown[]): object[] => all.map((sent) => ({ sent, raw: sent }));
  const rows = [
    ref(1, 1, 1, said("one", "two")),
    ref(2, 1, 99, said("no annotation")),
    ref(3, 1, 2, said("damaged", "damaged, too")),
    ref(4, 8, 1, said("no picture", "none")),
    ref(5, 1, 1, []),
    ref(6, 1, 1, "none"),
    ref(7, 1, 1, said(7, "three")),
    ref(8, 2, 3, said("missing file")),
    ...(list ? [ref(9, 1, -1, said("no target"))] : []),
  ];
  const instances = {
    images: [image(1), image(2, { file_name: "gone.png" })],
    annotations: [
      { id: 1, image_id: 1, category_id: 1, segmentation: polygon },
      { id: 2, image_id: 1, category_id: 1, segmentation: damaged },
      { id: 3, image_id: 2, category_id: 1, segmentation: polygon },
    ],
    categories: [],
  };
  return {
    files: { "refs.json": text(rows), "instances.json": text(instances), "a.png": picture },
    entries: list ? 13 : 12,
    good: 3,
    says: ["pictures that the instances lack", "names annotation", "without a list of sentences", "not text"],
  };
};

const PALETTE = encodePng({
  width: WIDTH,
  height: HEIGHT,
  channels: 3,
  data: Uint8Array.from({ length: WIDTH * HEIGHT * 3 }, (_, at) => (at % 3 === 0 && at < 900 ? 5 : 0)),
});

const CASES: Readonly<Record<string, () => Case>> = {
  "dam-annotations": () => ({
    files: {
      "annotations.json": text({
        1: [{ mask_rle: mask, caption: "good" }, { mask_rle: damaged, caption: "damaged" }, { caption: "maskless" }, 7],
        2: { mask_rle: mask, caption: "no picture" },
        3: [{ mask_rle: mask, caption: " " }],
      }),
      "images/0.tar": tar([
        ["1.jpg", frame],
        ["3.jpg", frame],
      ]),
    },
    entries: 6,
    good: 1,
  }),
  "gcg-flickr": () => {
    const annotation = (id: number, image_id: number, tokens_positive: unknown, sam_mask: unknown = mask): object => ({
      id,
      image_id,
      tokens_positive,
      sam_mask,
    });
    const set = {
      images: [
        image(1, { caption: "a red box here" }),
        image(2, { caption: "a box" }),
        image(3, { caption: "a small red box", width: 20 }),
        image(4, { caption: "nothing in it at all" }),
      ],
      annotations: [
        annotation(1, 1, [[6, 9]]),
        annotation(2, 1, [[0, 5]]),
        annotation(3, 1, []),
        annotation(4, 1, [[2, 5]], damaged),
        annotation(5, 2, [[0, 1]]),
        annotation(6, 3, [[0, 1]]),
        annotation(7, 3, [[0, 1]]),
        annotation(8, 12, [[0, 1]]),
      ],
    };
    const says = ["fewer than 3 words", "a side under 32 pixels"];
    return { files: { "set.json": text(set), "a.png": picture }, entries: 8, good: 2, says };
  },
  "region-captions": () => coco((id) => ({ caption: `caption ${id}` })),
  "coco-instances": () => coco(() => ({})),
  "coco-panoptic": () => {
    const segments = (...ids: number[]): object[] => ids.map((id) => ({ id, category_id: 1 }));
    const annotation = (image_id: number, file_name: string, segments_info: unknown[]): object => ({
      image_id,
      file_name,
      segments_info,
    });
    const set = {
      images: [image(1), image(2), image(3, { file_name: "gone.png" })],
      annotations: [
        annotation(1, "s.png", [...segments(5, 77), 3, { id: 5, category_id: 8 }]),
        annotation(2, "none.png", segments(1, 2)),
        annotation(3, "s.png", segments(5)),
        annotation(9, "s.png", segments(5, 6, 7)),
      ],
      categories: [{ id: 1, name: "box" }],
    };
    const files = { "seg.json": text(set), "seg/s.png": PALETTE, "p/a.png": picture };
    return { files, entries: 10, good: 1, says: ["3 annotations are left out"] };
  },
  "gcg-grandf": () => ({
    files: {
      "set.json": text([
        {
          file_name: "a.png",
          caption: "a box and a dot",
          groundings: {
            "a box": { token_positives: [0, 5], rle_masks: [mask] },
            "a dot": { rle_masks: [mask] },
            and: { token_positives: [6, 9], rle_masks: [damaged] },
            maskless: { token_positives: [0, 1], rle_masks: [] },
            none: 7,
          },
        },
        { file_name: "gone.png", caption: "x", groundings: { x: { token_positives: [0, 1], rle_masks: [mask] } } },
      ]),
      "a.png": picture,
    },
    entries: 6,
    good: 1,
    says: ['the phrase "a dot" has no token_positives'],
  }),
  "gcg-refcocog": () => ({
    files: {
      "set.json": text([
        {
          1: {
            img_file_name: "a.png",
            caption: "The box.",
            refs: [
              { sentence: "the box", segmentation: polygon },
              { sentence: "a dog", segmentation: polygon },
              { sentence: "box", segmentation: damaged },
              3,
            ],
          },
        },
        { 2: { img_file_name: "gone.png", caption: "box", refs: [{ sentence: "box", segmentation: polygon }] } },
      ]),
      "a.png": picture,
    },
    entries: 5,
    good: 1,
    says: ['the phrase "a dog" is not in the caption'],
  }),
  osprey: () => ({
    files: {
      "set.json": text([
        {
          file_name: "a.png",
          annotation: [{ segmentation: polygon }, { segmentation: damaged }, 5, { segmentation: polygon }],
          description: ["<region1>: one", "<region2>: two", "three", 4],
        },
        { file_name: "gone.png", annotation: [{ segmentation: polygon }], description: ["one"] },
      ]),
      "a.png": picture,
    },
    entries: 5,
    good: 1,
  }),
  "sa2va-finetune": () => ({
    files: {
      "set.json": text([
        { image: "a.png", mask: [polygon, [[1, 2, 3]], polygon], text: ["one", "two", ""] },
        { image: "a.png", mask: [polygon], text: ["one", "maskless", "maskless"] },
        { image: "gone.png", mask: [polygon, polygon], text: ["one", "two"] },
      ]),
      "a.png": picture,
    },
    entries: 8,
    good: 1,
    says: ["masks (1) and texts (3) differ"],
  }),
  refs: () => refs(false),
  grefs: () => refs(true),
  "ref-sav": () => ({
    files: {
      "set.json": text({
        v1: { video_path: "gone.mp4", anno_path: "gone.json", objects: { 0: { formated: "one" }, 1: {} } },
        v2: { video_path: "gone.mp4", anno_path: "gone.json" },
      }),
    },
    entries: 3,
    good: 0,
  }),
  "clip-expressions": () => ({
    files: {
      "meta_expressions.json": text({
        videos: {
          good: {
            frames: ["00000", "00001"],
            expressions: { 0: { exp: "box", anno_id: [0] }, 1: { exp: "hidden" }, 2: { exp: "lost", anno_id: [9] } },
          },
          gone: { frames: ["00000"], expressions: { 0: { exp: "a" }, 1: { exp: "b" } } },
        },
      }),
      "mask_dict.json": text({ 0: [mask, null] }),
      "JPEGImages/good/00000.jpg": frame,
      "JPEGImages/good/00001.jpg": frame,
    },
    entries: 5,
    good: 1,
    says: ["their masks are not public", "it was left out"],
  }),
  rows: () => ({
    files: {
      "rows.jsonl": [
        text({ image: "a.png", mask_rle: mask, caption: "good" }),
        text({ image: "a.png", mask_rle: damaged, caption: "damaged" }),
        text({ image: "a.png", mask_rle: mask, caption: "" }),
        text({ image: "a.png", caption: "maskless" }),
        text({ image: "gone.png", mask_rle: mask, caption: "no picture" }),
        "{broken",
        "7",
        text({ image: "a.png", mask_rle: [mask, mask, mask], caption: ["one", "two"] }),
        text({ image: "gone.png", mask_rle: [mask, mask], caption: ["one", "two"] }),
        text({ image: "a.png", mask_rle: [mask, mask], caption: ["one", "two"] }),
      ].join("\n"),
      "a.png": picture,
    },
    entries: 14,
    good: 3,
    says: ["the row has 3 masks and 2 texts, and no text names its mask"],
  }),
};

/** Forms without a reader of records. */
const OTHERS: Readonly<Record<string, () => Case>> = {
  samples: () => ({
    files: {
      "0.tar": tar([
        ["a.png", picture],
        ["a.json", new TextEncoder().encode(text({ caption: "good", mask_rle: mask }))],
        ["b.png", picture],
        ["b.json", new TextEncoder().encode("{broken")],
        ["c.json", new TextEncoder().encode(text({ caption: "no picture", mask_rle: mask }))],
        ["c.txt", new TextEncoder().encode("no picture")],
        ["d.png", picture],
        ["e.png", picture],
        ["e.pickle", pickle({ caption: "damaged", mask_rle: damaged })],
      ]),
    },
    entries: 5,
    good: 1,
  }),
  reasonseg: () => {
    const shapes = [{ label: "target", points: polygon[0]?.reduce<number[][]>(pairs, []) }];
    const json = (value: object): string => text({ is_sentence: true, ...value });
    return {
      files: {
        "a.json": json({ shapes, text: ["one", ""] }),
        "a.png": picture,
        "b.json": json({ shapes: [], text: ["maskless"] }),
        "b.png": picture,
        "c.json": json({ shapes, text: [] }),
        "c.png": picture,
        "d.json": "{broken",
        "d.png": picture,
      },
      entries: 5,
      good: 1,
    };
  },
  arrow: () => ({
    files: {
      "data-00000-of-00001.arrow": writeRegionShard([
        row(),
        row({}, " "),
        row({ image: { bytes: Uint8Array.of(1, 2), path: "x" } }),
        row({ mask: { size: [24, 32], counts: "!!" } }),
      ]),
    },
    entries: 4,
    good: 1,
  }),
  parquet: () => {
    const column = (name: string, values: readonly string[]) => ({ name, values, kind: "text" as const });
    const rows = [
      ["a.png", text(mask), "good"],
      ["a.png", text(damaged), "damaged"],
      ["gone.png", text([mask, mask]), "one"],
      ["a.png", text(mask), ""],
    ];
    const columns = ["image", "mask_rle", "caption"].map((name, at) =>
      column(
        name,
        rows.map((one) => one[at] as string),
      ),
    );
    return { files: { "train.parquet": writeParquet(columns, "a test"), "a.png": picture }, entries: 5, good: 1 };
  },
};

function pairs(list: number[][], value: number, at: number): number[][] {
  if (at % 2 === 0) list.push([value]);
  else list.at(-1)?.push(value);
  return list;
}

test("every reader of records has a case", () => {
  const open = READERS.filter((reader) => typeof reader.open !== "string").map(({ label }) => label);
  expect(Object.keys(CASES).sort()).toEqual(open.sort());
});

test.each(Object.entries({ ...CASES, ...OTHERS }))("%s", async (_, make) => {
  const { files, entries, good, says = [] } = make();
  const set = await openRegionSet(memoryFolder(files));
  const told = set.skipped.map((one) => `${one.file} ${one.row} ${one.lost ?? ""} ${one.reason}`).join("\n");
  expect(set.summaries.length, told).toBe(good);
  expect(set.summaries.length + lostBy(set.skipped), told).toBe(entries);
  for (const part of says) expect(told).toContain(part);
});

test.each(Object.entries({ ...CASES, ...OTHERS }))("%s is cancelled at any read", async (_, make) => {
  const files = memoryFolder(make().files);
  /** Opens the set and aborts at a read; `after` counts the reads that follow. */
  const open = async (last: number) => {
    const stop = new AbortController();
    let [reads, after] = [0, 0];
    const watched = (source: ByteSource | undefined): ByteSource | undefined =>
      source && {
        ...source,
        read: (from, to) => {
          if (stop.signal.aborted) after++;
          if (++reads === last) stop.abort();
          return source.read(from, to);
        },
      };
    const folder = { ...files, get: (path: string) => watched(files.get(path)) };
    const code = await openRegionSet(folder, { signal: stop.signal }).then(
      () => "opened",
      (thrown: unknown) => toLabError(thrown).code,
    );
    return { code, after, reads };
  };
  const { reads, code } = await open(Number.POSITIVE_INFINITY);
  expect(code).toBe("opened");
  expect(reads).toBeGreaterThan(2);
  for (let at = 1; at <= reads; at++) expect(await open(at)).toEqual({ code: "cancelled", after: 0, reads: at });
});
