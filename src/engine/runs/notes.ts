/** `notes.json` of a run folder: the user's notes on the run. */
import * as z from "zod/mini";
import { checkShape, parseJson, type Stored } from "../bytes/json.ts";
import { oneAtATime } from "../storage/lock.ts";
import type { RunStore } from "../storage/store.ts";

/** A remark on a step, such as "raised the temperature". */
const STEP_NOTE = z.looseObject({ step: z.number().check(z.int(), z.gte(0)), text: z.string() });

export type StepNote = Stored<typeof STEP_NOTE>;

export interface RunNotes {
  readonly text: string;
  /** Without commas, each once. */
  readonly tags: readonly string[];
  /** By step, one each. */
  readonly steps: readonly StepNote[];
}

export const NO_NOTES: RunNotes = { text: "", tags: [], steps: [] };

/** Maximum characters of a note, and of a tag. */
export const MOST_TEXT = 10_000;
const MOST_TAG = 40;
/** Maximum characters of a note at a step. */
export const MOST_STEP_TEXT = 200;

/** Unknown keys are kept: another program may have written them. */
const NOTES = z.looseObject({
  text: z.optional(z.string()),
  tags: z.optional(z.array(z.string())),
  steps: z.optional(z.array(STEP_NOTE)),
});

const pathOf = (id: string): string => `${id}/notes.json`;

/** @throws LabError("bad-input") when the file is damaged */
export async function readNotes(store: RunStore, id: string): Promise<RunNotes> {
  const { text = "", tags = [], steps = [] } = await stored(store, id);
  return { text, tags, steps };
}

/**
 * Replaces the given parts (text, tags, notes at steps); everything else in the file stays.
 * @throws LabError("bad-input") when the file is damaged, "storage" when it cannot be written
 */
export async function writeNotes(store: RunStore, id: string, changes: Partial<RunNotes>): Promise<RunNotes> {
  return oneAtATime(pathOf(id), async () => {
    const before = await stored(store, id);
    const { text = "", tags = [], steps = [], ...others } = { ...before, ...changes };
    const notes = {
      text: text.trim().slice(0, MOST_TEXT),
      tags: tagsOf(tags.join(",")),
      steps: notesByStep(steps, before.steps ?? []),
    };
    await store.write(pathOf(id), `${JSON.stringify({ ...others, ...notes }, null, 2)}\n`);
    return notes;
  });
}

/**
 * Ascending by step, with other keys of a step's note kept; the last note of a step counts, and an empty one removes
 * it.
 */
function notesByStep(notes: readonly StepNote[], before: readonly StepNote[]): StepNote[] {
  const known = new Map(before.map((note) => [note.step, note]));
  const texts = new Map(notes.map(({ step, text }) => [step, text.trim().slice(0, MOST_STEP_TEXT)]));
  return [...texts]
    .flatMap(([step, text]) => (text === "" ? [] : [{ ...known.get(step), step, text }]))
    .sort((a, b) => a.step - b.step);
}

/** The tags of a text that separates them by commas, each once, in their order. */
export function tagsOf(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim().replace(/\s+/g, " ").slice(0, MOST_TAG).trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

async function stored(store: RunStore, id: string): Promise<z.output<typeof NOTES>> {
  const path = pathOf(id);
  return (await store.size(path)) === null ? {} : checkShape(parseJson(await store.readText(path), path), NOTES, path);
}
