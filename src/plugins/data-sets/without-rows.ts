/** Known kinds of files without rows to train on; the message names them. */
import { firstOf, has, type Reader } from "../../engine/data/readers/reader.ts";

/** Kinds of files in the order of trial. */
export const WITHOUT_ROWS: readonly Reader[] = [
  {
    label: "gcg-caption-gt",
    what: "true captions of grounded conversations",
    recognise: (sign) =>
      has(firstOf(sign, "annotations"), "labels", "caption") && !has(firstOf(sign, "annotations"), "segmentation")
        ? "annotations with labels and caption, without segmentation"
        : undefined,
    open: "it is the ground truth of an evaluation and has no masks",
  },
  {
    label: "dlc-questions",
    what: "questions of DLC-Bench",
    recognise: ({ shape, values: [first] }) =>
      shape === "object" && has(first?.item, "question", "choices", "type")
        ? "ids with lists of question, choices and type"
        : undefined,
    open: "it is for evaluation only",
  },
  {
    label: "reasonseg",
    what: "a row of ReasonSeg",
    recognise: ({ shape, keys }) =>
      shape === "object" && keys.includes("shapes") && keys.includes("is_sentence")
        ? "shapes and is_sentence"
        : undefined,
    open: "there is no picture of the same name next to it",
  },
  {
    label: "gcg-prediction",
    what: "a prediction of grounded conversations",
    recognise: ({ shape, keys, values: [first] }) =>
      shape === "object" &&
      ((keys.includes("phrases") && keys.includes("pred_masks")) || has(first?.value, "phrases", "pred_masks"))
        ? "phrases and pred_masks"
        : undefined,
    open: "it is a model's output, not data",
  },
  {
    label: "gar-prediction",
    what: "answers of a model to GAR-Bench",
    recognise: ({ first }) =>
      has(first, "mask_rles", "model_output") ? "records with mask_rles and model_output" : undefined,
    open: "it is a model's output, not data",
  },
  {
    label: "gar-bench",
    what: "rows of GAR-Bench",
    recognise: ({ first }) =>
      has(first, "mask_rles") && ["choices", "answer", "predicate_name"].some((name) => has(first, name))
        ? "records with mask_rles and choices, answer or predicate_name"
        : undefined,
    open: "it is for evaluation only",
  },
];
