/** gRefCOCO: sentences for one, several or no objects, counted as ReLA does (docs/spec/evaluation.md#16-grefcoco-rela-evaluator-iougrefjson). */
import { type Rle, rleArea } from "../../engine/data/mask/rle.ts";
import { badInput } from "../../engine/errors.ts";
import { type Clusters, meanOf, ratio } from "../../engine/eval/bootstrap.ts";
import { maskOfRef, readRefs } from "../data-sets/refs.ts";
import { type Overlap, overlapOf, segmentTask, unitedAnswer } from "./masks.ts";
import { findFiles, type PictureItem, pictureRows, type SuiteFile } from "./rows.ts";
import type { AnsweredItem, Suite, SuiteMetric } from "./suite.ts";

export const grefcoco: Suite = {
  name: "grefcoco",
  what: "gRefCOCO, masks for sentences with one, several or no target",
  rule: "all masks of a sentence united; fewer than 50 pixels count as no target",
  split: "val",
  judged: false,
  published: {},
  async open(folder, split, signal) {
    const found = await findFiles(folder, { grefs: "a grefs file with its instances and pictures" }, signal);
    const [file] = found.get("grefs") as readonly [SuiteFile];
    const { rows, coco, left } = await readRefs({ ...file, split, signal });
    const entries = rows.map((refs) => {
      const image = coco.images.get(refs[0]?.imageId ?? "");
      return {
        picture: image?.fileName,
        rows: async (mask: (segmentation: unknown) => Promise<Rle>): Promise<PictureItem[]> => {
          const items: PictureItem[] = [];
          for (const ref of refs) {
            if (image === undefined) break;
            const lost = ref.annotations.find((id) => !coco.byId.has(id));
            if (lost !== undefined)
              throw badInput(`ref ${ref.id} names mask ${lost}, which the instances lack or have twice`);
            const target = ref.annotations.length === 0 ? null : (await maskOfRef(coco, image, ref)).mask;
            const masks = target === null ? [] : [await mask(target)];
            ref.sentences.forEach((text, at) => void items.push({ id: `ref ${ref.id}/${at}`, text, masks }));
          }
          return items;
        },
      };
    });
    const read = await pictureRows(file, entries, signal);
    return left === undefined ? read : { ...read, leftOut: [left, ...read.leftOut] };
  },
  task: segmentTask,
  metrics: (rows, clusters) => gresMetrics(rows.map(gresRow), clusters),
  score: (row) => gresIou(gresRow(row)),
};

/** Pixel counts of a sentence, and whether its truth and answer have a target. */
export interface GresRow extends Overlap {
  /** The sentence refers to nothing in the picture. */
  readonly noTarget: boolean;
  /** The answer has no target. */
  readonly declared: boolean;
}

/** Minimum pixels of a mask that counts as a target, because the models do not declare "no target". */
const FEWEST_PIXELS = 50;
const BOUNDS = [0.7, 0.8, 0.9] as const;

/** The counts of an answered sentence. */
export function gresRow(row: AnsweredItem): GresRow {
  const mask = unitedAnswer(row.answer);
  const pixels = mask === null ? 0 : rleArea(mask);
  const declared = pixels < FEWEST_PIXELS;
  if (row.item.masks.length === 0) return { noTarget: true, declared, intersection: 0, union: pixels };
  return { noTarget: false, declared, ...overlapOf(row) };
}

/** A sentence's IoU in gIoU. If truth or answer has no target: 1 if both have none, else 0, whatever the masks. */
export function gresIou({ noTarget, declared, intersection, union }: GresRow): number {
  if (noTarget) return declared ? 1 : 0;
  return declared || union === 0 ? 0 : intersection / union;
}

/** Pixels of a sentence in cIoU. An answer without a target meets no pixel; if that is right, none counts. */
export function gresPixels(row: GresRow): Pick<GresRow, "intersection" | "union"> {
  const { noTarget, declared, intersection, union } = row;
  return {
    intersection: noTarget || declared ? 0 : intersection,
    union: noTarget && declared ? 0 : union,
  };
}

/**
 * gIoU, cIoU, the shares of sentences without and with a target that are recognised as such, and Pr@x of the sentences
 * with a target.
 */
export function gresMetrics(rows: readonly GresRow[], clusters: Clusters): SuiteMetric[] {
  const among = (side: boolean, value: (row: GresRow) => boolean) =>
    meanOf(rows, clusters, (row) => (row.noTarget === side ? Number(value(row)) : null));
  const kinds = new Set(rows.map(({ noTarget }) => noTarget));
  return [
    { name: "gIoU", statistic: meanOf(rows, clusters, gresIou) },
    {
      name: "cIoU",
      statistic: ratio(rows, clusters, (row) => {
        const { intersection, union } = gresPixels(row);
        return { sum: intersection, weight: union };
      }),
    },
    ...(kinds.has(true) ? [{ name: "N-acc", statistic: among(true, ({ declared }) => declared) }] : []),
    ...(kinds.has(false)
      ? [
          { name: "T-acc", statistic: among(false, ({ declared }) => !declared) },
          ...BOUNDS.map((bound) => ({
            name: `Pr@${bound}`,
            statistic: among(false, (row) => gresIou(row) >= bound),
          })),
        ]
      : []),
  ];
}
