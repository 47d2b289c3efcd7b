/**
 * Adapters in the real PEFT, both ways: what the lab writes loads there with the same logits, and what PEFT writes loads
 * here. PYTHON names an interpreter with torch, transformers and peft, PYTHON_OLD_PEFT one with PEFT 0.11, which
 * Sa2VA's own code pins; without them these tests are skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { adapterFiles } from "../../../src/engine/export/adapter.ts";
import { loraTargets } from "../../../src/engine/formats/peft-names.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { type Adapter, initLora, readAdapter } from "../../../src/engine/model/adapter/lora.ts";
import { embedTokens, languageForward, languageLogits } from "../../../src/engine/model/language/language.ts";
import { isLanguageTensor, languageLinears } from "../../../src/engine/model/language/language-families.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { loadTensors } from "../../../src/engine/model/weights/weight-pieces.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { readTrained } from "../../../src/engine/runs/checkpoint/trained.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { writeTinyQwen } from "../../support/tiny-qwen.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";
import { manifest } from "../runs/sample-run.ts";

const SCRIPT = fileURLToPath(new URL("../../oracle/peft_logits.py", import.meta.url));
/** PEFT by name: the interpreter that has it. */
const PYTHONS: Readonly<Record<string, string>> = {
  "the newest PEFT": process.env.PYTHON || "python3",
  ...(process.env.PYTHON_OLD_PEFT === undefined ? {} : { "PEFT 0.11": process.env.PYTHON_OLD_PEFT }),
};
/** More than the 16 places after which the Phi-3 folder's rotation is rescaled. */
const IDS = [5, 17, 200, 3, 3, 99, 250, 41, 8, 77, 13, 160, 22, 9, 231, 54, 6, 118, 30, 2];
/** Folders of every language model family that transformers knows too. */
const FOLDERS = ["tests/golden/sa2va-tiny-qwen2", "tests/golden/sa2va-tiny-phi3"];
const scratch = mkdtempSync(join(tmpdir(), "peft-"));
const QWEN_VL = (["qwen3", "qwen2.5"] as const).map((family) => join(scratch, family));

const IMPORTS = "import sys; sys.modules['torchvision'] = None; import torch, transformers, peft";
function lacks(python: string): boolean {
  const missing = spawnSync(python, ["-c", IMPORTS]).status !== 0;
  if (missing) console.warn(`Skipped: ${python} cannot import torch, transformers and peft`);
  return missing;
}
if (PYTHONS["PEFT 0.11"] === undefined) console.warn("Skipped for PEFT 0.11: PYTHON_OLD_PEFT names no interpreter");

function answersOf(
  python: string,
  ...args: string[]
): { readonly logits: number[][]; readonly scaling: number | null } {
  const run = spawnSync(python, [SCRIPT, ...args], { encoding: "utf8", maxBuffer: 2 ** 28 });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout.trim().split("\n").at(-1) ?? "");
}

/** Logits [T·V] of token ids under our own forward pass. */
async function ourLogits(folder: string, adapter: Pick<Adapter, "tensors" | "scale">): Promise<Float32Array> {
  const checkpoint = await openCheckpoint(await nodeFolder(folder));
  const weights = await loadTensors(checkpoint, isLanguageTensor);
  const set: Record<string, Tensor> = {};
  for (const { name, shape, values } of adapter.tensors) set[name] = tf.tensor(values, [...shape]);
  const { language } = checkpoint.config;
  const logits = tf.tidy(() => {
    const view = weightsView(weights, set, adapter.scale);
    const x = embedTokens(view, language, tf.tensor2d(IDS, [1, IDS.length], "int32"));
    const { hidden } = languageForward(view, language, x);
    return languageLogits(view, hidden.reshape([IDS.length, -1]));
  });
  const values = (await logits.data()) as Float32Array;
  tf.dispose([logits, ...weights.values(), ...Object.values(set)]);
  return values;
}

