/** A run as one HTML file: result, curves, best and worst rollouts, held-out rows, settings. */

import { base64, escaped } from "../../engine/bytes/text.ts";
import { activeLoops } from "../../engine/config/derived.ts";
import { defaultConfig, SETTING_KEYS } from "../../engine/config/parse.ts";
import { SETTINGS } from "../../engine/config/table.ts";
import { type ExportFormat, wholeFile } from "../../engine/export/export-file.ts";
import { HELD_OUT_LOOPS, LOOP_IDS, LOOPS } from "../../engine/rl/loops/abouts.ts";
import { readAlarms } from "../../engine/runs/alarms.ts";
import {
  fewPicturesText,
  rangeText,
  SCORE_DECIMALS,
  signed,
  verdict,
} from "../../engine/runs/evaluations/difference-text.ts";
import { reportPictures, type ScoreId, scoreOf } from "../../engine/runs/evaluations/evaluation-scores.ts";
import { readEvaluations, type StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import { gainsOf } from "../../engine/runs/evaluations/gains.ts";
import {
  type RowPair,
  type RunResult,
  rowPairs,
  runResult,
  type ScoreResult,
} from "../../engine/runs/library/run-result.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import { type RunNotes, readNotes } from "../../engine/runs/notes.ts";
import type { RolloutRecord, StepMetrics } from "../../engine/runs/rollouts/records.ts";
import { drawnMask, noisyMask } from "../../engine/runs/rollouts/rollout-facts.ts";
import { maskTiles, type PictureOf } from "../../engine/runs/rollouts/rollout-picture.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";
import type { plugin } from "./index.ts";
import { type ChartLine, lineChart } from "./line-chart.ts";

/** Parts of a self-contained HTML document without external references. */
const STYLE = `
:root{color-scheme:light dark;--ink:#16181d;--quiet:#5d6470;--line:#d9dde4;--ground:#fff;--soft:#f4f6f9;--a:#0b5cad;--b:#b8460b;--c:#15803d;--d:#7e22ce}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaef;--quiet:#9aa3b2;--line:#343a46;--ground:#14161a;--soft:#1d2027;--a:#6cb2ff;--b:#ffa066;--c:#5fd38a;--d:#cda2ff}}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:2rem 1rem 4rem;color:var(--ink);background:var(--ground)}
h1{font-size:2rem;line-height:1.15;margin:0}h2{font-size:1.25rem;margin:2.5rem 0 .75rem}p{margin:.5rem 0}
.quiet,figcaption,th{color:var(--quiet)}figcaption,table,svg text{font-size:13px;font-variant-numeric:tabular-nums}
.note{white-space:pre-wrap;overflow-wrap:anywhere}.headline{font-size:1.5rem;line-height:1.3;margin:1.25rem 0}.better{color:var(--c)}.worse{color:var(--b)}
.grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr))}
figure{margin:0;padding:.75rem;background:var(--soft);border-radius:8px;min-width:0;overflow-wrap:anywhere}
figure img,figure svg{display:block;width:100%;height:auto}img{image-rendering:pixelated;border-radius:4px}
.scroll{overflow-x:auto}table{border-collapse:collapse}td,th{padding:.25rem .75rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}
td.n{text-align:right}b{font-weight:600}summary{cursor:pointer}`;

/** @param body HTML */
function htmlDocument(title: string, body: readonly string[]): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">`,
    `<link rel="icon" href="data:,"><title>${escaped(title)}</title><style>${STYLE}</style></head><body>`,
    ...body,
    "</body></html>\n",
  ].join("\n");
}

/** @param head column titles @param rows cells as HTML; numbers are columns after the first */
function htmlTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const title = head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join("");
  const body = rows.map(
    (row) => `<tr>${row.map((cell, at) => `<td${at === 0 ? "" : ' class="n"'}>${cell}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll" tabindex="0"><table><thead><tr>${title}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>`;
}

/**
 * An embedded picture.
 * @param lines lines of text below it
 */
function pngFigure(png: Uint8Array, alt: string, lines: readonly string[]): string {
  const text = lines.map(escaped).join("<br>");
  return `<figure><img alt="${escaped(alt)}" src="data:image/png;base64,${base64(png)}"><figcaption>${text}</figcaption></figure>`;
}

