/** A sweep as one self-contained HTML file: table, curves, and the rollouts behind the numbers. */
import { base64, escaped } from "../../engine/bytes/text.ts";
import { weightedLoops } from "../../engine/config/derived.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import type { RgbImage } from "../../engine/data/sample.ts";
import { aboutLoop, HELD_OUT_LOOPS } from "../../engine/rl/loops/abouts.ts";
import type { EvalMetric } from "../../engine/runs/evaluations/evaluation-metrics.ts";
import type { RowScores } from "../../engine/runs/evaluations/evaluations.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import { groupPicture, maskTiles } from "../../engine/runs/rollouts/rollout-picture.ts";
import { openRun } from "../../engine/runs/run-folder.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import { curveSvg } from "./curve-svg.ts";
import type { SweepJob, SweepPlan } from "./plan.ts";
import type { DoneJob, VariantResult } from "./results.ts";
import { fewPicturesNotes, markedDifference, rowsText } from "./table.ts";

/** Number of held-out rows shown of each kind. */
const SHOWN = 4;
/** Number of groups shown of a step. */
const GROUPS = 3;

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #ccc;padding:.3rem .5rem;text-align:left;vertical-align:top}
figure{margin:1rem 0}figcaption{font-size:13px;color:#444}img,svg{max-width:100%;height:auto}h3{margin-top:2rem}`;

/** Sources of data that the results do not contain. */
interface ReportSources {
  /** The store with the job's run. */
  readonly store: (job: SweepJob) => RunStore;
  /** Picture and true mask of a row; null if its data set is not open. */
  readonly row: (
    rowId: string,
    imageId: string | null,
  ) => Promise<{ readonly rgb: RgbImage; readonly mask: Rle } | null>;
}

/** @returns the document */
export async function sweepReport(
  plan: SweepPlan,
  results: readonly VariantResult[],
  sources: ReportSources,
): Promise<string> {
  const sections: string[] = [];
  for (const result of results) sections.push(await variantSection(result, sources));
  const missing = plan.jobs.length - results.reduce((sum, { jobs }) => sum + jobs.length, 0);
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(plan.title)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escaped(plan.title)}</h1>`,
    plan.question === null ? "" : `<p>${escaped(plan.question)}</p>`,
    missing === 0 ? "" : `<p><strong>${missing} of ${plan.jobs.length} jobs are not finished.</strong></p>`,
    "<h2>Held-out differences from the start</h2>",
    "<p>Paired by row. 95 % bootstrap intervals: of one seed over pictures, of all seeds over both seeds and pictures. Bold: the interval excludes 0.</p>",
    resultTable(plan, results),
    ...fewPicturesNotes(results).map((note) => `<p>${escaped(note)}</p>`),
    ...sections,
    "</body></html>\n",
  ].join("\n");
}

function resultTable(plan: SweepPlan, results: readonly VariantResult[]): string {
  const body = plan.metrics.flatMap((metric) =>
    results.flatMap(({ variant, rows, metrics }) => {
      const found = metrics[metric];
      if (found === undefined) return [];
      const seeds = found.seeds.map(
        ({ seed, difference }) => `${seed}: ${bold(markedDifference(difference, found.images))}`,
      );
      const cells = [
        escaped(variant),
        metric,
        rowsText(found, rows),
        found.start.toFixed(3),
        found.all === null ? "–" : bold(markedDifference(found.all, found.images)),
        found.runs === null ? "–" : bold(markedDifference(found.runs, found.images)),
        seeds.join("<br>"),
      ];
      return [`<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`];
    }),
  );
  const head = ["variant", "score", "rows (pictures)", "start", "difference over seeds", "between runs (t)", "by seed"];
  return `<table><tr>${head.map((cell) => `<th>${cell}</th>`).join("")}</tr>${body.join("\n")}</table>`;
}

async function variantSection({ variant, jobs }: VariantResult, sources: ReportSources): Promise<string> {
  const curves = curveSvg(jobs.map(({ job, evaluations }) => ({ name: `seed ${job.seed}`, evaluations })));
  const first = jobs[0] as DoneJob;
  const metric = shownMetric(first.job.config);
  const gains = first.before
    .map((before, at) => ({ before, after: first.after[at] as RowScores }))
    .sort((a, b) => b.after[metric] - b.before[metric] - (a.after[metric] - a.before[metric]));
  const middle = Math.max(0, Math.floor((gains.length - SHOWN) / 2));
  const kinds = [
    ["Largest gains", gains.slice(0, SHOWN)],
    ["Median rows", gains.slice(middle, middle + SHOWN)],
    ["Largest losses", gains.slice(-SHOWN).reverse()],
  ] as const;
  const parts: string[] = [];
  for (const [title, shown] of kinds) {
    parts.push(`<h4>${title} in ${metric}</h4>`);
    for (const { before, after } of shown) parts.push(await rowFigure(before, after, metric, sources));
  }
  return [
    `<h3>${escaped(variant)}</h3>`,
    `<figure>${curves}<figcaption>Differences from the start over the steps, one line per seed.</figcaption></figure>`,
    `<h4>Held-out rows of seed ${first.job.seed}</h4><p>Tiles: true mask, mask before, mask after (greedy, for the true caption).</p>`,
    ...parts,
    `<h4>Training groups of the last step, seed ${first.job.seed}</h4>`,
    ...(await groupFigures(first, sources)),
  ].join("\n");
}

/** The greedy score of the loop that learns; grounding if the loop samples masks. */
function shownMetric(config: LabConfig): EvalMetric {
  const learning = weightedLoops(config);
  const texts = HELD_OUT_LOOPS.find(({ id }) => learning.includes(id));
  if (texts === undefined || learning.some((id) => aboutLoop(id).samples === "mask")) return "grounding_iou";
  return `loop${texts.id}_greedy`;
}

async function rowFigure(
  before: RowScores,
  after: RowScores,
  metric: EvalMetric,
  sources: ReportSources,
): Promise<string> {
  const row = await sources.row(before.rowId, before.imageId ?? null);
  const { png } = maskTiles(row?.mask ?? before.maskGreedy, [before.maskGreedy, after.maskGreedy], row?.rgb ?? null);
  const text = [
    `${before.rowId}: “${before.caption}”`,
    `${metric} ${before[metric].toFixed(2)} → ${after[metric].toFixed(2)}`,
    `caption′ “${before.captionPrime}” → “${after.captionPrime}”`,
    `caption of the true mask “${before.captionGreedy}” → “${after.captionGreedy}”`,
  ];
  return `<figure>${image(png)}<figcaption>${text.map(escaped).join("<br>")}</figcaption></figure>`;
}

async function groupFigures({ job, run }: DoneJob, sources: ReportSources): Promise<string[]> {
  const folder = await openRun(sources.store(job), run);
  const last = (await folder.groupSteps()).at(-1);
  if (last === undefined) return ["<p>The run kept no rollouts.</p>"];
  const groups: readonly GroupRecord[] = (await folder.readGroups(last)).slice(0, GROUPS);
  const figures: string[] = [];
  for (const group of groups) {
    const imageId = group.rollouts[0]?.imageId ?? null;
    const { png } = groupPicture(group, (await sources.row(group.rowId, imageId))?.rgb ?? null);
    const said = group.rollouts.map(
      ({ reward, advantage, caption, captionPrime }) =>
        `reward ${reward?.toFixed(3) ?? "missing"}, advantage ${advantage.toFixed(2)}: “${captionPrime ?? caption}”`,
    );
    const head = `Step ${last}, loop ${group.loop}, ${group.rowId}: “${group.rollouts[0]?.referenceCaption ?? ""}”`;
    figures.push(`<figure>${image(png)}<figcaption>${[head, ...said].map(escaped).join("<br>")}</figcaption></figure>`);
  }
  return figures;
}

function image(png: Uint8Array): string {
  return `<img alt="Masks on the picture" src="data:image/png;base64,${base64(png)}">`;
}

function bold(text: string): string {
  return escaped(text).replace(/^\*\*(.*)\*\*$/, "<strong>$1</strong>");
}
