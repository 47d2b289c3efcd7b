/** Adapter folders as the start of a run. */

import { join } from "node:path";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { ADAPTER_CONFIG, ADAPTER_MODEL, MODULES_FILE } from "../../../src/engine/formats/peft-names.ts";
import { writeSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { readStartAdapter } from "../../../src/engine/model/adapter/start-adapter.ts";
import { isTrainableBase } from "../../../src/engine/model/adapter/trainable.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { check, type Files, type Target } from "../target.ts";
import { folderFiles } from "../valid.ts";
import { SAFETENSORS_DAMAGE } from "./safetensors.ts";

const FOLDER = "tests/golden/sa2va-tiny-phi3";
const opened = await openCheckpoint(await nodeFolder(join(root, FOLDER)));
const base = new Map(
  opened.tensorNames.filter(isTrainableBase).map((name) => [name, { shape: opened.shape(name) }] as const),
);
const [module] = [...base].sort(([, a], [, b]) => a.shape.length - b.shape.length);
const length = module?.[1].shape.reduce((product, side) => product * side, 1) ?? 0;

const files: Files = {
  ...folderFiles(FOLDER, [ADAPTER_CONFIG, ADAPTER_MODEL]),
  [MODULES_FILE]: writeSafetensors(
    [{ name: module?.[0] ?? "", shape: module?.[1].shape ?? [], data: new Float32Array(length).fill(0.5) }],
    { format: "pt" },
  ),
};

export const adapter: Target = {
  ...casesOf({ adapter: files }, (path) => (path.endsWith(".json") ? jsonDamage() : SAFETENSORS_DAMAGE)),
  async read(damaged) {
    const target = { language: opened.config.language, base };
    const { rank, scale, tensors, modules } = await readStartAdapter(memoryFolder(damaged), target, "a");
    check(Number.isInteger(rank) && rank >= 1, `a rank of ${rank}`);
    check(Number.isFinite(scale) && scale > 0, `a scale of ${scale}`);
    check(tensors.size > modules, "no low-rank factor");
    for (const { name, shape, values } of tensors.values()) {
      const elements = shape.reduce((product, side) => product * side, 1);
      check(values.length === elements && values.every(Number.isFinite), `${name} is not whole or not finite`);
      check(name in Object.prototype === false, `a tensor called ${name}`);
    }
  },
};
