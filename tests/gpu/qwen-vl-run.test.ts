/** Runs of tiny models on Qwen-VL: both loops with every region prompt, supervised steps, and what is exported. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { checkMerged } from "../../src/engine/export/check-merged.ts";
import { mergedFiles, openHolders } from "../../src/engine/export/merged.ts";
import { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../src/engine/model/sa2va.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import { disposeFeatures, encodeImage } from "../../src/engine/policy/features.ts";
import { describePictures, segmentPictures } from "../../src/engine/policy/partner.ts";
import { readTrained } from "../../src/engine/runs/checkpoint/trained.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { collectFiles } from "../support/collected-files.ts";
import { checkpointFiles, expectSameFiles, openTestLab, type TestLab } from "../support/session.ts";
import { writeTinyQwen } from "../support/tiny-qwen.ts";

/** Confidence differs between any two masks, so that groups have a spread. */
const BOTH = {
  steps: 2,
  saveSteps: 2,
  maskPolicy: "candidates",
  loop1Confidence: 1,
  loop2Confidence: 1,
  loop2Weight: 1,
  heldOutShare: 0,
} as const satisfies Partial<LabConfig>;

describe.each(["qwen3", "qwen2.5"] as const)("a tiny model on %s-VL", (family) => {
  const folder = mkdtempSync(join(tmpdir(), "lab-qwen-"));
  let lab: TestLab;

  beforeAll(async () => {
    writeTinyQwen(folder, family);
    lab = await openTestLab({ model: folder, features: null });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(
    family === "qwen3"
      ? ([
          ["auto", 2],
          ["dim", 1],
          ["tokens", 1],
        ] as const)
      : ([["auto", 2]] as const),
  )("takes steps of both loops with the region prompt %s", async (regionPrompt, steps) => {
    const rows = await lab.train({ ...BOTH, steps, saveSteps: 0, regionPrompt });
    expect(rows).toHaveLength(steps);
    for (const row of rows) {
      for (const [name, value] of Object.entries(row)) expect(Number.isFinite(value), name).toBe(true);
      expect(row["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
      expect(row["loop2/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
      expect(row.grad_norm).toBeGreaterThan(0);
    }
    expect(rows.at(-1)?.["memory/num_tensors"]).toBe(rows[0]?.["memory/num_tensors"]);
  });

  it("answers about pictures of different shapes together as about each alone", async () => {
    const model = await openSa2va(await nodeFolder(folder), "tiny");
    const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
    const pictures = await Promise.all(
      [
        [40, 60],
        [90, 41],
      ].map(async ([height = 0, width = 0], at) => {
        const data = Uint8Array.from({ length: 3 * height * width }, (_, n) => (n * (37 + at) + (n >> 5)) % 256);
        const mask = Uint8Array.from({ length: height * width }, (_, n) => Number(n % width > width / 2));
        const features = await encodeImage(model, { height, width, data }, 1);
        return { features, height, width, masks: [mask], phrases: ["a cup"] };
      }),
    );
    const [one, other] = pictures.map(({ features }) => features.grid);
    expect(one).not.toEqual(other);
    const options = { maxCompletionLength: 6, logitGuard: 30, keepTiny: true, signal: new AbortController().signal };
    const said = await describePictures(model, weights, pictures, options);
    const read = async (some: typeof pictures): Promise<Float32Array> => {
      const { masks, iou, objectScore } = segmentPictures(model, weights, some);
      const values = (await masks.data()) as Float32Array;
      tf.dispose([masks, iou, objectScore]);
      return values;
    };
    const together = await read(pictures);
    const each = together.length / 2;
    for (const [at, picture] of pictures.entries()) {
      expect(await describePictures(model, weights, [picture], options)).toEqual([said[at]]);
      const alone = await read([picture]);
      const most = alone.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
      const gap = alone.reduce(
        (top, value, n) => Math.max(top, Math.abs(value - (together[at * each + n] as number))),
        0,
      );
      expect(gap / most).toBeLessThan(1e-4);
    }
    for (const { features } of pictures) disposeFeatures(features);
    model.dispose();
  });

  it("takes supervised steps with a drawn region and with copied tokens", async () => {
    for (const regionPrompt of ["outline", "tokens"] as const) {
      const rows = await lab.train({ mode: "sft", steps: 1, accumulation: 1, heldOutShare: 0, regionPrompt });
      expect(rows[0]?.["sft/loss"]).toBeGreaterThan(0);
      expect(rows[0]?.grad_norm).toBeGreaterThan(0);
    }
  });

  it("stores frozen mergers like the tower, and trains them when asked", async () => {
    const packed = { language: "q8", towers: "f16" } as const;
    const model = await openSa2va(await nodeFolder(folder), "tiny", { choice: packed });
    const mergers = [...model.frozen].filter(([name]) => name.includes(".merger."));
    expect(mergers.length).toBeGreaterThan(3);
    expect([...model.base.keys()].filter((name) => name.includes("visual"))).toEqual([]);
    const matrices = mergers.filter(([name, { shape }]) => name.endsWith(".weight") && shape.length === 2);
    for (const [name, matrix] of matrices) expect(matrix, name).toBeInstanceOf(PackedMatrix);
    model.dispose();
    const storage = { weightStorage: "q8", towerStorage: "f16" } as const;
    const other = await openTestLab({ model: folder, features: null, choice: packed });
    const run = await other.start({ ...BOTH, ...storage, steps: 1, saveSteps: 1, trainProjector: "yes" });
    await run.done;
    const trained = await readTrained(other.store, run.manifest.id, null, "policy");
    expect([...trained.tensors.keys()].filter((name) => name.includes(".merger.")).length).toBe(mergers.length);
    for (const [name, { read }] of trained.tensors) expect((await read()).every(Number.isFinite), name).toBe(true);
  });

  // What a checkpoint holds does not depend on the family.
  const resumes = family === "qwen3";

  it(`exports under the names of PEFT and of the release${resumes ? ", and resumes to the same bits" : ""}`, async () => {
    const steps = resumes ? BOTH.steps : 1;
    const run = await lab.start({ ...BOTH, steps, saveSteps: steps, regionPrompt: "outline" });
    await run.done;
    const { id } = run.manifest;
    const files = await checkpointFiles(lab.store, id, steps);
    const header = new TextDecoder().decode(files.get("adapter_model.safetensors")?.subarray(8, 4096));
    expect(header).toContain("base_model.model.model.language_model.layers.0.self_attn.q_proj.lora_A.weight");
    const targets = JSON.parse(new TextDecoder().decode(files.get("adapter_config.json"))) as {
      target_modules: string;
    };
    expect(targets.target_modules).toMatch(/^model\\\.language_model\\\.\.\*/);
    const trained = await readTrained(lab.store, id, null, "policy");
    // The merger is frozen unless the settings say otherwise.
    expect([...trained.tensors.keys()].some((name) => name.includes("visual"))).toBe(false);
    const base = await nodeFolder(folder);
    const merged = memoryFolder(await collectFiles(mergedFiles(base, trained, { dtype: null })));
    const [before, after] = [await openHolders(base), await openHolders(merged)];
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    for (const [name, file] of after) expect(file.info(name).dtype, name).toBe(before.get(name)?.info(name).dtype);
    const check = await checkMerged(base, trained, merged, null);
    expect(check.tokens).toBeLessThan(1e-4);
    expect((await openRun(lab.store, id)).manifest().config.regionPrompt).toBe("outline");
    if (!resumes) return;

    lab.watch = (event, session) => {
      if (event.type === "step" && event.step === 1) session.trainer?.control.stop();
    };
    const cut = await lab.start({ ...BOTH, regionPrompt: "outline" });
    expect(await cut.done).toBe("stopped");
    lab.watch = () => undefined;
    expect(await (await lab.resume(cut.manifest.id)).done).toBe("finished");
    expectSameFiles(await checkpointFiles(lab.store, cut.manifest.id, BOTH.steps), files);
  });
});
