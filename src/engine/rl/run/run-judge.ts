/** `judge.json` of a run folder: the judge from each step on, without its key. */

import * as z from "zod/mini";
import { parseJsonAs } from "../../bytes/json.ts";
import { quote, shortened } from "../../errors.ts";
import { STREAM, uniform } from "../../gpu/random.ts";
import type { JudgeDescription } from "../../rewards/judge/description.ts";
import { ANY_MODEL } from "../../rewards/judge/providers/provider.ts";
import type { RunFolder } from "../../runs/run-folder.ts";

interface JudgeEntry extends JudgeDescription {
  /** First step with this judge. */
  readonly fromStep: number;
}

/** Fields that are compared and named; others are kept unchanged. */
const ENTRIES = z.array(
  z.looseObject({
    fromStep: z.number(),
    instrument: z.string(),
    place: z.optional(z.string()),
    model: z.string(),
    version: z.string(),
    range: z.string(),
  }),
);
type Named = Pick<z.output<typeof ENTRIES>[number], "instrument" | "place" | "model" | "version" | "range">;

/** The coming content of judge.json for a run that starts or resumes. */
interface JudgeRecord {
  /** A sentence if the run resumes with another judge, else null. */
  readonly change: string | null;
  /** Writes the file, without the judges of later steps, which the run drops. */
  store(): Promise<void>;
}

/** @throws LabError("bad-input") when the stored file is invalid; nothing is written yet */
export async function judgeRecord(
  run: RunFolder,
  description: JudgeDescription | null,
  doneSteps: number,
): Promise<JudgeRecord> {
  const path = `${run.id}/judge.json`;
  const stored =
    (await run.store.size(path)) === null ? [] : parseJsonAs(await run.store.readText(path), ENTRIES, path);
  const known = stored.filter(({ fromStep }) => fromStep <= doneSteps);
  const before = known.at(-1);
  const changed = description !== null && (before === undefined || !same(before, description));
  const entry = changed ? [{ fromStep: doneSteps + 1, ...description } satisfies JudgeEntry] : [];
  const store = async (): Promise<void> => {
    if (!changed && known.length === stored.length) return;
    await run.store.write(path, `${JSON.stringify([...known, ...entry], null, 2)}\n`);
  };
  if (!changed || before === undefined) return { change: null, store };
  const change = `From step ${doneSteps + 1} the judge is ${name(description)}, before it was ${name(before)}; rewards before and after cannot be compared`;
  return { change, store };
}

function same(a: Named, b: Named): boolean {
  return (
    a.instrument === b.instrument &&
    a.model === b.model &&
    // Without a name, the server chooses the model.
    (a.model !== ANY_MODEL || a.place === b.place) &&
    a.version === b.version &&
    a.range === b.range
  );
}

function name({ model, version }: Named): string {
  return `${quote(model)}, prompts ${shortened(version, 20)}`;
}

/** Jitter of the delays before retries of a judge request: a pure function of seed, request and retry. */
export function judgeJitter(seed: number): (call: number, repeat: number) => number {
  return (call, repeat) =>
    uniform({ seed, step: 0, loop: 0, row: call, rollout: repeat, position: 0, stream: STREAM.judge });
}
