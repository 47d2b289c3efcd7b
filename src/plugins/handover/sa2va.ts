/**
 * A run for Sa2VA's own training code: a complete configuration, the training rows with masks as polygons, and the adapter
 * (docs/spec/formats.md#10-handing-a-run-over-to-a-larger-engine).
 */

import { storedPlace } from "../../engine/data/image/image-header.ts";
import { decodeRle } from "../../engine/data/mask/rle.ts";
import type { RegionSample } from "../../engine/data/sample.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { adapterFiles } from "../../engine/export/adapter.ts";
import { below, type ExportFiles, type ExportRows, pictureName, wholeFile } from "../../engine/export/export-file.ts";
import type { TrainedTensors } from "../../engine/runs/checkpoint/trained.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";
import { maskPolygons } from "./polygons.ts";
import { MERGED_PTH, sa2vaConfigText } from "./sa2va-config.ts";

/**
 * @param rows null leaves out annotations and pictures
 * @throws LabError("bad-input") when the run trained no adapter
 */
export async function* sa2vaFiles(run: RunFolder, trained: TrainedTensors, rows: ExportRows | null): ExportFiles {
  const manifest = run.manifest();
  const { template, base } = manifest.model;
  requireInternVl(base, "The exported configuration");
  if (trained.lora === null) throw badInput(`Run "${manifest.id}" trained no adapter`, manifest.id);
  yield wholeFile("run.json", `${JSON.stringify(manifest, null, 2)}\n`);
  const settings = {
    runId: manifest.id,
    model: manifest.model.name,
    template,
    base: base ?? null,
    trainRows: manifest.data.trainRows,
    config: manifest.config,
    lora: trained.lora,
  };
  yield wholeFile("sa2va_finetune.py", sa2vaConfigText(settings));
  yield* below("adapter", adapterFiles(manifest, trained));
  if (rows !== null) {
    yield wholeFile("split.json", `${JSON.stringify(rows.split, null, 2)}\n`);
    yield* dataFiles(rows);
  }
  yield wholeFile("README.md", readme(manifest, rows));
}

interface Annotation {
  readonly image: string;
  readonly mask: number[][][];
  readonly text: string[];
}

/** Every picture once; annotations.json lists its objects, each with all its polygons. */
async function* dataFiles(rows: ExportRows): ExportFiles {
  const byImage = new Map<string, Annotation>();
  for await (const sample of rows.train()) {
    const { image, caption, imageId } = sample;
    let entry = byImage.get(imageId);
    if (entry === undefined) {
      entry = { image: pictureName(sample), mask: [], text: [] };
      byImage.set(imageId, entry);
      yield wholeFile(`images/${entry.image}`, image.bytes);
    }
    entry.mask.push(storedPolygons(sample));
    entry.text.push(caption);
  }
  yield wholeFile("annotations.json", `${JSON.stringify([...byImage.values()])}\n`);
}

/** Polygons of a mask over the stored picture: the data set's reader does not apply the EXIF orientation. */
function storedPolygons({ image, mask }: RegionSample): number[][] {
  const { width, height, orientation } = image;
  const stored = toStored(decodeRle(mask), width, height, orientation);
  return orientation >= 5 ? maskPolygons(stored, height, width) : maskPolygons(stored, width, height);
}

function readme({ data }: RunManifest, rows: ExportRows | null): string {
  const rowText =
    rows === null
      ? `- \`annotations.json\` and \`images/\` were left out: the rows of ${data.name} were not open when this was written. The
  configuration needs both next to it.`
      : `- \`annotations.json\`, \`images/\`: the ${rows.split.train.length} training rows. A mask is a list of polygons along pixel edges. A
  part with a hole is cut in two, because the format has no holes.
- \`split.json\`: the settings of the split, and the ids of the training rows and of the ${rows.split.heldOut.length} held-out rows. The held-out rows
  are not in \`annotations.json\`.`;
  return `# A run for Sa2VA's own training code

- \`sa2va_finetune.py\`: a complete configuration with the run's values. It reads its data and weights from its own
  folder; \`path\` names the InternVL checkpoint, relative to the folder that training starts from.
- \`adapter/\`: LoRA of the language model for PEFT, and \`modules.safetensors\` with projector, [SEG] prompt, mask decoder and
  prompt encoder.
${rowText}

From the root of Sa2VA's repository, with EXPORT as the path of this folder and MERGED as that of the merged export:

1. Export the run as \`merged\` too. The training code loads weights before it adds a new LoRA, so the adapter must be
   merged.
2. \`python tools/convert_to_pth.py MERGED --arch-type internvl --save-path EXPORT/${MERGED_PTH}\`
3. \`bash tools/dist.sh train EXPORT/sa2va_finetune.py 8\`
4. \`python tools/convert_to_hf.py EXPORT/sa2va_finetune.py work_dirs/sa2va_finetune/iter_N.pth --save-path OUT\`

EXPORT needs a folder part: write \`./export\`, because step 2 fails on a file name alone. Its checkpoints keep the language
side, \`sam_mask_decoder\` and \`text_hidden_fcs\`; a trained prompt encoder is lost on this route.
`;
}

/**
 * A mask in the orientation of the stored pixels: the inverse of the rotation in `toRgb`.
 * @param mask [height · width] in the sample's orientation
 * @returns the same length; from orientation 5 on, width and height are exchanged
 */
export function toStored(mask: Uint8Array, width: number, height: number, orientation: number): Uint8Array {
  if (orientation === 1) return mask;
  const [storedWidth, storedHeight] = orientation >= 5 ? [height, width] : [width, height];
  const out = new Uint8Array(mask.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [sx, sy] = storedPlace(x, y, storedWidth, storedHeight, orientation);
      out[sy * storedWidth + sx] = mask[y * width + x] as number;
    }
  }
  return out;
}

/**
 * Some programs beside the lab only know Sa2VA on InternVL.
 * @param base as stored with a run
 * @throws LabError("unsupported") for a run of another family
 */
export function requireInternVl(base: string | undefined, program: string): void {
  if (base === undefined || base.startsWith("InternVL")) return;
  throw new LabError("unsupported", `${program} only trains Sa2VA on InternVL, this run trained one on ${base}`, {
    subject: base,
  });
}
