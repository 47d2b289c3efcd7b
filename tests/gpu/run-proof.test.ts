/**
 * A run is trained, its policy and partner are exported as whole checkpoints, and the independent PyTorch implementation
 * answers with them: the same captions and masks as the lab's own evaluations. PYTHON names the interpreter; without one
 * that has torch, numpy, Pillow, safetensors, tokenizers and pyarrow these tests are skipped.
 */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { python, tool } from "../support/tools.ts";

const ORACLE = join(root, "tests", "oracle");
const BASE = join(root, "public", "pocket", "model");
const SHARD = join(root, "public", "pocket", "shards", "data-00000-of-00002.arrow");
/** Steps with visible effect: a high rate, and a partner that follows at once. */
const QUICK = {
  loop2Weight: 0.1,
  learningRate: 5e-3,
  maskRateFactor: 0.1,
  emaDecay: 0.5,
  warmupSteps: 0,
  promptsPerStep: 1,
  numGenerations: 4,
};
const STEPS = "3";
const ROWS = 6;

const needed = await python("-c", "import torch, numpy, PIL, safetensors, tokenizers, pyarrow");
if (needed.code !== 0) {
  console.warn("Skipped: no Python with torch, numpy, Pillow, safetensors, tokenizers and pyarrow; set PYTHON to one");
}

interface Proof {
  readonly steps: readonly number[];
  readonly rows: number;
  readonly captions_equal: number;
  readonly captions: number;
  readonly largest_iou_gap: number;
}

describe.skipIf(needed.code !== 0)("a run's evaluations", () => {
  let scratch: string;
  let run: string;
  const shards = (): string => join(scratch, "shards");

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "lab-proof-"));
    await mkdir(shards());
    await writeFile(join(scratch, "quick.json"), JSON.stringify(QUICK));
    // Pictures that both sides decode to the same pixels.
    const made = [join(ORACLE, "png_rows.py"), "--shard", SHARD, "--rows", "40", "--out", join(shards(), "rows.arrow")];
    const rows = await python(...made);
    expect(rows.code, rows.err).toBe(0);
    const out = join(scratch, "runs");
    const words = ["--preset", "demo", "--config", join(scratch, "quick.json"), "--shards", shards(), "--out", out];
    const trained = await tool("train", [
      ...words,
      "--model",
      BASE,
      "--steps",
      STEPS,
      "--eval-steps",
      STEPS,
      "--eval-rows",
      `${ROWS}`,
    ]);
    expect(trained.code, trained.err).toBe(0);
    run = join(out, (await readdir(out))[0] as string);
    for (const weights of ["policy", "ema"]) {
      const merged = ["--run", run, "--format", "merged", "--weights", weights, "--model", BASE, "--dtype", "f32"];
      const exported = await tool("export", [...merged, "--out", join(scratch, weights)]);
      expect(exported.code, exported.err).toBe(0);
    }
  });
  afterAll(async () => await rm(scratch, { recursive: true, force: true }));

  const prove = async (...words: readonly string[]): Promise<Proof> => {
    const done = await python(join(ORACLE, "prove_run.py"), ...words, "--base", BASE, "--draws", "1");
    expect(done.code, done.err).toBe(0);
    return JSON.parse(done.out) as Proof;
  };

  const given = (policy: string, partner: string): readonly string[] => [
    ...["--run", run, "--policy", policy, "--partner", partner, "--shards", shards()],
  ];

  it("are those of PyTorch with the exported weights", async () => {
    const proof = await prove(...given(join(scratch, "policy"), join(scratch, "ema")));
    expect(proof).toMatchObject({ steps: [0, Number(STEPS)], captions_equal: proof.captions });
    expect(proof.rows).toBeGreaterThan(2);
    expect(proof.largest_iou_gap).toBeLessThan(0.005);
  });

  it("come out the same of the one folder of the proof, which has rows, pictures and adapters", async () => {
    const out = join(scratch, "proof");
    const exported = await tool("export", ["--run", run, "--format", "proof", "--shards", shards(), "--out", out]);
    expect(exported.code, exported.err).toBe(0);
    const proof = await prove("--proof", out);
    expect(proof).toMatchObject({ steps: [0, Number(STEPS)], captions_equal: proof.captions });
    expect(proof.largest_iou_gap).toBeLessThan(0.005);
  });

  it("are not those of the weights it began with", async () => {
    const proof = await prove(...given(BASE, BASE));
    const differs = proof.captions_equal < proof.captions || proof.largest_iou_gap > 0.01;
    expect(differs, JSON.stringify(proof)).toBe(true);
  });
});
