/**
 * A run for Sa2VA's own training code (xtuner, MMEngine): what its configuration has to say, the data with masks as
 * polygons, and the adapter (reference: ecosystem.md §10).
 */
import { maskPolygons } from "../data/mask-polygons.ts";
import { decodeRle } from "../data/rle.ts";
import type { RegionSample } from "../data/sample.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import type { TrainedTensors } from "../runs/trained.ts";
import { adapterFiles } from "./adapter.ts";
import { below, type ExportFiles, wholeFile } from "./export-file.ts";

/** Training rows in the order in which they shall be listed. */
export type ExportSamples = () => AsyncIterable<RegionSample>;

const ENDINGS = { jpeg: "jpg", png: "png", webp: "webp", bmp: "bmp", gif: "gif", tiff: "tif" } as const;

/** @param samples null leaves annotations and pictures out */
export async function* sa2vaFiles(
  run: RunFolder,
  trained: TrainedTensors,
  template: string | null,
  samples: ExportSamples | null,
): ExportFiles {
  const manifest = run.manifest();
  yield wholeFile("run.json", `${JSON.stringify(manifest, null, 2)}\n`);
  yield wholeFile("sa2va_finetune.py", finetuneSettings(run, trained, template));
  yield* below("adapter", adapterFiles(manifest, trained));
  if (samples !== null) yield* dataFiles(samples);
  yield wholeFile("README.md", readme(samples !== null));
}

interface Annotation {
  readonly image: string;
  readonly mask: number[][][];
  readonly text: string[];
}

/** Every picture once; annotations.json lists its objects, each with all its polygons. */
async function* dataFiles(samples: ExportSamples): ExportFiles {
  const byImage = new Map<string, Annotation>();
  for await (const { image, mask, caption, imageId } of samples()) {
    let entry = byImage.get(imageId);
    if (entry === undefined) {
      const kind = image.mime.slice("image/".length) as keyof typeof ENDINGS;
      entry = { image: `${imageId}.${ENDINGS[kind]}`, mask: [], text: [] };
      byImage.set(imageId, entry);
      yield wholeFile(`images/${entry.image}`, image.bytes);
    }
    entry.mask.push(maskPolygons(decodeRle(mask), image.width, image.height));
    entry.text.push(caption);
  }
  yield wholeFile("annotations.json", `${JSON.stringify([...byImage.values()])}\n`);
}

function finetuneSettings(run: RunFolder, { lora }: TrainedTensors, template: string | null): string {
  const { config, model } = run.manifest();
  const python = (value: unknown): string => (value === null ? "None" : JSON.stringify(value));
  return `# Values for a fine-tuning configuration of Sa2VA (projects/sa2va/configs). "path" is the base InternVL of the
# checkpoint, "pretrained_pth" what tools/convert_to_pth.py makes of the merged export; both are yours to fill in.
path = None
pretrained_pth = "merged.pth"
template = ${python(template)}
special_tokens = ["[SEG]", "<p>", "</p>", "<vp>", "</vp>"]
frozen_sam2_decoder = False

lora_r = ${lora?.r ?? config.loraRank}
lora_alpha = ${lora?.alpha ?? config.loraAlpha}
lora_dropout = 0.05

batch_size = ${config.promptsPerStep}
accumulative_counts = ${config.accumulation}
lr = ${config.learningRate}
betas = (${config.adamBeta1}, ${config.adamBeta2})
weight_decay = ${config.weightDecay}
max_norm = ${config.maxGradNorm}

data_root = "./"
ann_file = "annotations.json"
image_folder = "images"
trained_from = ${python(model.name)}
`;
}

function readme(withData: boolean): string {
  const data = withData
    ? "- `annotations.json`, `images/`: the rows of the data set; a mask is a list of polygons along pixel edges, and a part with\n  a hole is cut in two, because the format knows no holes.\n"
    : "- Annotations and pictures were left out: name the shards to have them.\n";
  return `# A run for Sa2VA's own training code

- \`adapter/\`: LoRA of the language model for PEFT, and \`modules.safetensors\` with projector, [SEG] prompt, mask decoder and
  prompt encoder.
- \`sa2va_finetune.py\`: values for the configuration.
${data}
1. Export the run as \`merged\`: its configuration loads weights before a fresh LoRA is attached, so the adapter must be folded in.
2. \`tools/convert_to_pth.py <merged folder> --arch-type internvl --save-path merged.pth\`
3. Put the values of \`sa2va_finetune.py\` into a configuration and train.
4. \`tools/convert_to_hf.py <config> <iter.pth> --save-path out\`

Its own checkpoints keep the language side, \`sam_mask_decoder\` and \`text_hidden_fcs\`; a trained prompt encoder is lost on
that route.
`;
}
