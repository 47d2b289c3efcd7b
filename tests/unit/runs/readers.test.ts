/**
 * The files of a run in the tools they are meant for. Needs a Python with pyarrow, pandas, datasets, tensorboard and
 * safetensors, named by PYTHON (default python3); skipped with a notice where there is none.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeStore } from "../../../scripts/lib/node-store.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { zipRun } from "../../../src/engine/runs/zip.ts";
import { group, manifest } from "./sample-run.ts";

const PYTHON = process.env.PYTHON ?? "python3";
const MODULES = "pyarrow, pandas, datasets, tensorboard, safetensors";

function hasReaders(): boolean {
  try {
    execFileSync(PYTHON, ["-c", `import ${MODULES}`], { stdio: "ignore" });
    return true;
  } catch {
    console.warn(`skipped: ${PYTHON} cannot import ${MODULES}`);
    return false;
  }
}

const SCRIPT = `
import glob, json, math, os, sys, zipfile
import pandas, pyarrow
from datasets import Dataset
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

folder = sys.argv[1]
with zipfile.ZipFile(os.path.join(folder, "run.zip")) as z:
    assert z.testzip() is None
    z.extractall(os.path.join(folder, "out"))
run = os.path.join(folder, "out", "brave-otter")
rollouts = os.path.join(run, "rollouts", "step-000003.arrow")
with pyarrow.ipc.open_stream(rollouts) as reader:
    frame = reader.read_all().to_pandas()
data = Dataset.from_file(rollouts)
row = data[5]
metrics = pandas.read_json(os.path.join(run, "metrics.jsonl"), lines=True)
csv = pandas.read_csv(os.path.join(run, "metrics.csv"))
events = EventAccumulator(run)
events.Reload()
with safe_open(os.path.join(run, "checkpoints/step-000003/adapter_model.safetensors"), "np") as tensors:
    adapter = {name: tensors.get_tensor(name).tolist() for name in tensors.keys()}
print(json.dumps({
    "columns": list(frame.columns),
    "captions": list(frame["caption"]),
    "iou": [None if math.isnan(v) else v for v in frame["rewards/iou"]],
    "rows": len(data),
    "mask": row["given_mask"],
    "labels": [a["label"] for a in row["actions"]],
    "features": str(data.features["given_mask"]),
    "metrics": list(metrics.columns),
    "nan": math.isnan(csv["loss"][1]),
    "tags": sorted(events.Tags()["scalars"]),
    "reward": [[e.step, e.value, e.wall_time] for e in events.Scalars("loop1/reward")],
    "adapter": adapter,
}))
`;

test.skipIf(!hasReaders())(
  "pandas, datasets, TensorBoard and safetensors read a run",
  { timeout: 180_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "run-readers-"));
    try {
      const store = nodeStore(join(folder, "runs"));
      const run = await createRun(store, manifest());
      await run.appendStep(1, { loss: 0.5, "loop1/reward": 0.25, step_time: 2 });
      await run.appendStep(2, { loss: Number.NaN, "loop1/reward": 0.5, step_time: 2 });
      await run.appendGroups(3, [group(3, 1, 0), group(3, 2, 0)]);
      const name = "language_model.model.layers.0.mlp.up_proj.lora_A.weight";
      const params = new Map([[name, { shape: [1, 2], data: Float32Array.of(1, 2) }]]);
      await writeCheckpoint(store, run.id, {
        step: 3,
        params,
        ema: null,
        moments: { m: params, v: params },
        optimiserStep: 3,
        lora: { r: 1, alpha: 2, targets: ["up_proj"] },
        config: defaultConfig(),
        trainer: null,
      });
      const pieces: Uint8Array[] = [];
      for await (const piece of zipRun(store, run.id)) pieces.push(piece);
      await writeFile(join(folder, "run.zip"), Buffer.concat(pieces));

      const output = execFileSync(PYTHON, ["-c", SCRIPT, folder], {
        stdio: ["ignore", "pipe", "pipe"],
        encoding: "utf8",
      });
      const read = JSON.parse(output.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
      const rollouts = [...group(3, 1, 0).rollouts, ...group(3, 2, 0).rollouts];
      expect(read.columns).toEqual(expect.arrayContaining(["row_id", "rewards/iou", "rewards/meteor", "advantage"]));
      expect(read.captions).toEqual(rollouts.map((rollout) => rollout.caption));
      expect(read.iou).toEqual([0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2, null, null, null]);
      expect(read.rows).toBe(6);
      expect(read.mask).toEqual({ counts: rollouts[5]?.givenMask.counts, size: [4, 6] });
      expect(read.labels).toEqual(["tok 1", "tok 2", "tok 3"]);
      expect(read.metrics).toEqual(["step", "loss", "loop1/reward", "step_time"]);
      expect(read.nan).toBe(true);
      expect(read.tags).toEqual(["loop1/reward", "loop1/reward_mean", "loss", "step_time", "total_loss"]);
      const start = Date.parse(manifest().created) / 1000;
      expect(read.reward).toEqual([
        [1, 0.25, start + 2],
        [2, 0.5, start + 4],
      ]);
      expect(read.adapter).toEqual({ "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight": [[1, 2]] });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
