/** `run.json` at the border: whatever was stored, by whichever version, becomes a complete manifest or a sentence. */
import * as z from "zod/mini";
import { parseConfig } from "../config/parse.ts";
import type { RunManifest } from "./manifest.ts";

// Without this zod compiles code at run time once, which the page's content policy reports.
z.config({ jitless: true });

const count = z.number().check(z.gte(0), z.int());

const MANIFEST = z.object({
  format: z.literal("sa2va-lab-run/1"),
  id: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9-]*$/)),
  title: z.string(),
  created: z.string(),
  version: z.string(),
  config: z.record(z.string(), z.unknown()),
  model: z.object({ name: z.string(), hash: z.string(), parameters: count, trainableParameters: count }),
  startAdapter: z.optional(z.object({ name: z.string(), hash: z.string() })),
  data: z.object({ name: z.string(), rows: count, trainRows: count, heldOutRows: count, hash: z.string() }),
  adapter: z.object({
    vendor: z.string(),
    architecture: z.string(),
    description: z.string(),
    software: z.boolean(),
  }),
  selfTest: z.optional(z.object({ checks: count, failed: z.array(z.string()) })),
  lengths: z.optional(z.array(z.object({ afterStep: count, from: count, to: count }))),
  state: z.enum(["running", "paused", "finished", "failed"]),
});

/** The manifest, settings that are newer than the run filled with their defaults; or what is wrong with it. */
export function parseManifest(value: unknown): { readonly manifest: RunManifest } | { readonly problem: string } {
  const parsed = MANIFEST.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return { problem: `"${issue?.path.join(".") ?? ""}" is ${issue?.message ?? "not as it should be"}` };
  }
  const { config, problems } = parseConfig(parsed.data.config);
  if (problems.length > 0) return { problem: problems.join("; ") };
  const { startAdapter, selfTest, lengths, ...rest } = parsed.data;
  const optional = {
    ...(startAdapter === undefined ? {} : { startAdapter }),
    ...(selfTest === undefined ? {} : { selfTest }),
    ...(lengths === undefined ? {} : { lengths }),
  };
  return { manifest: { ...rest, ...optional, config } };
}
