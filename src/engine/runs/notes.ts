/** `notes.json` of a run folder: what a person writes about the run. */
import * as z from "zod/mini";
import { checkShape, parseJson } from "../bytes/json.ts";
import { oneAtATime } from "../storage/one-at-a-time.ts";
import type { RunStore } from "../storage/store.ts";

export interface RunNotes {
  readonly text: string;
  /** Without commas, each once. */
  readonly tags: readonly string[];
}

export const NO_NOTES: RunNotes = { text: "", tags: [] };

/** Characters of a note, and of a tag. */
export const MOST_TEXT = 10_000;
const MOST_TAG = 40;

/** Unknown keys are kept: another program may have written them. */
const NOTES = z.looseObject({ text: z.optional(z.string()), tags: z.optional(z.array(z.string())) });

const pathOf = (id: string): string => `${id}/notes.json`;

/** @throws LabError("bad-input") when the file is damaged */
export async function readNotes(store: RunStore, id: string): Promise<RunNotes> {
  const { text = "", tags = [] } = await stored(store, id);
  return { text, tags };
}

/**
 * Replaces text and tags; other keys of the file stay.
 * @throws LabError("bad-input") when the file is damaged, "storage" when it cannot be written
 */
export async function writeNotes(store: RunStore, id: string, { text, tags }: RunNotes): Promise<RunNotes> {
  return oneAtATime(pathOf(id), async () => {
    const notes = { text: text.trim().slice(0, MOST_TEXT), tags: tagsOf(tags.join(",")) };
    const kept = { ...(await stored(store, id)), ...notes };
    await store.write(pathOf(id), `${JSON.stringify(kept, null, 2)}\n`);
    return notes;
  });
}

/** The tags of a text that separates them by commas, each once, in their order. */
export function tagsOf(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim().replace(/\s+/g, " ").slice(0, MOST_TAG));
  return [...new Set(tags.filter((tag) => tag !== ""))];
}

async function stored(store: RunStore, id: string): Promise<z.output<typeof NOTES>> {
  const path = pathOf(id);
  return (await store.size(path)) === null ? {} : checkShape(parseJson(await store.readText(path), path), NOTES, path);
}