/** Number of newest steps with rollouts from which the best and worst are chosen. */
const STEPS = 40;
/** Number of rollouts of each kind per loop, and of held-out rows of each kind. */
const SHOWN = 3;

/** The greedy score of a loop. */
const FIXED_GREEDY = /^loop\d_greedy$/;

/** Metrics drawn for each loop, in addition to those of the whole step. */
const PER_LOOP = [
  ["reward", "Reward"],
  ["reward_over_start", "Gain over start"],
  ["frac_reward_zero_std", "Groups without signal"],
  ["kl", "KL to the reference, nats"],
  ["entropy", "Entropy, nats"],
] as const;
const OF_THE_STEP = [
  ["grad_norm", "Gradient norm"],
  ["sft/loss", "Supervised loss"],
] as const;

export const REPORT_EXPORTS: Readonly<Record<keyof typeof plugin.exports, ExportFormat>> = {
  report: {
    uses: ["pictureOf"],
    page: { ending: "html", type: "text/html" },
    lacks: (_, { dataSet = null }) => (dataSet === null ? "with small pictures: its data is not open" : null),
    async *files(run, { pictureOf = null }) {
      yield wholeFile("report.html", await runReport(run, pictureOf));
    },
  },
};

/** @param pictureOf pictures below drawn masks; null draws only the masks */
export async function runReport(run: RunFolder, pictureOf: PictureOf | null): Promise<string> {
  const manifest = run.manifest();
  const metrics = await run.readMetrics();
  const evaluations = await readEvaluations(run.store, run.id);
  const alarms = await readAlarms(run.store, run.id);
  const result = runResult(evaluations);
  return htmlDocument(manifest.title, [
    `<h1>${escaped(manifest.title)}</h1>`,
    `<p class="quiet">${escaped(aboutText(manifest, metrics.at(-1)?.step ?? 0))}</p>`,
    ...noteParts(await readNotes(run.store, run.id)),
    ...resultParts(result, manifest),
    "<h2>Curves</h2>",
    `<div class="grid">${[...curves(metrics), ...evaluationCurves(evaluations)].join("\n")}</div>`,
    ...(await rolloutParts(run, pictureOf)),
    ...(result === null ? [] : await rowParts(result, pictureOf)),
    ...(alarms.length === 0
      ? []
      : [
          "<h2>Alarms</h2>",
          htmlTable(
            ["Step", "Message"],
            alarms.map(({ step, message }) => [String(step), escaped(message)]),
          ),
        ]),
    ...settingParts(manifest),
  ]);
}

function aboutText({ model, data, adapter, created, config, version }: RunManifest, done: number): string {
  return [
    `${done} of ${config.steps} steps`,
    `${model.name}, ${model.trainableParameters.toLocaleString("en")} of ${model.parameters.toLocaleString("en")} parameters trained`,
    `${data.name}: ${data.trainRows} training rows, ${data.heldOutRows} held out`,
    adapter.description || adapter.vendor,
    created.slice(0, 16).replace("T", " "),
    `sa2va-lab ${version}`,
  ].join(" · ");
}

function noteParts({ text, tags, steps }: RunNotes): string[] {
  return [
    ...(tags.length === 0 ? [] : [`<p class="quiet">Tags: ${escaped(tags.join(", "))}</p>`]),
    ...(text === "" ? [] : [`<p class="note">${escaped(text)}</p>`]),
    ...steps.map((note) => `<p class="note">Step ${note.step}: ${escaped(note.text)}</p>`),
  ];
}

