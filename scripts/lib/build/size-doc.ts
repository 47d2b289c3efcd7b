/** `docs/size.md`: what the core of src holds, part by part, and what decides its size. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../ensure.mjs";

/** Aims of the core: lines, files, and lines of the median file; and lines of all of src. */
const AIM = { lines: 60_000, files: 450, median: 130, all: 88_000 };

interface Part {
  readonly name: string;
  /** Folders below src. */
  readonly folders: readonly string[];
  readonly decided: string;
}

/** Every folder of the core belongs to one part. */
const PARTS: readonly Part[] = [
  {
    name: "kernels and memory of the GPU",
    folders: ["engine/gpu", "engine/tuning"],
    decided:
      "a WGSL program with gradient and bounds for each operation that TensorFlow.js lacks or does slowly, in forms for f32, f16, q8 and q4 and for cards with and without subgroups; decoding without a tape; one pool of buffers",
  },
  {
    name: "the model",
    folders: ["engine/model", "engine/loading"],
    decided:
      "published Sa2VA checkpoints: their names and config.json, InternVL's tower, language models with their rotary scalings, SAM2, adapters; conversions stored in parts",
  },
  {
    name: "policy and partner",
    folders: ["engine/policy"],
    decided:
      "sampling that draws the same tokens on GPU and CPU, prompts computed once per group, features kept in host memory or on disk, three mask policies, likelihoods as rewards",
  },
  {
    name: "a GRPO step and a run",
    folders: ["engine/rl"],
    decided:
      "both loops, one loss for all of TRL's types, ratio levels and clippings, AdamW and EMA in arenas, alarms, and a run that pauses, repeats a step with less memory and resumes",
  },
  {
    name: "rewards",
    folders: ["engine/rewards"],
    decided:
      "IoU, METEOR as NLTK computes it, further terms, a custom function in a sandbox, and the judge with its two kinds of questions, budget, cache and causes of failure",
  },
  {
    name: "data",
    folders: ["engine/data"],
    decided:
      "shards of others: Arrow and Parquet read by range within bounds, JSON records, COCO, samples of files; columns, captions and encodings of masks that are detected and not configured",
  },
  {
    name: "text",
    folders: ["engine/text"],
    decided: "tokenizers and chat templates that equal the published ones, checked before a foreign pattern runs",
  },
  {
    name: "bytes, formats, stores",
    folders: ["engine/bytes", "engine/formats", "engine/storage"],
    decided: "safetensors and Arrow by range, foreign JSON, stores that survive a crash at any write",
  },
  {
    name: "run folders, held-out rows, exports",
    folders: ["engine/runs", "engine/eval", "engine/export"],
    decided:
      "every number of a run in a file that is read again: rollouts, metrics, evaluations with intervals, checkpoints in parts; adapters, merged checkpoints and tables from them",
  },
  {
    name: "settings, sessions, forecasts",
    folders: ["engine/config", "engine/session", "engine/plan"],
    decided:
      "settings with validation and reasons, a start that names each blocker, and a forecast of memory and time per card",
  },
  {
    name: "calls between page and workers",
    folders: ["protocol"],
    decided: "calls with callbacks, signals and transfers, and the data that they carry",
  },
  {
    name: "screens",
    folders: ["app/screens", "app/frame"],
    decided: "six places and System, each with its empty, loading and failed state, by keyboard and on a phone",
  },
  {
    name: "parts of screens",
    folders: ["app/components", "app/styles"],
    decided:
      "curves over long runs, masks drawn over pictures at any zoom, rollouts beside their captions, the settings form",
  },
  {
    name: "state of the page",
    folders: ["app/stores", "app/clients"],
    decided: "a run that continues while screens change, a trainer that is restarted, other tabs, consent, links",
  },
];

/** Parts that a run could do without, and what keeps each in the core. */
const OPTIONAL: readonly { readonly name: string; readonly paths: RegExp; readonly kept: string }[] = [
  {
    name: "conversations",
    paths: /^engine\/data\/(?:captions\.ts|talk\/)/,
    kept: "plain captions take the same way, so both would need a reader",
  },
  { name: "the judge", paths: /^engine\/rewards\/judge/, kept: "a default reward of loop 2" },
  {
    name: "the custom reward",
    paths: /^engine\/rewards\/user\//,
    kept: "scoring, consent and the seal of a run ask for it by name",
  },
  {
    name: "likelihoods of captions",
    paths: /^engine\/(?:policy\/caption-likelihood|rl\/run\/start\/captioner)\.ts$/,
    kept: "a reward that needs the model, which reward terms of plug-ins do not get",
  },
  {
    name: "alarms",
    paths: /^(?:engine\/(?:rl\/run|runs)\/alarms\.ts|app\/screens\/train\/alarms)/,
    kept: "they read steps, evaluations and rollouts of a live run",
  },
  {
    name: "forecasts",
    paths: /^engine\/plan\//,
    kept: "a real checkpoint's groups, rank and storage follow from them",
  },
];

