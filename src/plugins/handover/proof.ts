import { badInput } from "../../engine/errors.ts";
import { adapterFiles } from "../../engine/export/adapter.ts";
import { below, type ExportFiles, type ExportRows, pictureName, wholeFile } from "../../engine/export/export-file.ts";
import { readTrained } from "../../engine/runs/checkpoint/trained.ts";
import { readEvaluations } from "../../engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";

const RECORDS = ["run.json", "eval.jsonl", "metrics.jsonl"];

/**
 * @param rows the run's rows
 * @throws LabError("bad-input") when the rows are not open, the run started from an adapter, or an evaluation of the
 * base checkpoint or of the run's last checkpoint is missing
 */
export async function* proofFiles(run: RunFolder, rows: ExportRows | null): ExportFiles {
  const manifest = run.manifest();
  const { store, id } = run;
  if (rows === null) {
    throw badInput(`Open ${manifest.data.name} first: the proof contains its held-out rows`, manifest.data.name);
  }
  if (manifest.startAdapter !== undefined) {
    throw badInput(
      `Run "${id}" started from the adapter ${manifest.startAdapter.name}; a proof compares with ${manifest.model.name} alone`,
      id,
    );
  }
  const policy = await readTrained(store, id, null, "policy");
  const evaluations = await readEvaluations(store, id);
  const last = evaluations.at(-1);
  if (evaluations.length < 2 || evaluations[0]?.report.step !== 0 || last?.report.step !== policy.step) {
    throw badInput(
      `Run "${id}" needs an evaluation before its first step and one after step ${policy.step}, its last checkpoint`,
      id,
    );
  }
  for (const name of RECORDS) yield wholeFile(name, await store.readText(`${id}/${name}`));
  yield* below("policy", adapterFiles(manifest, policy));
  yield* below("partner", adapterFiles(manifest, await readTrained(store, id, null, "ema")));
  yield* rowFiles(rows, new Set(last.rows.map(({ rowId }) => rowId)));
  yield wholeFile("README.md", readme(manifest, policy.step));
}

/** Every stored picture once; rows.jsonl has one line per row. */
async function* rowFiles(rows: ExportRows, wanted: ReadonlySet<string>): ExportFiles {
  const lines: object[] = [];
  const written = new Set<string>();
  for await (const sample of rows.heldOut(wanted)) {
    const picture = `pictures/${pictureName(sample)}`;
    if (!written.has(picture)) yield wholeFile(picture, sample.image.bytes);
    written.add(picture);
    const { id, caption, mask } = sample;
    lines.push({ rowId: id, picture, mask: { size: mask.size, counts: mask.counts }, caption });
  }
  yield wholeFile("rows.jsonl", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function readme({ title, model, data, created }: RunManifest, step: number): string {
  return `# Proof of ${title}

Held-out scores of ${model.name} before and after ${step} steps on ${data.name}, run started ${created}.

- \`run.json\`: settings, seeds, GPU, and the hashes of checkpoint and data; \`metrics.jsonl\`: every step.
- \`eval.jsonl\`: the evaluations, with each row's captions, masks and scores.
- \`rows.jsonl\`, \`pictures/\`: the held-out rows with their true masks (COCO run lengths) and captions.
- \`policy/\`, \`partner/\`: PEFT adapters, and \`modules.safetensors\` with the other trained tensors.

From the root of the lab's repository, with BASE as the folder of ${model.name}:

    python tests/oracle/prove_run.py --proof PROOF --base BASE

The script answers the rows in PyTorch with the same weights and compares captions, masks and the gain.
`;
}
