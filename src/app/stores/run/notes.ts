/** Notes at steps of the runs that were opened. */
import { create } from "zustand";
import type { StepNote } from "../../../engine/runs/notes.ts";

interface NotesState {
  readonly byRun: ReadonlyMap<string, readonly StepNote[]>;
}

const notesStore = create<NotesState>()(() => ({ byRun: new Map() }));

/** What the run's folder holds now. */
export function knowNotes(runId: string, notes: readonly StepNote[]): void {
  notesStore.setState(({ byRun }) => ({ byRun: new Map([...byRun, [runId, notes]]) }));
}

const NONE: readonly StepNote[] = [];

export function useStepNotes(runId: string): readonly StepNote[] {
  return notesStore(({ byRun }) => byRun.get(runId) ?? NONE);
}