function largestDifference(ours: Float32Array, theirs: readonly (readonly number[])[]): number {
  const flat = theirs.flat();
  expect(flat.length).toBe(ours.length);
  const largest = Math.max(...flat.map(Math.abs));
  return flat.reduce((worst, value, at) => Math.max(worst, Math.abs(value - (ours[at] as number))), 0) / largest;
}

describe.each(Object.entries(PYTHONS))("%s", (_, python) => {
  const skip = lacks(python);
  const peft = (...args: string[]) => answersOf(python, ...args);
  beforeAll(async () => {
    await tf.setBackend("cpu");
    for (const folder of QWEN_VL) writeTinyQwen(folder, basename(folder) as "qwen3" | "qwen2.5");
  });
  afterAll(async () => rm(scratch, { recursive: true, force: true }));

  test.skipIf(skip).each([...FOLDERS, ...QWEN_VL])(
    "loads what the lab exports for %s and says the same",
    async (folder) => {
      const { config } = await openCheckpoint(await nodeFolder(folder));
      const rank = 3;
      // B is not zero here: an adapter without effect would prove nothing.
      const fresh = [
        ...initLora(config.language, rank, (tensor, at) => ((tensor * 131 + at * 29) % 997) / 997 + 0.0005),
      ];
      const factors = fresh.map((tensor, n) =>
        tensor.name.includes(".lora_B.")
          ? { ...tensor, values: tensor.values.map((_, at) => Math.sin(n + at * 0.7) * 0.3) }
          : tensor,
      );
      const targets = loraTargets(languageLinears(config.language).map(({ path }) => path));
      const params = new Map(factors.map(({ name, shape, values }) => [name, { shape, data: values }] as const));
      const store = nodeStore(join(scratch, "runs"));
      const run = await createRun(store, manifest());
      await writeCheckpoint(store, run.id, {
        step: 1,
        params: inMemory(params),
        ema: null,
        moments: { m: inMemory(params), v: inMemory(params) },
        optimiserStep: 1,
        lora: { r: rank, alpha: 5, targets },
        config: defaultConfig(),
        trainer: null,
      });
      const out = join(scratch, "adapter");
      const trained = await readTrained(store, run.id, null, "policy");
      await writeOut(out, (target) => target.add(adapterFiles(run.manifest(), trained)));
      const theirs = peft("load", folder, out, JSON.stringify(IDS));
      expect(theirs.scaling).toBeCloseTo(5 / 3, 12);
      const ours = await ourLogits(folder, { tensors: factors, scale: 5 / 3 });
      expect(largestDifference(ours, theirs.logits)).toBeLessThan(1e-4);
      const plain = peft("plain", folder, "-", JSON.stringify(IDS));
      expect(largestDifference(ours, plain.logits)).toBeGreaterThan(1e-2);
      await rm(out, { recursive: true });
      await store.remove(run.id);
    },
  );

  test.skipIf(skip).each([...FOLDERS, ...QWEN_VL])("makes an adapter for %s that the lab loads", async (folder) => {
    const { config } = await openCheckpoint(await nodeFolder(folder));
    const out = join(scratch, "made");
    const theirs = peft("make", folder, out, JSON.stringify(IDS), "5");
    const adapter = await readAdapter(await nodeFolder(out), config.language);
    expect(adapter).toMatchObject({ rank: 5, alpha: 15, scale: 3 });
    expect(largestDifference(await ourLogits(folder, adapter), theirs.logits)).toBeLessThan(1e-4);
    await rm(out, { recursive: true });
  });

  test.skipIf(skip).each(FOLDERS)("loads the golden adapter of %s as we do", async (folder) => {
    const { config } = await openCheckpoint(await nodeFolder(folder));
    const adapter = await readAdapter(await nodeFolder(folder), config.language);
    const theirs = peft("load", folder, folder, JSON.stringify(IDS));
    expect(largestDifference(await ourLogits(folder, adapter), theirs.logits)).toBeLessThan(1e-4);
  });
});
