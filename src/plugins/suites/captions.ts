/** Captions for the masks of any rows (docs/spec/evaluation.md#21-refcocog-and-visual-genome-glamm-osprey-sa2va). */

import { type Clusters, meanOf } from "../../engine/eval/bootstrap.ts";
import { cleanRegionCaption } from "./benchmarks/answer-text.ts";
import { cider } from "./benchmarks/cider.ts";
import { ptbTokens } from "./benchmarks/ptb-tokens.ts";
import { regionRows } from "./rows.ts";
import type { Suite, SuiteMetric, SuiteTools } from "./suite.ts";

export const captions: Suite = {
  name: "captions",
  what: "captions for the masks of any rows",
  rule: "GLaMM clean-up; CIDEr-D with the lab's PTB tokenizer; METEOR of NLTK 3.10.4, whose scale differs from METEOR 1.5",
  split: "",
  judged: false,
  published: {},
  open: (folder, split, signal) => regionRows(folder, split, signal, false),
  task: ({ masks: [region] }) => ({ kind: "describe", region: region as NonNullable<typeof region> }),
  metrics: (rows, clusters, tools) =>
    textMetrics(
      rows.map(({ item, answer }) => [item.text, cleanRegionCaption(answer.text ?? "")]),
      clusters,
      tools,
    ),
  score: () => null,
};

/** CIDEr-D with document frequencies of all pairs, and METEOR. @param pairs reference and caption of each row */
export function textMetrics(
  pairs: readonly (readonly [reference: string, caption: string])[],
  clusters: Clusters,
  { meteor }: SuiteTools,
): SuiteMetric[] {
  const items = pairs.map(([reference, caption]) => ({
    references: [ptbTokens(reference)],
    hypothesis: ptbTokens(caption),
  }));
  const scores = cider(items);
  return [
    { name: "CIDEr-D", statistic: meanOf(pairs, clusters, (_, at) => scores[at] as number) },
    {
      name: "METEOR (NLTK)",
      statistic: meanOf(pairs, clusters, ([reference, caption]) => meteor(reference, caption)),
    },
  ];
}
