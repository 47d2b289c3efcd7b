/** `alarms.jsonl` of a run folder: what happened at which step, with which rollouts. One line per alarm, oldest first. */
import * as z from "zod/mini";
import { fits, parseJson, type Stored } from "../bytes/json.ts";
import { badInput, type LabError } from "../errors.ts";
import { runLines } from "./lines.ts";

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

/** `alarms.jsonl` of a run. */
export const ALARMS = runLines<Alarm>({
  file: "alarms.jsonl",
  format: (alarm) => JSON.stringify(alarm),
  parse: parseLine,
  stepOf: ({ step }) => step,
  stays: true,
});

export const { append: appendAlarm, read: readAlarms } = ALARMS;

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
