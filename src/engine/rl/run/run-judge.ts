/** `judge.json` of a run folder: which judge scored from which step on; never a key. */
import * as z from "zod/mini";
import { parseJsonAs } from "../../bytes/json.ts";
import { quote, shortened } from "../../errors.ts";
import type { JudgeDescription } from "../../rewards/judge/description.ts";
import type { RunFolder } from "../../runs/run-folder.ts";

export interface JudgeEntry extends JudgeDescription {
  /** First step it scored. */
  readonly fromStep: number;
}

/** What is compared and named; the rest is kept as it is. */
const ENTRIES = z.array(
  z.looseObject({
    fromStep: z.number(),
    instrument: z.string(),
    provider: z.string(),
    model: z.string(),
    version: z.string(),
    range: z.string(),
  }),
);
type Named = Pick<z.output<typeof ENTRIES>[number], "instrument" | "provider" | "model" | "version" | "range">;

/**
 * Notes the judge of a run that begins or goes on.
 * @returns a sentence when a run goes on with another judge than before, else null
 * @throws LabError("bad-input") when the file is none of ours
 */
export async function recordJudge(
  run: RunFolder,
  description: JudgeDescription | null,
  doneSteps: number,
): Promise<string | null> {
  const path = `${run.id}/judge.json`;
  const known = (await run.store.size(path)) === null ? [] : parseJsonAs(await run.store.readText(path), ENTRIES, path);
  const before = known.at(-1);
  if (description === null || (before !== undefined && same(before, description))) return null;
  const entry: JudgeEntry = { fromStep: doneSteps + 1, ...description };
  await run.store.write(path, `${JSON.stringify([...known, entry], null, 2)}\n`);
  if (before === undefined) return null;
  return `From step ${entry.fromStep} on another judge scores: ${name(description)} after ${name(before)}; rewards before and after cannot be compared`;
}

function same(a: Named, b: Named): boolean {
  return (
    a.instrument === b.instrument &&
    a.provider === b.provider &&
    a.model === b.model &&
    a.version === b.version &&
    a.range === b.range
  );
}

function name({ model, version }: Named): string {
  return `${quote(model)}, prompts ${shortened(version, 20)}`;
}
