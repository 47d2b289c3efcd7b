/** `config.json` of checkpoints, and the shapes derived from it. */

import { readJson } from "../../../src/engine/bytes/json.ts";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { check, type Target } from "../target.ts";
import { folderFiles } from "../valid.ts";

const FILE = "config.json";

export const config: Target = {
  ...casesOf(
    {
      pocket: folderFiles("public/pocket/model", [FILE]),
      qwen2: folderFiles("tests/golden/sa2va-tiny-qwen2", [FILE]),
      internlm2: folderFiles("tests/golden/sa2va-tiny-internlm2", [FILE]),
      phi3: folderFiles("tests/golden/sa2va-tiny-phi3", [FILE]),
    },
    () => jsonDamage(),
  ),
  async read(files) {
    const read = parseSa2vaConfig(await readJson(memorySource(FILE, files[FILE] ?? new Uint8Array())));
    const whole = (value: number, name: string): void =>
      check(Number.isSafeInteger(value) && value >= 1 && value <= 2 ** 31, `${name} is ${value}`);
    const { vision, language } = read;
    for (const [name, value] of Object.entries({ ...vision, ...language })) {
      check(typeof value !== "number" || Number.isFinite(value), `${name} is ${String(value)}`);
    }
    for (const key of ["hiddenSize", "layers", "heads", "mlpSize", "patchSize"] as const) {
      whole(vision[key], `vision.${key}`);
    }
    for (const key of ["hiddenSize", "layers", "heads", "kvHeads", "mlpSize", "vocabSize"] as const) {
      whole(language[key], `language.${key}`);
    }
    check(language.heads % language.kvHeads === 0, `${language.heads} heads over ${language.kvHeads}`);
    whole(read.tokensPerTile, "tokensPerTile");
    check(read.minTiles >= 1 && read.maxTiles >= read.minTiles, `${read.minTiles} to ${read.maxTiles} tiles`);
  },
};
