/** Masklets for expressions about clips: MeViS, Ref-DAVIS17, ReVOS and what has their form (docs/spec/video.md#11-scores). */
import { type Clip, openClips } from "../../data/clips/clip-set.ts";
import type { FrameMask } from "../../data/mask/boundary.ts";
import { decodeRle, encodeRle, type Rle } from "../../data/mask/rle.ts";
import { LabError } from "../../errors.ts";
import { type ClusterStatistic, type Clusters, meanOf } from "../cluster-bootstrap.ts";
import { type MaskletScore, maskletScore, roundedScore } from "../video/masklet-score.ts";
import { type AnsweredItem, publishedScores, type Suite, type SuiteItem, type SuiteMetric } from "./suite.ts";

const CARD = "model card of ByteDance/Sa2VA (InternVL2.5 weights)";
/** Kinds of ReVOS; others do not count. */
const KINDS = ["referring", "reasoning"];

export const vos: Suite = {
  name: "vos",
  what: "masklets for expressions about clips",
  rule: "J and F of all frames of the first masklet, no masklet as empty masks, mean over expressions; with kinds the mean of both kinds",
  split: undefined,
  judged: false,
  published: {
    valid_u: publishedScores(`${CARD}, MeViS`, "J&F", { "Sa2VA-1B": 53.4, "Sa2VA-4B": 55.9, "Sa2VA-8B": 58.9 }),
    valid: publishedScores(`${CARD}, Ref-DAVIS17`, "J&F", { "Sa2VA-1B": 69.5, "Sa2VA-4B": 73.7, "Sa2VA-8B": 75.9 }),
  },
  open: async (folder, split) => {
    const set = await openClips(folder, split);
    const leftOut = [...set.leftOut];
    const items: SuiteItem[] = [];
    const clips: Clip[] = [];
    for (const clip of set.clips) {
      for (const { id, text, type, truth } of clip.expressions) {
        if (truth === undefined || text === "") {
          leftOut.push(
            `${clip.id}, ${id}: ${truth === undefined ? "its masks are not public" : "it has no expression"}`,
          );
          continue;
        }
        const kind = type === undefined ? {} : { kind: KINDS[type] ?? "uncounted" };
        const masks = await truth();
        const { size } = masks[0] as Rle;
        items.push({ id: `${clip.id}#${id}`, imageId: clip.id, size, text, masks, ...kind });
        clips.push(clip);
      }
    }
    return {
      items,
      leftOut,
      picture: () => Promise.reject(new LabError("unsupported", "Clips are followed by npm run eval only")),
      clip: (index) => clips[index] as Clip,
    };
  },
  task: ({ text }, answers) => ({ kind: "follow", phrase: text, answers }),
  metrics,
  score: (row) => scoreOf(row).jf,
};

function metrics(rows: readonly AnsweredItem[], clusters: Clusters): SuiteMetric[] {
  const scores = rows.map((row) => ({ ...scoreOf(row), kind: row.item.kind }));
  const names = { J: "j", F: "f", "J&F": "jf" } as const;
  return Object.entries(names).flatMap(([name, key]): SuiteMetric[] => {
    if (scores.every(({ kind }) => kind === undefined)) {
      return [{ name, statistic: meanOf(scores, clusters, (score) => score[key]) }];
    }
    const of = (wanted: string): ClusterStatistic =>
      meanOf(scores, clusters, (score) => (score.kind === wanted ? roundedScore(score[key]) : null));
    const [referring, reasoning] = KINDS.map(of) as [ClusterStatistic, ClusterStatistic];
    return [
      { name: `${name} referring`, statistic: referring },
      { name: `${name} reasoning`, statistic: reasoning },
      { name, statistic: (drawn) => (referring(drawn) + reasoning(drawn)) / 2 },
    ];
  });
}

function scoreOf({ item, answer }: AnsweredItem): MaskletScore {
  const found = answer.masks ?? [];
  return maskletScore(
    item.masks.map(frameMask),
    item.masks.map((truth, at) => frameMask(found[at] ?? emptyMask(truth))),
  );
}

function frameMask(rle: Rle): FrameMask {
  return { data: decodeRle(rle), height: rle.size[0], width: rle.size[1] };
}

function emptyMask({ size: [height, width] }: Rle): Rle {
  return encodeRle(new Uint8Array(height * width), height, width);
}
