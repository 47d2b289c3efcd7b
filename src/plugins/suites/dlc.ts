/** DLC-Bench: a judge answers prepared questions about captions (docs/spec/evaluation.md#22-dlc-bench-questions-choices-and-the-per-object-score-rewardsmd-3a). */
import { isRecord } from "../../engine/bytes/json.ts";
import { idText, maskOf, openCoco } from "../../engine/data/readers/coco.ts";
import { badInput } from "../../engine/errors.ts";
import { meanOf } from "../../engine/eval/bootstrap.ts";
import { readQuestion } from "../../engine/rewards/judge/questions/question-set.ts";
import { type JudgeQuestion, recognitionQuestion } from "../../engine/rewards/judge-score.ts";
import { findFiles, onlyFile, type PictureItem, pictureRows, type SuiteFile } from "./rows.ts";
import { type AnsweredItem, type PublishedScore, publishedScores, type Suite } from "./suite.ts";

const LLAMA = "Llama-3.1-8B judge";

const triple = (model: string, source: string, positive: number, negative: number, average: number): PublishedScore[] =>
  Object.entries({ Pos: positive, Neg: negative, Avg: average }).flatMap(([metric, value]) =>
    publishedScores(source, metric, { [model]: value }),
  );

export const dlc: Suite = {
  name: "dlc",
  what: "DLC-Bench: detailed captions of regions, scored by a judge's questions",
  rule: "Avg = (Pos + Neg) / 2 of means over objects; the lab words the recognition question; captions are greedy",
  split: undefined,
  judged: true,
  judgeSees: "masks",
  published: {
    "": [
      ...triple("DAM-3B", `released results, ${LLAMA}`, 51.0, 83.0, 67.0),
      ...triple("GAR-1B", `GAR paper, ${LLAMA}`, 48.9, 87.0, 68.0),
      ...triple("GAR-8B", `GAR paper, ${LLAMA}`, 50.2, 84.6, 67.4),
      ...triple("GAR-1B", "GAR paper, GPT-4o with picture as judge", 66.2, 88.0, 77.1),
    ],
  },
  async open(folder, _split, signal) {
    const wanted = { "dlc-questions": "qa.json", "coco-instances": "annotations.json in COCO form" };
    const found = await findFiles(folder, { ...wanted, "texts-by-id": "class_names.json" }, signal);
    const questions = onlyFile(found, "dlc-questions", "qa.json");
    const names = onlyFile(found, "texts-by-id", "class_names.json");
    const regions = onlyFile(found, "coco-instances", "annotations.json");
    const [asked, classes] = [await valuesOf(questions), await valuesOf(names)];
    const coco = await openCoco(regions.records);
    const entries = [...coco.images].flatMap(([id, image]) => {
      const places = coco.byImage.get(id) ?? [];
      const rows: Parameters<typeof pictureRows>[1][number]["rows"] = async (read) => {
        const items: PictureItem[] = [];
        for (const place of places) {
          const annotation = await coco.annotation(place);
          const own = idText(annotation.id);
          const list = asked.get(own);
          if (!Array.isArray(list)) continue;
          const name = String(classes.get(own) ?? coco.categories.get(idText(annotation.category_id)) ?? "object");
          const masks = [await read(maskOf(annotation.segmentation, image))];
          const questions = list.flatMap((value) => questionOf(own, value));
          items.push({ id: own, text: name, masks, questions: [recognition(name), ...questions] });
        }
        return items;
      };
      return places.length === 0 ? [] : [{ picture: image.fileName, rows }];
    });
    return pictureRows(regions, entries, signal);
  },
  task: ({ masks: [region] }) => ({ kind: "describe", region: region as NonNullable<typeof region> }),
  metrics(rows, clusters) {
    const positive = meanOf(rows, clusters, ({ judged }) => judged?.positive ?? null);
    const negative = meanOf(rows, clusters, ({ judged }) => judged?.negative ?? null);
    return [
      { name: "Pos", statistic: positive },
      { name: "Neg", statistic: negative },
      { name: "Avg", statistic: (drawn) => (positive(drawn) + negative(drawn)) / 2 },
    ];
  },
  score: dlcScore,
};

function dlcScore({ judged }: AnsweredItem): number | null {
  if (judged === undefined) return null;
  return judged.negative === null ? judged.positive : (judged.positive + judged.negative) / 2;
}

/** The first question, about the class of the object. */
function recognition(name: string): JudgeQuestion {
  const article = /^[aeiou]/i.test(name) ? "an" : "a";
  return recognitionQuestion(`Is the described object likely ${article} ${name} or something similar?`);
}

/** A prepared question about an object. @throws LabError("bad-input") for one of another form, which cannot be scored */
function questionOf(id: string, value: unknown): JudgeQuestion[] {
  const read = readQuestion(value);
  if (typeof read === "string") throw badInput(`a question about ${id} ${read}`);
  return read.type === "recognition" ? [] : [read];
}

/** Values of an object by key. */
async function valuesOf({ records }: SuiteFile): Promise<ReadonlyMap<string, unknown>> {
  const values = new Map<string, unknown>();
  for await (const [at, value] of records.each()) values.set(records.keys[at] ?? "", value);
  return new Map([...values].filter(([, value]) => !isRecord(value)));
}
