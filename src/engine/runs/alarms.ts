/** `alarms.jsonl` of a run folder: what happened at which step, with which rollouts. One line per alarm, oldest first. */
import * as z from "zod/mini";
import { fits, parseJson, type Stored } from "../bytes/json.ts";
import { badInput, type LabError } from "../errors.ts";
import type { RunStore } from "../storage/store.ts";

const ALARM = z.looseObject({
  /** Id of its rule. */
  id: z.string(),
  step: z.number().check(z.gte(0), z.int()),
  severity: z.enum(["warning", "error"]),
  /** One sentence: what was observed and what to do. */
  message: z.string(),
  /** Ids of the rollouts of this step that the alarm concerns, worst first; absent if it concerns none. */
  rollouts: z.optional(z.array(z.string())),
});

export type Alarm = Stored<typeof ALARM>;

const pathOf = (runId: string): string => `${runId}/alarms.jsonl`;
const lineOf = (alarm: Alarm): string => `${JSON.stringify(alarm)}\n`;

/** Creates the file of a new run. */
export async function beginAlarms(store: RunStore, runId: string): Promise<void> {
  await store.write(pathOf(runId), "");
}

export async function appendAlarm(store: RunStore, runId: string, alarm: Alarm): Promise<void> {
  await store.append(pathOf(runId), lineOf(alarm));
}

/**
 * Alarms so far, oldest first; a last line that a crash truncated is skipped.
 * @throws LabError("bad-input") naming a line that is damaged
 */
export async function readAlarms(store: RunStore, runId: string): Promise<readonly Alarm[]> {
  const path = pathOf(runId);
  if ((await store.size(path)) === null) return [];
  const lines = (await store.readText(path)).split("\n").slice(0, -1);
  return lines.map((line, n) => parseLine(line, `${path} line ${n + 1}`));
}

function parseLine(line: string, place: string): Alarm {
  const bad = (cause?: unknown): LabError =>
    badInput(`${place} is not an alarm; the file is kept as it is`, place, cause);
  let value: unknown;
  try {
    value = parseJson(line, place);
  } catch (thrown) {
    throw bad(thrown);
  }
  if (!fits(value, ALARM)) throw bad();
  return value as Alarm;
}

/** Removes the alarms of later steps. @throws LabError("bad-input") naming a line that is damaged */
export async function truncateAlarms(store: RunStore, runId: string, step: number): Promise<void> {
  const all = await readAlarms(store, runId);
  const kept = all.filter((alarm) => alarm.step <= step);
  await store.write(pathOf(runId), kept.map(lineOf).join(""));
}
