/**
 * A run's answers as COCO results, with the annotations that they answer, for pycocotools and pycocoevalcap. Each row of
 * the data set is a separate image, because an expression asks for one region: with several rows on one image, COCOeval
 * would match an answer to the region of another expression.
 */
import { type Rle, rleArea, rleBox } from "../../engine/data/mask/rle.ts";
import { type ExportFiles, type ExportFormat, type ExportSources, wholeFile } from "../../engine/export/export-file.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import { readEvaluations } from "../../engine/runs/evaluations/evaluations.ts";
import { drawnMask, generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";

export const coco: ExportFormat = { uses: ["rows"], files: cocoFiles };

const CATEGORY = { id: 1, name: "region", supercategory: "region" };

/** A row of the data set with its true answers; the mask is null where it is not known. */
interface Row {
  readonly rowId: string;
  readonly imageId: string;
  readonly caption: string;
  readonly size: readonly [height: number, width: number];
  readonly mask: Rle | null;
}

async function* cocoFiles(run: RunFolder, { rows = null }: ExportSources): ExportFiles {
  const last = (await readEvaluations(run.store, run.id)).at(-1);
  if (last !== undefined) {
    const masks = new Map<string, Rle>();
    const ids = new Set(last.rows.map(({ rowId }) => rowId));
    if (rows !== null) for await (const { id, mask } of rows.heldOut(ids)) masks.set(id, mask);
    const asked = last.rows.map(
      ({ rowId, imageId, caption, maskGreedy }): Row => ({
        ...{ rowId, imageId, caption, size: maskGreedy.size },
        mask: masks.get(rowId) ?? null,
      }),
    );
    yield* annotations("held-out", asked);
    const at = ({ step }: { readonly step: number }, part: string): object => ({ step, part });
    yield json(
      "held-out/mask-results.json",
      last.rows.map(({ maskGreedy, part }, n) => segment(n + 1, maskGreedy, 1, at(last.report, part))),
    );
    yield json(
      "held-out/caption-results.json",
      last.rows.map(({ captionGreedy, part }, n) => ({
        image_id: n + 1,
        caption: captionGreedy,
        ...at(last.report, part),
      })),
    );
  }
  yield* rolloutFiles(run);
  yield wholeFile("README.md", README);
}

/** Sampled rollouts of all steps; the score is the reward. */
async function* rolloutFiles(run: RunFolder): ExportFiles {
  const seen = new Map<string, { readonly id: number; readonly row: Row }>();
  const masks: object[] = [];
  const captions: object[] = [];
  for (const step of await run.groupSteps()) {
    for (const rollout of (await run.readGroups(step)).flatMap(({ rollouts }) => rollouts)) {
      const { rowId, imageId, givenMask, referenceCaption, reward, advantage, loop, group, id } = rollout;
      const known = seen.get(rowId);
      const image = known?.id ?? seen.size + 1;
      if (known === undefined) {
        const row = { rowId, imageId, caption: referenceCaption, size: givenMask.size, mask: givenMask };
        seen.set(rowId, { id: image, row });
      }
      const about = { step, loop, group, rollout_id: id, advantage };
      const mask = drawnMask(rollout);
      if (mask !== null && reward !== null && Number.isFinite(reward)) masks.push(segment(image, mask, reward, about));
      const caption = generatedText(loop, rollout);
      if (caption !== null)
        captions.push({ image_id: image, caption, score: reward, ...about, samples: aboutLoop(loop).samples });
    }
  }
  if (seen.size === 0) return;
  yield* annotations(
    "rollouts",
    [...seen.values()].map(({ row }) => row),
  );
  yield json("rollouts/mask-results.json", masks);
  yield json("rollouts/caption-results.json", captions);
}

/** `captions.json`, and `instances.json` if every mask is known. */
async function* annotations(folder: string, rows: readonly Row[]): ExportFiles {
  const head = {
    info: { description: "Rows of a run of sa2va-lab; every row is a separate image" },
    images: rows.map(({ rowId, imageId, size: [height, width] }, n) => ({
      ...{ id: n + 1, width, height, file_name: imageId, row_id: rowId },
    })),
  };
  const captions = rows.map(({ caption }, n) => ({ id: n + 1, image_id: n + 1, caption }));
  yield json(`${folder}/captions.json`, { ...head, type: "captions", annotations: captions });
  if (rows.some(({ mask }) => mask === null)) return;
  const instances = rows.map(({ caption, mask }, n) => ({
    ...{ id: n + 1, image_id: n + 1, category_id: CATEGORY.id, iscrowd: 0, caption },
    ...{ segmentation: plain(mask as Rle), area: rleArea(mask as Rle), bbox: rleBox(mask as Rle) },
  }));
  yield json(`${folder}/instances.json`, {
    ...head,
    type: "instances",
    annotations: instances,
    categories: [CATEGORY],
  });
}

function segment(imageId: number, mask: Rle, score: number, about: object): object {
  return { image_id: imageId, category_id: CATEGORY.id, segmentation: plain(mask), score, ...about };
}

const plain = ({ size, counts }: Rle): object => ({ size, counts });

const json = (path: string, value: object) => wholeFile(path, `${JSON.stringify(value)}\n`);

const README = `# COCO results of a run

- \`held-out\`: the newest evaluation, without sampling. \`mask-results.json\` has the policy's mask for each row's true
  caption (score 1: the decoder gives no confidence), \`caption-results.json\` the policy's caption of each row's mask.
  \`part\` is \`report\` for rows of the reported numbers and \`selection\` for rows that chose the best checkpoint.
- \`rollouts\`: all sampled rollouts; \`score\` is the reward. A row has as many results as it was sampled.
- \`captions.json\` and \`instances.json\`: the answers of the data set. \`instances.json\` of held-out rows is written
  only while the run's data is open (in the page) or named (\`--shards\`).

Each row is a separate image, with the row's id in \`row_id\` and the picture's id in \`file_name\`.

    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    truth = COCO("held-out/instances.json")
    scores = COCOeval(truth, truth.loadRes("held-out/mask-results.json"), "segm")
`;
