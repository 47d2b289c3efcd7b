/**
 * A run for many GPUs: the run folder itself, so that it can be copied back, plus `scale/` with everything that the
 * Python package (python/README.md) needs: rows, prompts, settings and launch files.
 */
import { sha256Hex } from "../../engine/bytes/hash.ts";
import { type ByteSource, piecesOf } from "../../engine/bytes/source.ts";
import { SETTINGS } from "../../engine/config/table.ts";
import type { RegionSet } from "../../engine/data/region-set.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { type ExportFile, type ExportFiles, wholeFile } from "../../engine/export/export-file.ts";
import { STREAM } from "../../engine/gpu/random.ts";
import { drawnCaptionWording, drawnQuestionWording, REGION_MARKS } from "../../engine/policy/prompts.ts";
import { DEFAULT_PROMPTS } from "../../engine/rewards/judge/questions/prompts.ts";
import { listCheckpoints } from "../../engine/runs/checkpoint/checkpoint-folder.ts";
import { EVAL_DRAWS, EVAL_SEED, EVAL_STREAM } from "../../engine/runs/evaluations/evaluation-metrics.ts";
import { VERSION } from "../../engine/runs/manifest.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";
import { rowList, storedRunRows } from "../../engine/runs/run-rows.ts";
import { stepName } from "../../engine/runs/step-name.ts";
import { QUESTION_WORDING, REFERRING_WORDING, REGION_CAPTION_WORDING, SEG_ANSWER } from "../../engine/text/prompt.ts";
import { TEMPLATES } from "../../engine/text/template.ts";
import { launchFiles } from "./scale-launch.ts";

interface ScaleOut {
  /** The run's data set. */
  readonly set: RegionSet;
  /** Its name, for messages. */
  readonly dataSet: string;
  /** The WordNet table of METEOR's synonyms. */
  readonly wordnet: ByteSource;
  /** The only checkpoint that is exported; null for all of them. */
  readonly step: number | null;
  /** Whether the run must be without checkpoints and starts anew; false requires a checkpoint; absent accepts both. */
  readonly fresh?: boolean;
}

/** Bytes at each end of a shard that its reference hashes. */
const END = 2 ** 20;

/** @throws LabError("bad-input") when the open rows are not the run's, or the run has no such checkpoint */
export async function* scaleOutFiles(run: RunFolder, scale: ScaleOut): ExportFiles {
  const { id, store } = run;
  const manifest = run.manifest();
  const files = await store.list(id);
  const known = await listCheckpoints(store, id);
  checkStep(id, known, scale);
  const kept = scale.step === null ? known : [scale.step];
  const folders = kept.map((step) => `${id}/checkpoints/${stepName(step)}/`);
  const scaleFile = (name: string, content: string): ExportFile => wholeFile(`${id}/scale/${name}`, content);
  const json = (name: string, value: unknown): ExportFile => scaleFile(name, `${JSON.stringify(value, null, 2)}\n`);

  const parts = await storedRunRows(manifest, rowList(scale.dataSet, scale.set.summaries));
  yield json("data.json", {
    ...manifest.data,
    shards: await Promise.all(scale.set.files.map(({ name }) => shardReference(scale.set, name))),
    train: parts.train,
    selection: parts.selection,
    report: parts.report,
  });
  yield scaleFile("rows.jsonl", rowLines(scale.set));
  yield json("contract.json", contract());
  yield copied(`${id}/scale/wordnet30.txt`, scale.wordnet);
  for (const [name, text] of Object.entries(launchFiles(manifest))) yield scaleFile(name, text);
  for (const { path } of files) {
    const checkpoint = path.startsWith(`${id}/checkpoints/`);
    if (path.startsWith(`${id}/scale/`) || (checkpoint && !folders.some((folder) => path.startsWith(folder)))) continue;
    yield copied(path, await store.open(path));
  }
}

function checkStep(id: string, known: readonly number[], { step, fresh }: ScaleOut): void {
  if (step !== null && !known.includes(step)) {
    throw badInput(`Run "${id}" has no checkpoint of step ${step}; nothing was written`, id);
  }
  if (known.length > 0 && fresh === true) {
    throw badInput(`Run "${id}" has checkpoints and continues from them; leave --fresh out. Nothing was written`, id);
  }
  if (known.length === 0 && fresh === false) {
    throw badInput(`Run "${id}" has no checkpoint; add --fresh to start it anew on the cluster`, id);
  }
}

/** Words, constants and default settings that the lab and the Python package share, from the tables of this program. */
export function contract(): Readonly<Record<string, unknown>> {
  const templates = Object.entries(TEMPLATES).map(([name, { wrap, stopWords, bos }]) => {
    const [before, after] = wrap("\u0000").split("\u0000");
    return [name, { before, after, stopWords, bos }];
  });
  return {
    format: "sa2va-lab-scale/2",
    version: VERSION,
    wordings: {
      caption: REGION_CAPTION_WORDING,
      segment: REFERRING_WORDING,
      question: QUESTION_WORDING,
      answer: SEG_ANSWER,
      ...Object.fromEntries(
        REGION_MARKS.flatMap((form) => [
          [`caption-${form}`, drawnCaptionWording(form)],
          [`question-${form}`, drawnQuestionWording(form)],
        ]),
      ),
    },
    templates: Object.fromEntries(templates),
    streams: STREAM,
    evaluation: { seed: EVAL_SEED, stream: EVAL_STREAM, draws: EVAL_DRAWS },
    judge: DEFAULT_PROMPTS,
    defaults: Object.fromEntries(Object.entries(SETTINGS).map(([name, setting]) => [name, setting.default])),
  };
}

/** One line per row, in the order of the data set: all its data except the picture. */
function rowLines(set: RegionSet): string {
  const columns = new Map(set.files.map(({ name, roles }) => [name, roles?.image ?? ""]));
  const lines = set.summaries.map(({ id, imageId, file, row, width, height, caption, mask, questions }) => {
    const place = { id, imageId, file, row, column: columns.get(file), width, height };
    return JSON.stringify({ ...place, caption, mask: mask.counts, questions });
  });
  return lines.map((line) => `${line}\n`).join("");
}

/** Distinguishes a shard from another one of the same name and size. */
async function shardReference(set: RegionSet, name: string): Promise<Readonly<Record<string, unknown>>> {
  const source = set.source(name);
  if (source === undefined) throw new LabError("internal", `The data set has no file ${name}`, { subject: name });
  const { size } = source;
  const [head, tail] = [await source.read(0, Math.min(END, size)), await source.read(Math.max(0, size - END), size)];
  return { name, bytes: size, head: await sha256Hex(head), tail: await sha256Hex(tail) };
}

function copied(path: string, source: ByteSource): ExportFile {
  return { path, pieces: () => piecesOf(source) };
}