function resultParts(result: RunResult | null, { config }: RunManifest): string[] {
  if (result === null) return ['<p class="headline">This run was not evaluated on held-out rows</p>'];
  const { last, first, scores } = result;
  const pairs = ({ better, worse, same }: ScoreResult): number => better + worse + same;
  const pictures = reportPictures(last.rows);
  const gains = gainsOf(
    scores.map(({ id }) => id),
    activeLoops(config),
  );
  const lines = gains.flatMap(({ name, scores: parts }) =>
    parts.map(({ id, answers }) => {
      const found = scores.find((own) => own.id === id) as ScoreResult;
      const { better, worse } = found;
      const { difference } = found.score;
      return `<p class="headline"><b class="${verdict(difference, pictures)}">${signed(difference.mean)}</b> ${escaped(name)}, ${answers} (${rangeText(difference)}), on ${pairs(found)} held-out rows: ${better} better, ${worse} worse</p>`;
    }),
  );
  const head = [
    "Score",
    `Step ${first.report.step}`,
    `Step ${last.report.step}`,
    "Difference",
    "95 % interval",
    "Rows",
  ];
  const rows = scores.map((found) => [
    escaped(nameOf(found.id)),
    found.score.start?.toFixed(SCORE_DECIMALS) ?? "–",
    found.score.mean.toFixed(SCORE_DECIMALS),
    signed(found.score.difference.mean),
    rangeText(found.score.difference),
    String(pairs(found)),
  ]);
  const partial = scores.some((found) => pairs(found) < last.report.n);
  const note =
    '<p class="quiet">Some rows lack a verdict of the judge at a step. All numbers of a line leave them out.</p>';
  const few = fewPicturesText(pictures);
  return [
    ...lines,
    ...(few === "" ? [] : [`<p class="quiet">${few}</p>`]),
    htmlTable(head, rows),
    ...(partial ? [note] : []),
  ];
}

function nameOf(id: ScoreId): string {
  const found = /^(reward|loop)(\d)_(sampled|greedy)$/.exec(id);
  if (found === null) return id === "grounding_iou" ? "Grounding IoU" : "Caption METEOR";
  const score = found[1] === "reward" ? "reward" : HELD_OUT_LOOPS.find((loop) => String(loop.id) === found[2])?.score;
  return `loop ${found[2]} ${score ?? ""}, ${found[3]}`;
}

function curves(metrics: readonly StepMetrics[]): string[] {
  const line = (name: string, metric: string): ChartLine => ({
    name,
    points: metrics.flatMap((row) => {
      const value = row[metric];
      return value === undefined ? [] : [[row.step as number, value] as const];
    }),
  });
  return [
    ...PER_LOOP.map(([metric, title]) =>
      lineChart(
        title,
        LOOP_IDS.map((loop) => line(`loop ${loop}`, `loop${loop}/${metric}`)),
      ),
    ),
    ...OF_THE_STEP.map(([metric, title]) => lineChart(title, [line("", metric)])),
  ].filter((chart) => chart !== null);
}

function evaluationCurves(list: readonly StoredEvaluation[]): string[] {
  if (list.length < 2) return [];
  const line = (id: ScoreId): ChartLine => {
    const scores = list.flatMap(({ report }) => {
      const score = scoreOf(report, id);
      return score === null ? [] : [{ step: report.step, ...score }];
    });
    return {
      name: `loop ${/\d/.exec(id)?.[0] ?? ""}`,
      points: scores.map(({ step, mean }) => [step, mean]),
      intervals: scores.map(({ step, low, high }) => [step, low, high]),
    };
  };
  return (["greedy", "sampled"] as const).flatMap((answers) => {
    const lines = LOOP_IDS.map((loop) => line(`reward${loop}_${answers}`));
    return lineChart(`Held-out reward, ${answers}`, lines) ?? [];
  });
}

async function rolloutParts(run: RunFolder, pictureOf: PictureOf | null): Promise<string[]> {
  const best = new Map<number, RolloutRecord[]>();
  const worst = new Map<number, RolloutRecord[]>();
  for (const step of (await run.groupSteps()).slice(-STEPS).reverse()) {
    for (const { loop, rollouts } of await run.readGroups(step)) {
      const scored = rollouts.filter(({ reward }) => reward !== null && Number.isFinite(reward));
      best.set(loop, extremes([...(best.get(loop) ?? []), ...scored], 1));
      worst.set(loop, extremes([...(worst.get(loop) ?? []), ...scored], -1));
    }
  }
  const parts: string[] = [];
  for (const loop of [...best.keys()].sort((a, b) => a - b)) {
    for (const [kind, found] of [
      ["Best", best],
      ["Worst", worst],
    ] as const) {
      const figures: string[] = [];
      for (const rollout of found.get(loop) ?? []) figures.push(await rolloutFigure(rollout, pictureOf));
      parts.push(`<h2>${kind} rollouts of loop ${loop}</h2><div class="grid">${figures.join("\n")}</div>`);
    }
  }
  if (parts.length > 0) {
    parts.unshift(
      `<p class="quiet">Rollouts are chosen from the last ${STEPS} steps, one per row. Left: given mask; right: mask of the rollout, in loop 2 without exploration noise, with the outlines of the given mask (green) and of the sampled mask (white).</p>`,
    );
  }
  return parts;
}

