import * as z from "zod/mini";
import { isRecord, type Stored, shapeOf } from "../bytes/json.ts";
import { parseConfig } from "../config/parse.ts";
import type { LabConfig } from "../config/table.ts";
import { plainLine } from "../errors.ts";

/** This program's name in the segments of a run. */
export const LAB = "lab";

/** Version of the lab, as stored with runs. */
export const VERSION = "0.1.0";

// Schema of `run.json`: turns a file into a complete manifest or an error sentence.

const FORMAT = "sa2va-lab-run/1";

const count = z.number().check(z.gte(0), z.int());

/** Names that are written unchanged to files for other programs. */
const name = z.string().check(z.regex(/^[\w.-]{1,100}$/));

/** Unknown keys are kept: another engine may have written them. */
const MANIFEST = z.looseObject({
  format: z.literal(FORMAT),
  /** Folder name; letters, digits and dashes. */
  id: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9-]*$/)),
  title: z.string(),
  /** ISO time given by the caller. */
  created: z.string(),
  version: z.string(),
  config: z.record(z.string(), z.unknown()),
  model: z.looseObject({
    name: z.string(),
    hash: z.string(),
    parameters: count,
    trainableParameters: count,
    /** Chat template named in config.json. */
    template: name,
    /** InternVL checkpoint that the model was made from; absent if its sizes were never published. */
    base: z.optional(name),
  }),
  /** The adapter that the run started from; its files are in `start/`. Absent for a fresh one. */
  startAdapter: z.optional(z.looseObject({ name: z.string(), hash: z.string() })),
  /** The other checkpoint that computes likelihoods; its files are in `captioner/`. Absent if none is used. */
  captioner: z.optional(z.looseObject({ name: z.string(), hash: z.string() })),
  data: z.looseObject({
    ...{ name: z.string(), rows: count, trainRows: count, heldOutRows: count, hash: z.string() },
    /** Result of `usedHash`; absent without a row filter. */
    usedHash: z.optional(z.string()),
  }),
  adapter: z.looseObject({
    vendor: z.string(),
    architecture: z.string(),
    description: z.string(),
    software: z.boolean(),
  }),
  /** Findings of the self-test about the adapter when the run started; absent if it did not run. */
  selfTest: z.optional(z.looseObject({ checks: count, failed: z.array(z.string()) })),
  /** Changes of the number of steps; `config` has the current one. Absent if there were none. */
  lengths: z.optional(z.array(z.looseObject({ afterStep: count, from: count, to: count }))),
  /**
   * Programs that computed parts of the run, by the step before each part, once another program than the lab has or a
   * fork has other settings. `changed` has the settings that a part changed, `config` their current values. Absent
   * otherwise.
   */
  segments: z.optional(
    z.array(
      z.looseObject({
        fromStep: count,
        engine: z.string(),
        ...{ version: z.optional(z.unknown()), world: z.optional(z.unknown()) },
        ...{ device: z.optional(z.unknown()), dtype: z.optional(z.unknown()) },
        changed: z.optional(z.record(z.string(), z.looseObject({ from: z.unknown(), to: z.unknown() }))),
      }),
    ),
  ),
  /** Settings that were made smaller because the GPU ran out of memory, by name; `config` has the current ones. Absent if none were. */
  smaller: z.optional(z.array(z.looseObject({ afterStep: count, settings: z.array(z.string()) }))),
  /** Judge costs of steps and evaluations that resumes dropped from the log; absent if there are none. */
  judgeDropped: z.optional(z.looseObject({ calls: count, cost: z.number() })),
  /** For a fork, the run whose checkpoint it continues. */
  forkedFrom: z.optional(z.looseObject({ run: z.string(), step: count })),
  state: z.enum(["running", "paused", "finished", "failed"]),
});

/**
 * `run.json`: description of a run; written once at the start, rewritten only for title, state, length and settings
 * made smaller to save memory.
 */
export interface RunManifest extends Omit<Stored<typeof MANIFEST>, "config"> {
  readonly config: LabConfig;
}

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
