/**
 * The independent PyTorch implementation against the stored golden sets, and the engine against folders it makes afresh.
 * PYTHON names the interpreter; without one that has torch, numpy, Pillow, safetensors, tokenizers and sentencepiece these tests are skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { decodeOnHost } from "../../../src/engine/policy/decode/decode-host.ts";
import { loadDeps } from "../../../tools/parity/deps.ts";
import { findGoldenSets } from "../../../tools/parity/kinds.ts";
import { expectLikeTransformers } from "../../support/transformers-language.ts";

const ORACLE = fileURLToPath(new URL("../../oracle/", import.meta.url));
const GOLDEN = fileURLToPath(new URL("../../golden/", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";

function python(...args: string[]): { readonly ok: boolean; readonly text: string } {
  const run = spawnSync(PYTHON, args, { cwd: ORACLE, encoding: "utf8" });
  return { ok: run.status === 0, text: `${run.stdout ?? ""}${run.stderr ?? ""}${run.error?.message ?? ""}` };
}

const found = python("-c", "import torch, numpy, PIL, safetensors, tokenizers, sentencepiece");
if (!found.ok) {
  console.warn(
    `Skipped: ${PYTHON} cannot import torch, numpy, Pillow, safetensors, tokenizers and sentencepiece; set PYTHON to one that can`,
  );
}

describe.skipIf(!found.ok)("independent implementation", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  test.each(["sa2va-tiny-qwen2", "sa2va-tiny-variant", "sa2va-tiny-internlm2", "sa2va-tiny-phi3"])(
    "it reproduces the stored set %s",
    (name) => {
      const run = python("check_folder.py", join(GOLDEN, name));
      expect(run.text).not.toContain("MISS");
      expect(run.ok, run.text).toBe(true);
      expect(run.text).toContain("ok   golden_train_seg");
    },
  );

  const modules = python(
    "-c",
    "import sys; sys.modules['torchvision'] = None; import transformers, peft; peft.LoraConfig",
  );
  if (found.ok && !modules.ok) console.warn(`Skipped: ${PYTHON} cannot import transformers and peft`);
  test.skipIf(!modules.ok)("its language models equal those of transformers, its adapters those of PEFT", () => {
    const run = python("check_language.py");
    expect(run.text).not.toContain("MISS");
    expect(run.ok, run.text).toBe(true);
    expect(run.text.match(/^ok {3}/gm)?.length).toBe(14);
  });

  test.skipIf(!modules.ok).each(["qwen2", "qwen3", "qwen3-tied", "qwen3-yarn", "llama", "llama3", "llama-yarn"])(
    "the engine equals transformers on a fresh %s",
    async (name) => {
      const folder = await mkdtemp(join(tmpdir(), "sa2va-language-"));
      try {
        const file = join(folder, "language.safetensors");
        const made = python("make_language.py", "--case", name, "--seed", "29", "--out", file);
        expect(made.ok, made.text).toBe(true);
        await expectLikeTransformers(file, decodeOnHost, true);
      } finally {
        await rm(folder, { recursive: true });
      }
    },
  );

  test.each([
    ["make_folder.py", ["--variant", "qwen3", "--seed", "6"], 366],
    ["make_folder.py", ["--variant", "llama", "--seed", "6"], 362],
    ["make_folder.py", ["--variant", "two-by-two", "--seed", "5"], 364],
    ["make_folder.py", ["--variant", "internlm2-long", "--seed", "3"], 348],
    ["make_folder.py", ["--variant", "phi3-long", "--seed", "3"], 326],
    ["make_ops.py", ["--seed", "11"], 48],
    ["make_optim.py", ["--seed", "12"], 1066],
  ] as const)("the engine equals a set that %s %j makes now", async (script, args, count) => {
    const folder = await mkdtemp(join(tmpdir(), "sa2va-oracle-"));
    try {
      const made = python(script, ...args, "--out", folder);
      expect(made.ok, made.text).toBe(true);
      const rows = [];
      const deps = await loadDeps();
      for (const set of await findGoldenSets(folder)) {
        for (const check of set.kind.modules) {
          for await (const row of await check.open(set.folder, deps)) rows.push(row);
        }
      }
      expect(rows.filter((row) => !row.pass)).toEqual([]);
      expect(rows.length).toBe(count);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
