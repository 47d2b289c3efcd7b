/**
 * Schema of `eval.jsonl`: everything that the views of an evaluation need. A number that is not finite is stored as
 * null.
 */
import * as z from "zod/mini";
import { EVAL_METRICS, PARTNER_SCORES, REWARD_METRICS, SEGMENTATION_METRICS } from "./evaluation-metrics.ts";

const number = z.nullable(z.number());
const count = z.number().check(z.gte(0), z.int());
const interval = z.looseObject({ mean: number, low: number, high: number });
const of = <T extends z.ZodMiniType>(names: readonly string[], shape: T) =>
  z.looseObject(Object.fromEntries(names.map((name) => [name, shape])));

const REPORT = z.looseObject({
  step: count,
  n: count,
  means: of(EVAL_METRICS, number),
  ci: of(EVAL_METRICS, z.tuple([number, number])),
  difference: z.nullable(of(EVAL_METRICS, interval)),
  segmentation: of(SEGMENTATION_METRICS, z.looseObject({ value: number, difference: z.nullable(interval) })),
  partner: of(
    Object.keys(PARTNER_SCORES),
    z.looseObject({ mean: number, low: number, high: number, difference: interval }),
  ),
  sources: z.optional(z.record(z.string(), z.looseObject({ n: count, means: of(EVAL_METRICS, number) }))),
  reward: z.looseObject({
    judge: z.enum(["asked", "left-out", "none"]),
    scores: of(
      REWARD_METRICS,
      // Builds with fewer loops write fewer.
      z.optional(
        z.nullable(
          z.looseObject({ mean: number, low: number, high: number, n: count, difference: z.nullable(interval) }),
        ),
      ),
    ),
  }),
  selection: z.nullable(z.looseObject({ metric: z.string(), n: count, value: number })),
  maskPolicy: z.string(),
  baseline: z.optional(count),
});

const MASK = z.looseObject({ size: z.tuple([count, count]), counts: z.string() });
const DRAWN = z.array(
  z.looseObject({
    caption: z.string(),
    mask: z.nullable(MASK),
    score: number,
    weight: number,
  }),
);

const ROW = z.extend(of(EVAL_METRICS, number), {
  rowId: z.string(),
  imageId: z.string(),
  groundingPixels: z.tuple([z.int(), z.int()]),
  part: z.enum(["selection", "report"]),
  partnerMask: z.nullable(MASK),
  partnerIou: number,
  partnerCaption: z.string(),
  partnerMeteor: number,
  drawn: z.record(z.string(), DRAWN),
  rewards: of(REWARD_METRICS, z.optional(number)),
  parts: z.optional(z.record(z.string(), z.record(z.string(), z.number()))),
  judge: z.optional(z.looseObject({ calls: count, cost: z.number() })),
});

export const EVALUATION = z.looseObject({ report: REPORT, rows: z.array(ROW) });
