/** Shared by the checks of a video golden set: SAM2's weights and the clip's features. */
import { readJson } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import { badInput } from "../../../src/engine/errors.ts";
import { atOnce } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { resizeBicubic } from "../../../src/engine/model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import { parseSam2Config, type Sam2Config } from "../../../src/engine/model/sam2/config.ts";
import { encodeFrame, type FrameMaps } from "../../../src/engine/model/sam2/hiera.ts";
import { type Weights, weightsView } from "../../../src/engine/model/weights/weights.ts";
import { type GoldenArrays, openArrays } from "../golden-arrays.ts";
import { jsonFile } from "../golden-model.ts";

export interface VideoGolden {
  readonly config: Sam2Config;
  /** video.json. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly weights: Weights;
  /** The same with the tensors that SAM 2.1 adds. */
  readonly weights21: Weights;
  readonly input: GoldenArrays;
  /** Features of each picture of the clip; owned by the set. */
  readonly maps: readonly FrameMaps[];
  /** SAM2's input of the first picture on bytes. */
  readonly firstInput: Uint8Array;
  dispose(): void;
}

/** @throws LabError naming the file that is missing or wrong */
export async function openVideoGolden(folder: ByteFolder): Promise<VideoGolden> {
  const source = folder.get("config.json");
  if (source === undefined) throw badInput("The golden folder has no config.json");
  const config = parseSam2Config(((await readJson(source)) as { sam2_config?: unknown }).sam2_config);
  const json = await jsonFile(folder, "video.json");
  const own = await tensorsIn(folder, "sam2.safetensors");
  const more = await tensorsIn(folder, "sam21_extra.safetensors");
  const weights = weightsView(own, {}, 0);
  const input = await openArrays(folder, "golden_input.safetensors");
  const inputs = samInputs(await frames(input), config.imageSize, Uint8Array.from(await input.read("sam_u8.0")));
  const size = config.imageSize;
  const maps = inputs.map((bytes) => {
    const pixels = tf.tensor4d(normalisePixels(bytes), [1, size, size, 3]);
    const made = atOnce(encodeFrame(weights, config, pixels));
    pixels.dispose();
    return made;
  });
  return {
    config,
    json,
    weights,
    weights21: weightsView(new Map([...own, ...more]), {}, 0),
    input,
    maps,
    firstInput: inputs[0] as Uint8Array,
    dispose() {
      tf.dispose([...own.values(), ...more.values(), ...maps.flatMap(({ f16, f8, f4 }) => [f16, f8, f4])]);
    },
  };
}

async function tensorsIn(folder: ByteFolder, path: string): Promise<Map<string, Tensor>> {
  const arrays = await openArrays(folder, path);
  const tensors = new Map<string, Tensor>();
  for (const name of arrays.names) tensors.set(name, await arrays.tensor(name));
  return tensors;
}

async function frames(input: GoldenArrays): Promise<RgbImage[]> {
  const [count, height, width] = input.shape("frames_u8") as [number, number, number];
  const bytes = Uint8Array.from(await input.read("frames_u8"));
  const each = height * width * 3;
  return Array.from({ length: count }, (_, at) => ({
    height,
    width,
    data: bytes.subarray(at * each, (at + 1) * each),
  }));
}

/** Recorded with the Pillow that resizes tall pictures by rows first; the first frame shows which version it was. */
function samInputs(pictures: readonly RgbImage[], size: number, recorded: Uint8Array): Uint8Array[] {
  const by = (first: "columns" | "rows"): Uint8Array[] =>
    pictures.map((picture) => resizeBicubic(picture, size, size, first).data);
  const columns = by("columns");
  return columns[0]?.every((byte, at) => byte === recorded[at]) === true ? columns : by("rows");
}