/** Lines of each source below a folder of src, by path. */
function sizes(folder: string): ReadonlyMap<string, number> {
  const files = readdirSync(join(root, "src", folder), { recursive: true, encoding: "utf8" });
  return new Map(
    files
      .map((file) => join(folder, file).replaceAll("\\", "/"))
      .filter((path) => /\.(?:tsx?|css)$/.test(path))
      .map((path) => [path, readFileSync(join(root, "src", path), "utf8").split("\n").length - 1] as const),
  );
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, one) => total + one, 0);
/** Lines in hundreds, so that small changes leave the page as it is. */
const hundreds = (lines: number): string => (Math.round(lines / 100) * 100).toLocaleString("en");

/** @throws Error for a source of the core that belongs to no part */
export function sizePage(): string {
  const all = sizes(".");
  const core = [...all].filter(([path]) => !path.startsWith("plugins/"));
  const of = ({ folders }: Part) => core.filter(([path]) => folders.some((folder) => path.startsWith(`${folder}/`)));
  const rest = core.filter(([path]) => !PARTS.some((part) => of(part).some(([other]) => other === path)));
  const homeless = rest.filter(
    ([path]) => !/^(?:engine\/errors\.ts|app\/(?:app|main)\.(?:tsx|module\.css)|app\/app\.module\.css)$/.test(path),
  );
  if (homeless.length > 0) throw new Error(`no part of docs/size.md has ${homeless.map(([path]) => path).join(", ")}`);
  const sorted = core.map(([, lines]) => lines).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] as number;
  const [lines, whole] = [sum(sorted), sum(all.values())];
  const page = sum(core.filter(([path]) => path.startsWith("app/")).map(([, count]) => count));
  const optional = OPTIONAL.map(({ name, paths, kept }) => {
    const files = core.filter(([path]) => paths.test(path));
    if (files.length === 0) throw new Error(`docs/size.md names ${name}, which no file of the core has`);
    return `| ${name} | ${hundreds(sum(files.map(([, count]) => count)))} | ${kept} |`;
  });
  const rows = PARTS.map((part) => {
    const files = of(part);
    const where = part.folders.map((folder) => `\`${folder}\``).join(", ");
    return `| ${part.name} | ${where} | ${hundreds(sum(files.map(([, count]) => count)))} | ${files.length} | ${part.decided} |`;
  });
  const plugins = new Map<string, number>();
  for (const [path, count] of all) {
    const name = /^plugins\/([^/]+)\//.exec(path)?.[1];
    if (name !== undefined) plugins.set(name, (plugins.get(name) ?? 0) + count);
  }
  const largest = [...plugins].sort(([, a], [, b]) => b - a).slice(0, 5);
  const outside = sum(plugins.values());
  return `# Size of the core

<!-- Generated by npm run docs from scripts/lib/build/size-doc.ts. -->

The core is src without src/plugins ([architecture](architecture.md#plug-ins)): what a person needs who drops region-caption shards and a
Sa2VA folder, trains both loops with IoU, METEOR and a judge, looks at every rollout and exports the adapter. It has ${hundreds(lines)} lines in
${core.length} files, with a median of ${Math.round(median / 5) * 5} lines; all of src has ${hundreds(whole)} lines, comments and styles included. The aim was ${AIM.lines.toLocaleString("en")} lines in
${AIM.files} files and a median of ${AIM.median}, so the core is ${hundreds(lines - AIM.lines)} lines and ${core.length - AIM.files} files above it. Lines are rounded to hundreds.

Without plug-ins the page, its workers and the tools still reach every file of it, and a finder of duplicates with at least 40 tokens
reports 0.1 % of src. What decides is therefore structure: the page, with ${hundreds(page)} lines, stands on an engine whose ${hundreds(lines - page)} lines alone are
more than the aim. In it each operation has a program per kind of card and of number, each foreign file is read within bounds, and
a run survives a crash at any write.

| part | folders of src | lines | files | decided by |
| --- | --- | --- | --- | --- |
${rows.join("\n")}

A run could do without these parts; each needs a seam that the core does not have:

| part | lines | what keeps it in the core |
| --- | --- | --- |
${optional.join("\n")}

For all of src ${AIM.all.toLocaleString("en")} lines were planned; it has ${hundreds(whole)}. The ${plugins.size} plug-ins hold ${hundreds(outside)} of them, the largest being
${largest.map(([name, count]) => `\`${name}\` (${hundreds(count)})`).join(", ")}. No file of the core serves plug-ins alone, so
all of src shrinks with the core, or with a plug-in that is dropped.
`;
}