/** The rollouts with the highest (1) or lowest (-1) rewards, one per row. */
function extremes(rollouts: readonly RolloutRecord[], sign: 1 | -1): RolloutRecord[] {
  const seen = new Set<string>();
  return [...rollouts]
    .sort((a, b) => sign * ((b.reward as number) - (a.reward as number)))
    .filter(({ rowId }) => !seen.has(rowId) && seen.add(rowId))
    .slice(0, SHOWN);
}

async function rolloutFigure(rollout: RolloutRecord, pictureOf: PictureOf | null): Promise<string> {
  const { rowId, imageId, givenMask, reward, advantage, step, index, terms } = rollout;
  const noisy = noisyMask(rollout);
  const { png } = maskTiles(givenMask, [drawnMask(rollout)], (await pictureOf?.(rowId, imageId)) ?? null, [noisy]);
  const parts = terms.map(({ name, value }) => `${name} ${value === null ? "–" : value.toFixed(2)}`);
  return pngFigure(png, `Given mask and mask of rollout ${rollout.id}`, [
    `reward${noisy === null ? "" : " of the sampled mask"} ${reward?.toFixed(3) ?? "–"}, advantage ${signed(advantage, 2)} · step ${step}, #${index + 1}`,
    `“${rollout.captionPrime ?? rollout.caption}”`,
    `data set: “${rollout.referenceCaption}”`,
    parts.join(" · "),
  ]);
}

async function rowParts({ first, last, scores }: RunResult, pictureOf: PictureOf | null): Promise<string[]> {
  const id = scores.find((score) => FIXED_GREEDY.test(score.id))?.id ?? "grounding_iou";
  const pairs = rowPairs(first.rows, last.rows, id).sort((a, b) => b.change - a.change);
  const parts: string[] = [];
  for (const [title, shown] of [
    ["Held-out rows that gained most", pairs.filter(({ change }) => change > 0).slice(0, SHOWN)],
    [
      "Held-out rows that lost most",
      pairs
        .filter(({ change }) => change < 0)
        .slice(-SHOWN)
        .reverse(),
    ],
  ] as const) {
    const figures: string[] = [];
    for (const pair of shown) figures.push(await rowFigure(pair, id, pictureOf));
    if (figures.length > 0) parts.push(`<h2>${title}</h2><div class="grid">${figures.join("\n")}</div>`);
  }
  return parts;
}

async function rowFigure(
  { before, after, change }: RowPair,
  id: ScoreId,
  pictureOf: PictureOf | null,
): Promise<string> {
  const photo = after.imageId === undefined ? null : ((await pictureOf?.(after.rowId, after.imageId)) ?? null);
  const text = LOOPS.some((loop) => id === `loop${loop.id}_greedy` && loop.samples === "text");
  const [then, now] = text ? [before.maskPrime, after.maskPrime] : [before.maskGreedy, after.maskGreedy];
  const { png } = maskTiles(then, [now], photo);
  return pngFigure(png, `Mask at the start and now of row ${after.rowId}`, [
    `${nameOf(id)} ${signed(change)}`,
    `“${before.captionGreedy}” → “${after.captionGreedy}”`,
    `data set: “${after.caption}”`,
  ]);
}

function settingParts({ config }: RunManifest): string[] {
  const usual = defaultConfig();
  const rows = SETTING_KEYS.map((key) => {
    const value = escaped(String(config[key]));
    const changed = config[key] !== usual[key];
    return [escaped(SETTINGS[key].label), `<code>${key}</code>`, changed ? `<b>${value}</b>` : value];
  });
  return [
    "<h2>Settings</h2>",
    `<details><summary>${SETTING_KEYS.length} settings; those that differ from the default are bold</summary>${htmlTable(["Setting", "Name", "Value"], rows)}</details>`,
  ];
}
