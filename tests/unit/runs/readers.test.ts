/**
 * The files of a run in the tools they are meant for. Needs a Python with pyarrow, pandas, datasets, tensorboard, Pillow and
 * safetensors, named by PYTHON (default python3); skipped with a notice where there is none.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { appendAlarm } from "../../../src/engine/runs/alarms.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { zippedRun } from "../../support/zipped-run.ts";
import { inMemory } from "./sample-checkpoint.ts";
import { evaluation } from "./sample-evaluations.ts";
import { group, manifest } from "./sample-run.ts";

const PYTHON = process.env.PYTHON || "python3";
const MODULES = "pyarrow, pandas, datasets, tensorboard, safetensors, PIL";

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
import glob, io, json, math, os, sys, zipfile
import pandas, pyarrow
from datasets import Dataset
from safetensors import safe_open
from PIL import Image
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.text import metadata as text_metadata
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
events = EventAccumulator(run, size_guidance={"images": 0, "tensors": 0})
events.Reload()
tensor_text = lambda tag: [[e.step, e.tensor_proto.string_val[0].decode()] for e in events.Tensors(tag)]
def picture(event):
    image = Image.open(io.BytesIO(event.encoded_image_string))
    image.load()
    # The middle of every tile, and a pixel of each where nothing is drawn.
    tiles = [[image.getpixel((tile * 224 + x, y)) for x, y in ((75, 75), (205, 10))] for tile in range(event.width // 224)]
    return [event.step, event.width, event.height, image.size, image.mode, tiles]
hparams = events.SummaryMetadata("_hparams_/session_start_info").plugin_data
session = hparams_metadata.parse_session_start_info_plugin_data(hparams.content)
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
    "nan": math.isnan(csv["loss"][2]),
    "tags": sorted(events.Tags()["scalars"]),
    "reward": [[e.step, e.value, e.wall_time] for e in events.Scalars("loop1/reward")],
    "adapter": adapter,
    "evaluation": [[e.step, e.value, e.wall_time] for e in events.Scalars("eval/grounding_iou")],
    "csvEvaluation": [None if math.isnan(v) else v for v in csv["eval/grounding_iou"]],
    "csvSteps": [int(step) for step in csv["step"]],
    "evaluatedRows": pandas.read_csv(os.path.join(run, "evaluations.csv"))[["step", "row_id", "part"]].values.tolist(),
    "settingsCsv": dict(pandas.read_csv(os.path.join(run, "settings.csv"), dtype=str, keep_default_na=False).values.tolist()),
    "alarms": pandas.read_csv(os.path.join(run, "alarms.csv"), keep_default_na=False).values.tolist(),
    "images": {tag: [picture(e) for e in events.Images(tag)] for tag in events.Tags()["images"]},
    "texts": {tag: tensor_text(tag) for tag in sorted(events.PluginTagToContent(text_metadata.PLUGIN_NAME))},
    "hparams": {name: value.number_value if value.HasField("number_value") else value.bool_value if value.HasField("bool_value")
                else value.string_value for name, value in session.hparams.items()},
}))
`;

test.skipIf(!hasReaders())("pandas, datasets, TensorBoard and safetensors read a run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "run-readers-"));
  try {
    const store = nodeStore(join(folder, "runs"));
    const run = await createRun(store, manifest());
    await run.appendStep(1, { loss: 0.5, "loop1/reward": 0.25, step_time: 2 });
    await run.appendStep(2, { loss: Number.NaN, "loop1/reward": 0.5, step_time: 2 });
    // The left upper quarter of the picture is the row's region and what the last rollout drew.
    const quarter = encodeRle(
      Uint8Array.from({ length: 64 }, (_, at) => Number(at % 8 < 4 && at < 32)),
      8,
      8,
    );
    const squares = (loop: 1 | 2) => {
      const base = group(3, loop, 0);
      const rollouts = base.rollouts.map((rollout) => ({
        ...rollout,
        givenMask: quarter,
        predictedMask: rollout.index === 2 ? quarter : null,
      }));
      return { ...base, rollouts };
    };
    await run.appendGroups(3, [squares(1), squares(2)]);
    await writeEvaluations(store, run.id, [evaluation(0, 0.25), evaluation(2, 0.5)]);
    await appendAlarm(store, run.id, {
      id: "norm",
      step: 2,
      severity: "error",
      message: 'a "norm" of 1,736',
      rollouts: ["2-1-0-0"],
    });
    const name = "language_model.model.layers.0.mlp.up_proj.lora_A.weight";
    const params = new Map([[name, { shape: [1, 2], data: Float32Array.of(1, 2) }]]);
    await writeCheckpoint(store, run.id, {
      step: 3,
      params: inMemory(params),
      ema: null,
      moments: { m: inMemory(params), v: inMemory(params) },
      optimiserStep: 3,
      lora: { r: 1, alpha: 2, targets: ["up_proj"] },
      config: defaultConfig(),
      trainer: null,
    });
    await writeFile(join(folder, "run.zip"), await zippedRun(store, run.id));

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
    expect(read.mask).toEqual({ counts: quarter.counts, size: [8, 8] });
    expect(read.labels).toEqual(["tok 1", "tok 2", "tok 3"]);
    expect(read.metrics).toEqual(["step", "loss", "loop1/reward", "step_time"]);
    expect(read.nan).toBe(true);
    const scalars = (read.tags as string[]).filter((tag) => !tag.startsWith("eval/"));
    expect(scalars).toEqual(["loop1/reward", "loop1/reward_mean", "loss", "step_time", "total_loss"]);
    expect(read.tags).toEqual(
      expect.arrayContaining(["eval/loop1_greedy/low", "eval/reward1_greedy", "eval/selection"]),
    );
    const start = Date.parse(manifest().created) / 1000;
    expect(read.reward).toEqual([
      [1, 0.25, start + 2],
      [2, 0.5, start + 4],
    ]);
    expect(read.evaluation).toEqual([
      [0, 0.25, start],
      [2, 0.5, start + 4],
    ]);
    expect(read.csvSteps).toEqual([0, 1, 2]);
    expect(read.csvEvaluation).toEqual([0.25, null, 0.5]);
    expect((read.evaluatedRows as unknown[]).length).toBe(12);
    expect((read.evaluatedRows as unknown[])[5]).toEqual([0, 5, "selection"]);
    const { config } = manifest();
    expect(read.settingsCsv).toMatchObject({ lossType: config.lossType, learningRate: String(config.learningRate) });
    expect(Object.keys(read.settingsCsv as object).sort()).toEqual(Object.keys(config).sort());
    expect(read.hparams).toEqual(config);
    expect(read.alarms).toEqual([[2, "error", "norm", 'a "norm" of 1,736', "2-1-0-0"]]);
    const texts = read.texts as Record<string, [number, string][]>;
    expect(Object.keys(texts)).toEqual(["alarms", "eval/captions", "loop1/captions", "loop2/captions", "settings"]);
    expect(texts.settings?.[0]?.[1]).toContain(`| lossType | ${config.lossType} |`);
    expect(texts["loop1/captions"]?.[0]?.[0]).toBe(3);
    expect(texts["loop1/captions"]?.[0]?.[1]).toContain("a red triangle");
    expect(texts["eval/captions"]?.map(([step]) => step)).toEqual([0, 2]);
    // Green over the region, orange over the rollout's mask, the ground elsewhere; one tile more than rollouts.
    const [ground, green, orange] = [24, [42, 112, 57], [139, 82, 12]].map((c) => (Array.isArray(c) ? c : [c, c, c]));
    const shown = [
      [green, ground],
      [ground, ground],
      [ground, ground],
      [orange, ground],
    ];
    expect(read.images).toEqual({
      "loop1/rollouts": [[3, 4 * 224, 224, [4 * 224, 224], "RGB", shown]],
      "loop2/rollouts": [[3, 4 * 224, 224, [4 * 224, 224], "RGB", shown]],
    });
    expect(read.adapter).toEqual({ "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight": [[1, 2]] });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
