/** GAR-Bench: multiple-choice questions about several regions, and captions that a judge calls true or false (docs/spec/evaluation.md#23-gar-bench). */
import { isRecord } from "../../engine/bytes/json.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { badInput } from "../../engine/errors.ts";
import { meanOf } from "../../engine/eval/bootstrap.ts";
import { type JudgeQuestion, recognitionQuestion } from "../../engine/rewards/judge-score.ts";
import { findFiles, pictureRows } from "./rows.ts";
import {
  type AnsweredItem,
  type PublishedScore,
  publishedScores,
  type Suite,
  type SuiteItem,
  type SuiteMetric,
} from "./suite.ts";

type Kind = "vqa" | "simple" | "detailed";

const triple = (model: string, vqa: number, simple: number, detailed: number): PublishedScore[] =>
  Object.entries({ VQA: vqa, Simple: simple, Detailed: detailed }).flatMap(([metric, value]) =>
    publishedScores("README of Grasp-Any-Region", metric, { [model]: value }),
  );

export const gar: Suite = {
  name: "gar",
  what: "GAR-Bench: questions and captions about several regions of a picture",
  rule: "VQA: the whole answer equals the letter, case ignored; captions: share that a judge calls true; a live judge reads the truth and answers two questions, with the picture and crops if it may see them; the published one sees them and replies True (stored replies)",
  split: undefined,
  judged: true,
  judgeSees: "crops",
  published: { "": [...triple("GAR-1B", 47.9, 55.7, 66.4), ...triple("GAR-8B", 57.8, 63.9, 69.2)] },
  async open(folder, _split, signal) {
    const files = (await findFiles(folder, { "gar-bench": "rows of GAR-Bench" }, signal)).get("gar-bench") ?? [];
    const read = await Promise.all(
      files.map(async (file) => {
        const entries: Parameters<typeof pictureRows>[1][number][] = [];
        for await (const [at, value] of file.records.each()) {
          if (!isRecord(value)) continue;
          const rles = value.mask_rles;
          entries.push({
            picture: value.image,
            rows: async (mask) => {
              if (!Array.isArray(rles)) throw badInput(`row ${at} of ${file.path} has no list of masks`);
              const masks: Rle[] = [];
              for (const rle of rles) masks.push(await mask(rle));
              return [{ id: `${file.path}#${at}`, masks, ...questionOf(value) }];
            },
          });
        }
        return pictureRows(file, entries, signal);
      }),
    );
    const places = read.flatMap((rows) => rows.items.map((_, at) => () => rows.picture(at)));
    return {
      items: read.flatMap(({ items }) => items),
      leftOut: read.flatMap(({ leftOut }) => leftOut),
      picture: (index) => (places[index] as (typeof places)[number])(),
    };
  },
  task: ({ text, masks }) => ({ kind: "ask", question: text, regions: masks }),
  metrics(rows, clusters) {
    const parts: Readonly<Record<string, (kind: string) => boolean>> = {
      VQA: (kind) => kind.startsWith("vqa"),
      Simple: (kind) => kind === "simple",
      Detailed: (kind) => kind === "detailed",
      ...Object.fromEntries(typesOf(rows).map((type) => [`VQA ${type}`, (kind: string) => kind === `vqa ${type}`])),
    };
    return Object.entries(parts).flatMap(([name, belongs]): SuiteMetric[] => {
      const value = (row: AnsweredItem) => (belongs(row.item.kind ?? "") ? garScore(row) : null);
      return rows.some((row) => value(row) !== null) ? [{ name, statistic: meanOf(rows, clusters, value) }] : [];
    });
  },
  score: garScore,
};

/** 1 for a right answer, null for a caption without a verdict. */
function garScore({ item, answer, judged }: AnsweredItem): number | null {
  if (item.kind?.startsWith("vqa") !== true) return judged?.positive ?? null;
  return Number((answer.text ?? "").trim().toLowerCase() === (item.answer ?? "").trim().toLowerCase());
}

function typesOf(rows: readonly AnsweredItem[]): string[] {
  const types = rows.flatMap(({ item }) => (item.kind?.startsWith("vqa ") === true ? [item.kind.slice(4)] : []));
  return [...new Set(types)].sort();
}

/** Question, truth and kind of a row. `<Prompt0>` is the first region, which the lab names region1. */
function questionOf(row: Readonly<Record<string, unknown>>): Pick<SuiteItem, "text" | "kind" | "answer" | "questions"> {
  const text = (value: unknown): string =>
    (typeof value === "string" ? value : "").replace(/<Prompt(\d+)>/g, (_, n: string) => `region${Number(n) + 1}`);
  const asked = text(row.question);
  const answer = text(row.answer);
  if (Array.isArray(row.choices)) {
    const options = row.choices.map(text).join("\n");
    const ask = "Answer with the correct option's letter directly.";
    return { text: `Question: ${asked}\nOptions:\n${options}\n${ask}`, answer, kind: `vqa ${text(row.type)}`.trim() };
  }
  const kind: Kind = "predicate_name" in row ? "detailed" : "simple";
  const detailed = "Describe region1 in detail, including the relationship with region2.";
  if (kind === "simple") {
    const questions = verdictOn(`Does it answer the question "${asked}"?`, `Does it mean the same as "${answer}"?`);
    return { text: asked, answer, kind, questions };
  }
  const subject = text(row.subject_name);
  const truth = [subject, text(row.predicate_name), text(row.object_name)].join(" ");
  const questions = verdictOn(
    `Is "${subject}" or something of the same meaning mentioned?`,
    `Does it convey "${truth}"?`,
  );
  return { text: asked === "" ? detailed : asked, answer: truth, kind, questions };
}

/** A caption is true when both questions are answered with yes. */
function verdictOn(first: string, second: string): JudgeQuestion[] {
  return [
    recognitionQuestion(first),
    {
      type: "positive",
      question: second,
      choices: [
        ["Yes", 1],
        ["No", 0],
      ],
    },
  ];
}
