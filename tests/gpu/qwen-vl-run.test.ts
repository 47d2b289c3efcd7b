/** Runs of tiny models on Qwen-VL: both loops with every region prompt, supervised steps, and what is exported. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/memory.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { checkMerged } from "../../src/engine/export/check-merged.ts";
import { mergedFiles, openHolders } from "../../src/engine/export/merged.ts";
import { readTrained } from "../../src/engine/runs/checkpoint/trained.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { collectFiles } from "../support/collected-files.ts";
import { checkpointFiles, openTestLab, type TestLab } from "../support/session.ts";
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

  it.each(family === "qwen3" ? (["auto", "dim", "tokens"] as const) : (["auto"] as const))(
    "takes two steps of both loops with the region prompt %s",
    async (regionPrompt) => {
      const rows = await lab.train({ ...BOTH, regionPrompt });
      expect(rows.map(({ step }) => step)).toEqual([1, 2]);
      for (const row of rows) {
        for (const [name, value] of Object.entries(row)) expect(Number.isFinite(value), name).toBe(true);
        expect(row["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
        expect(row["loop2/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
        expect(row.grad_norm).toBeGreaterThan(0);
      }
      expect(rows[1]?.["memory/num_tensors"]).toBe(rows[0]?.["memory/num_tensors"]);
    },
  );

  it("takes supervised steps with a drawn region and with copied tokens", async () => {
    for (const regionPrompt of ["outline", "tokens"] as const) {
      const rows = await lab.train({ mode: "sft", steps: 1, accumulation: 1, heldOutShare: 0, regionPrompt });
      expect(rows[0]?.["sft/loss"]).toBeGreaterThan(0);
      expect(rows[0]?.grad_norm).toBeGreaterThan(0);
    }
  });

  it("exports an adapter under PEFT's names and a merged checkpoint under the published ones", async () => {
    const run = await lab.start({ ...BOTH, regionPrompt: "outline" });
    await run.done;
    const { id } = run.manifest;
    const files = await checkpointFiles(lab.store, id, BOTH.steps);
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
  });
});
