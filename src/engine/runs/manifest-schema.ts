/** Schema of `run.json`: turns a file into a complete manifest or an error sentence. */
import * as z from "zod/mini";
import { isRecord, shapeOf } from "../bytes/json.ts";
import { parseConfig } from "../config/parse.ts";
import { plainLine } from "../errors.ts";
import type { RunManifest } from "./manifest.ts";

const FORMAT = "sa2va-lab-run/1";

const count = z.number().check(z.gte(0), z.int());

/** Names that are written unchanged to files for other programs. */
const name = z.string().check(z.regex(/^[\w.-]{1,100}$/));

/** Unknown keys are kept: another engine may have written them. */
const MANIFEST = z.looseObject({
  format: z.literal(FORMAT),
  id: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9-]*$/)),
  title: z.string(),
  created: z.string(),
  version: z.string(),
  config: z.record(z.string(), z.unknown()),
  model: z.looseObject({
    name: z.string(),
    hash: z.string(),
    parameters: count,
    trainableParameters: count,
    template: name,
    base: z.optional(name),
  }),
  startAdapter: z.optional(z.looseObject({ name: z.string(), hash: z.string() })),
  captioner: z.optional(z.looseObject({ name: z.string(), hash: z.string() })),
  data: z.looseObject({ name: z.string(), rows: count, trainRows: count, heldOutRows: count, hash: z.string() }),
  adapter: z.looseObject({
    vendor: z.string(),
    architecture: z.string(),
    description: z.string(),
    software: z.boolean(),
  }),
  selfTest: z.optional(z.looseObject({ checks: count, failed: z.array(z.string()) })),
  lengths: z.optional(z.array(z.looseObject({ afterStep: count, from: count, to: count }))),
  segments: z.optional(z.array(z.looseObject({ fromStep: count, engine: z.string() }))),
  smaller: z.optional(z.array(z.looseObject({ afterStep: count, settings: z.array(z.string()) }))),
  judgeDropped: z.optional(z.looseObject({ calls: count, cost: z.number() })),
  forkedFrom: z.optional(z.looseObject({ run: z.string(), step: count })),
  state: z.enum(["running", "paused", "finished", "failed"]),
});

/** The manifest, with defaults for settings that are newer than the run; or the problem. */
export function parseManifest(value: unknown): { readonly manifest: RunManifest } | { readonly problem: string } {
  const format = isRecord(value) ? value.format : undefined;
  if (format !== FORMAT && /^sa2va-lab-run\/\d+$/.test(String(format))) {
    return { problem: "a newer version of the lab wrote it" };
  }
  const parsed = shapeOf(value, MANIFEST);
  if ("problem" in parsed) return parsed;
  const { config, problems } = parseConfig(parsed.value.config);
  if (problems.length > 0) return { problem: problems.join("; ") };
  const { id, title } = parsed.value;
  // Links show the title, so a run without one shows its id.
  return { manifest: { ...parsed.value, title: plainLine(title) || id, config } as RunManifest };
}
