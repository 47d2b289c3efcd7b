/**
 * The Python files of a checkpoint: fetched from a hub or a plain server, kept, copied into merged exports, and enough for
 * transformers to load these with remote code. PYTHON names an interpreter with torch and transformers; without one the last
 * step is skipped.
 */
import { spawnSync } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { mergedFiles } from "../../../src/engine/export/merged.ts";
import { MAX_CODE_BYTES } from "../../../src/engine/model/remote-code.ts";
import type { TrainedTensors } from "../../../src/engine/runs/checkpoint/trained.ts";
import { remoteAddress } from "../../../src/plugins/hub/address.ts";
import { openRemote } from "../../../src/plugins/hub/folder.ts";
import { askRemote } from "../../../src/plugins/hub/listing.ts";
import { type CheckpointServer, checkpointServer } from "../../support/checkpoint-server.ts";
import { HANG } from "../../support/hang.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";
const PYTHON = process.env.PYTHON || "python3";
const imports = "import sys; sys.modules['torchvision'] = None; import torch, transformers";
const missing = spawnSync(PYTHON, ["-c", imports]).status !== 0;
if (missing) console.warn(`Skipped: ${PYTHON} cannot import torch and transformers`);

/** Remote code in the form of the published one: two mapped modules, one of which imports a third. */
const CODE: Readonly<Record<string, string>> = {
  "configuration_sa2va_chat.py": `from transformers import PretrainedConfig
class Sa2VAChatConfig(PretrainedConfig):
    model_type = "sa2va_chat"
`,
  "modeling_sa2va_chat.py": `import torch
from transformers import PreTrainedModel
from .configuration_sa2va_chat import Sa2VAChatConfig
from .projector import projector
class Sa2VAChatModel(PreTrainedModel):
    config_class = Sa2VAChatConfig
    def __init__(self, config):
        super().__init__(config)
        self.mlp1 = projector(config.llm_config["hidden_size"])
        self.post_init()
    def _init_weights(self, module):
        pass
`,
  "projector.py": `from torch import nn
def projector(width):
    return nn.Sequential(nn.Identity(), nn.Identity(), nn.Identity(), nn.Linear(width, width))
`,
};
const LOAD = `
import json, sys
sys.modules["torchvision"] = None
from transformers import AutoModel
model = AutoModel.from_pretrained(sys.argv[1], trust_remote_code=True)
print(json.dumps([type(model).__name__, model.mlp1[3].bias.tolist()]))
`;

import { inMemory } from "../runs/sample-checkpoint.ts";

let scratch = "";
let served = "";
let server: CheckpointServer;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "remote-code-"));
  served = await mkdtemp(join(scratch, "served-"));
  for (const name of await readdir(GOLDEN)) {
    if (/^(model|tokenizer|vocab|merges|added|special|generation)/.test(name))
      await copyFile(join(GOLDEN, name), join(served, name));
  }
  const config = JSON.parse(await readFile(join(GOLDEN, "config.json"), "utf8")) as Record<string, unknown>;
  const map = {
    AutoConfig: "configuration_sa2va_chat.Sa2VAChatConfig",
    AutoModel: "modeling_sa2va_chat.Sa2VAChatModel",
    AutoTokenizer: ["somebody/else--tokenization.Other", null],
  };
  await writeFile(join(served, "config.json"), JSON.stringify({ ...config, auto_map: map }));
  for (const [name, text] of Object.entries(CODE)) await writeFile(join(served, name), text);
  server = await checkpointServer(served);
});
beforeEach(() => server.reset());
afterAll(async () => {
  await server.close();
  await rm(scratch, { recursive: true, force: true });
});

/** The served folder, opened as a hub's repository or file by file. */
async function opened(how: "hub" | "plain"): Promise<ByteFolder> {
  const address = how === "hub" ? remoteAddress("owner/tiny", server.hub) : remoteAddress(server.url, "");
  return (await openRemote((await askRemote(address)).listing)).folder;
}

const bias = Float32Array.from({ length: 48 }, (_, at) => at / 8);
const trained: TrainedTensors = {
  step: 1,
  side: "policy",
  lora: null,
  tensors: inMemory(new Map([["mlp1.3.bias", { shape: [48], data: bias }]])),
};

test.each(["hub", "plain"] as const)("are fetched and kept: %s", async (how) => {
  const base = await opened(how);
  const text = async (path: string): Promise<string> => {
    const source = base.get(path);
    return new TextDecoder().decode(await source?.read(0, source.size));
  };
  for (const [name, code] of Object.entries(CODE)) expect(await text(name), name).toBe(code);
  const lacking: string[] = [];
  const files = [];
  for await (const file of mergedFiles(base, trained, {
    dtype: null,
    onMissingCode: (names) => void lacking.push(...names),
  })) {
    files.push(file.path);
  }
  expect(files).toEqual(expect.arrayContaining(Object.keys(CODE)));
  expect(lacking).toEqual([]);
});

test("absent and too large files are left out, and the export names them", async () => {
  await writeFile(
    join(served, "modeling_sa2va_chat.py"),
    `${CODE["modeling_sa2va_chat.py"]}${"#".repeat(MAX_CODE_BYTES)}`,
  );
  try {
    for (const how of ["hub", "plain"] as const) {
      const base = await opened(how);
      expect(base.get("modeling_sa2va_chat.py")).toBeUndefined();
      const lacking: string[] = [];
      for await (const _ of mergedFiles(base, trained, {
        dtype: null,
        onMissingCode: (names) => void lacking.push(...names),
      }));
      expect(lacking).toEqual(["modeling_sa2va_chat.py"]);
    }
    // A server that says less than it sends.
    const listing = (await askRemote(remoteAddress("owner/tiny", server.hub))).listing;
    const lying = { ...listing, files: [...listing.files, { path: "modeling_sa2va_chat.py", size: 10, version: "1" }] };
    await expect(openRemote(lying)).rejects.toThrow(/has more than 1048576 bytes/);
  } finally {
    await writeFile(join(served, "modeling_sa2va_chat.py"), CODE["modeling_sa2va_chat.py"] as string);
  }
});

test.skipIf(missing)("transformers loads the merged export with them", async () => {
  const out = join(scratch, "merged");
  await writeOut(out, async (target) => target.add(mergedFiles(await opened("hub"), trained, { dtype: null })));
  const env = { ...process.env, HF_HOME: join(scratch, "hf"), HF_HUB_OFFLINE: "1" };
  const read = spawnSync(PYTHON, ["-c", LOAD, out], { encoding: "utf8", timeout: HANG, env });
  expect(read.status, read.stderr).toBe(0);
  const [name, values] = JSON.parse(read.stdout.trim().split("\n").at(-1) ?? "") as [string, number[]];
  expect(name).toBe("Sa2VAChatModel");
  expect(values).toEqual([...bias]);
});
