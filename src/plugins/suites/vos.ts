/** Masklets for expressions about clips, for the published data sets (docs/spec/video.md#11-scores). */
import type { ByteFolder } from "../../engine/bytes/source.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { type ClusterStatistic, type Clusters, meanOf } from "../../engine/eval/bootstrap.ts";
import { emptyMask } from "../data-sets/clip-masks.ts";
import { type Clip, openClips } from "../data-sets/clip-set.ts";
import { clipSize } from "../data-sets/frame-picture.ts";
import { checkMaskSizes, type MaskletScore, maskletScore, pixelScores, roundedScore } from "./masklet-score.ts";
import {
  type AnsweredItem,
  publishedScores,
  type Suite,
  type SuiteItem,
  type SuiteMetric,
  type SuiteRows,
} from "./suite.ts";

const CARD = "model card of ByteDance/Sa2VA (InternVL2.5 weights)";
const PAPER = "Sa2VA paper (InternVL2 weights)";
/** Kinds of expressions of ReVOS; for Ref-SAV, its long and short texts. Other kinds do not count. */
const KINDS = ["referring", "reasoning"];
const LENGTHS = ["long", "short"];

/** The suites of all sets share layout and counting; names of kinds and published scores differ. */
function clipSuite(
  name: string,
  set: string,
  published: Readonly<Record<string, Readonly<Record<string, number>>>> = {},
  { source = CARD, kinds = KINDS }: { readonly source?: string; readonly kinds?: readonly string[] } = {},
): Suite {
  return {
    name,
    what: `${set}, masklets for expressions about clips`,
    rule: "J and F of all frames of the first masklet, mean over expressions; no masklet counts as empty masks; with kinds, the mean of both kinds, with pixel accuracy A and, of ReVOS, robustness R",
    split: "",
    judged: false,
    published: Object.fromEntries(
      Object.entries(published).map(([split, scores]) => [split, publishedScores(`${source}, ${set}`, "J&F", scores)]),
    ),
    open: (folder, split) => openClipRows(folder, split, kinds),
    task: ({ text }, answers) => ({ kind: "follow", phrase: text, answers }),
    metrics: (rows, clusters) => metrics(rows, clusters, kinds),
    score: (row) => scoreOf(row).jf,
  };
}

/** Any folder in these layouts, without published scores. */
export const vos = clipSuite("vos", "any set");
export const CLIP_SUITES: readonly Suite[] = [
  vos,
  clipSuite("refytvos", "Ref-YouTube-VOS", {
    valid: { "Sa2VA-1B": 68.0, "Sa2VA-4B": 71.3, "Sa2VA-8B": 72.3 },
  }),
  clipSuite("mevis", "MeViS", { valid_u: { "Sa2VA-1B": 53.4, "Sa2VA-4B": 55.9, "Sa2VA-8B": 58.9 } }),
  clipSuite("revos", "ReVOS", { valid: { "Sa2VA-1B": 47.6, "Sa2VA-4B": 53.2, "Sa2VA-8B": 57.6 } }, { source: PAPER }),
  clipSuite("refdavis", "Ref-DAVIS17", { valid: { "Sa2VA-1B": 69.5, "Sa2VA-4B": 73.7, "Sa2VA-8B": 75.9 } }),
  clipSuite("refsav", "Ref-SAV", { valid: { "Sa2VA-8B": 50.0 } }, { source: PAPER, kinds: LENGTHS }),
];

async function openClipRows(
  folder: ByteFolder,
  split: string | undefined,
  kinds: readonly string[],
): Promise<SuiteRows> {
  const set = await openClips(folder, split);
  const leftOut = [...set.leftOut];
  const items: SuiteItem[] = [];
  const clips: Clip[] = [];
  for (const clip of set.clips) {
    if (clip.expressions.length === 0) leftOut.push(`${clip.id}: it has neither expressions nor annotated frames`);
    const found = await scoredRows(clip, kinds, leftOut);
    items.push(...found);
    clips.push(...found.map(() => clip));
  }
  return {
    items,
    // A damaged file of foreground masks gives the same sentence for every clip.
    leftOut: [...new Set(leftOut)],
    picture: () => Promise.reject(new LabError("unsupported", "Only npm run eval can follow clips")),
    clip: (index) => clips[index] as Clip,
  };
}

/** The expressions of a clip that can be scored; for each of the others a sentence is added to `leftOut`. */
async function scoredRows(clip: Clip, kinds: readonly string[], leftOut: string[]): Promise<SuiteItem[]> {
  const items: SuiteItem[] = [];
  let frames: readonly [height: number, width: number] | undefined;
  const orSaid = async (add: () => Promise<void>): Promise<void> => {
    try {
      await add();
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      leftOut.push(thrown.message);
    }
  };
  let pixels: readonly number[] | undefined;
  await orSaid(async () => {
    pixels = await clip.foreground?.();
  });
  for (const { id, text, type, truth } of clip.expressions) {
    await orSaid(async () => {
      if (truth === undefined) throw badInput(`${clip.id}, ${id}: its masks are not public`);
      if (text === "") throw badInput(`${clip.id}, ${id}: it has no expression`);
      const masks = await truth();
      frames ??= await clipSize(clip.frames);
      checkMaskSizes(`${clip.id}, ${id}`, masks, frames);
      const kind = type === undefined ? {} : { kind: kinds[type] ?? "uncounted" };
      const foreground = pixels === undefined ? {} : { foreground: pixels };
      items.push({ id: `${clip.id}#${id}`, imageId: clip.id, size: frames, text, masks, ...kind, ...foreground });
    });
  }
  return items;
}

function metrics(rows: readonly AnsweredItem[], clusters: Clusters, kinds: readonly string[]): SuiteMetric[] {
  const scores = rows.map((row) => ({ ...scoreOf(row), kind: row.item.kind }));
  type Key = "j" | "f" | "a" | "r";
  const of = (key: Key, kind: string | undefined): ClusterStatistic =>
    meanOf(scores, clusters, (score) => {
      const value = score[key];
      if (kind === undefined || value === null) return value;
      return score.kind === kind ? roundedScore(value) : null;
    });
  const named = (kind: string | undefined): Readonly<Record<string, ClusterStatistic>> => {
    const [j, f] = [of("j", kind), of("f", kind)];
    return { J: j, F: f, "J&F": halfOf(j, f), ...(kind === undefined ? {} : { A: of("a", kind), R: of("r", kind) }) };
  };
  if (scores.every(({ kind }) => kind === undefined)) {
    return Object.entries(named(undefined)).map(([name, statistic]) => ({ name, statistic }));
  }
  const [one, other] = kinds.map(named) as [ReturnType<typeof named>, ReturnType<typeof named>];
  return Object.keys(one).flatMap((name) => {
    const [first, second] = [one[name], other[name]] as [ClusterStatistic, ClusterStatistic];
    return [
      { name: `${name} ${kinds[0]}`, statistic: first },
      { name: `${name} ${kinds[1]}`, statistic: second },
      { name, statistic: halfOf(first, second) },
    ];
  });
}

function halfOf(one: ClusterStatistic, other: ClusterStatistic): ClusterStatistic {
  return (drawn) => (one(drawn) + other(drawn)) / 2;
}

function scoreOf({ item, answer }: AnsweredItem): MaskletScore & ReturnType<typeof pixelScores> {
  const found = answer.masks ?? [];
  const masks = item.masks.map((truth, at) => found[at] ?? emptyMask(truth.size));
  return { ...maskletScore(item.masks, masks), ...pixelScores(item.masks, masks, item.foreground) };
}
