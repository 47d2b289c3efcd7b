import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { decode } from "fast-png";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { LabError } from "../../src/engine/errors.ts";
import type { StorageChoice } from "../../src/engine/model/weights/storage-choice.ts";

/** Inputs of the parity checks from outside the engine. */
export interface ScriptDeps {
  readonly decodeImage: (bytes: Uint8Array) => Promise<RgbImage>;
  /** Forms of frozen matrices; f32 when absent. */
  readonly storage?: StorageChoice | undefined;
  /** The compiled WordNet table, if the checkout has one. */
  readonly wordnet: Uint8Array | undefined;
}

const WORDNET = fileURLToPath(new URL("../../public/wordnet/", import.meta.url));

export async function loadDeps(): Promise<ScriptDeps> {
  return { decodeImage: async (bytes) => decodePng(bytes), wordnet: await wordnetTable() };
}

/** An 8-bit PNG as RGB; grey becomes three equal channels, alpha is dropped. */
export function decodePng(bytes: Uint8Array): RgbImage {
  const { width, height, data, channels, depth, palette } = decode(bytes);
  if (depth !== 8 || !(data instanceof Uint8Array || data instanceof Uint8ClampedArray)) {
    throw new LabError("unsupported", `The picture has ${depth} bits per channel, only 8 are handled`);
  }
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const colour = palette?.[data[pixel * channels] as number];
    for (let channel = 0; channel < 3; channel++) {
      const at = pixel * channels + (channels >= 3 ? channel : 0);
      rgb[pixel * 3 + channel] = colour === undefined ? (data[at] as number) : (colour[channel] as number);
    }
  }
  return { width, height, data: rgb };
}

async function wordnetTable(): Promise<Uint8Array | undefined> {
  const names = await readdir(WORDNET).catch(() => [] as string[]);
  const [table] = names.filter((name) => !/^(LICENSE|README)/.test(name)).sort();
  return table === undefined ? undefined : new Uint8Array(await readFile(`${WORDNET}${table}`));
}
