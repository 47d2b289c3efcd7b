/** Alarms in the run folder: kept with step and rollouts, dropped with the steps of a resume, exported. */
import { describe, expect, it } from "vitest";
import { csvFiles } from "../../../src/engine/export/formats.ts";
import { type Alarm, appendAlarm, readAlarms } from "../../../src/engine/runs/alarms.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { manifest } from "./sample-run.ts";

const RUN = "brave-otter";
const FILE = `${RUN}/alarms.jsonl`;
const alarm = (step: number, change: Partial<Alarm> = {}): Alarm => ({
  id: "kl-1",
  step,
  severity: "warning",
  message: 'Loop 1: KL is high, "really"',
  rollouts: [`${step}-1-0-1`, `${step}-1-0-0`],
  ...change,
});

async function withAlarms(...alarms: readonly Alarm[]) {
  const store = memoryStore();
  const run = await createRun(store, manifest(RUN));
  for (const one of alarms) await appendAlarm(store, RUN, one);
  return { store, run };
}

describe("alarms.jsonl", () => {
  it("is there from the beginning, and keeps alarms in their order", async () => {
    const { store } = await withAlarms();
    expect(await readAlarms(store, RUN)).toEqual([]);
    const all = [alarm(3), alarm(3, { id: "tensors", severity: "error" }), alarm(7)];
    for (const one of all) await appendAlarm(store, RUN, one);
    expect(await readAlarms(store, RUN)).toEqual(all);
    expect(await runLibrary(store).alarms(RUN)).toEqual(all);
  });

  it("loses those of steps that a resume drops", async () => {
    const { store, run } = await withAlarms(alarm(3), alarm(7), alarm(8));
    await run.truncateAfter(7);
    expect(await readAlarms(store, RUN)).toEqual([alarm(3), alarm(7)]);
    await run.truncateAfter(0);
    expect(await readAlarms(store, RUN)).toEqual([]);
  });

  it("leaves out a line that a crash cut off, and names one that is damaged", async () => {
    const { store } = await withAlarms(alarm(3));
    await store.append(FILE, '{"id":"kl-1","st');
    expect(await readAlarms(store, RUN)).toEqual([alarm(3)]);
    await store.append(FILE, "\n");
    await expect(readAlarms(store, RUN)).rejects.toThrow(/^brave-otter\/alarms\.jsonl line 2 is not an alarm/);
    await store.write(FILE, `${JSON.stringify({ ...alarm(3), step: -1 })}\n`);
    await expect(readAlarms(store, RUN)).rejects.toThrow(/alarms\.jsonl line 1 is not an alarm/);
  });

  it("leaves as alarms.csv", async () => {
    const { run } = await withAlarms(alarm(3), alarm(7, { rollouts: [] }));
    const files = await collectFiles(csvFiles(run, null));
    const message = '"Loop 1: KL is high, ""really"""';
    expect(new TextDecoder().decode(files["alarms.csv"])).toBe(
      `step,severity,alarm,message,rollouts\n3,warning,kl-1,${message},3-1-0-1 3-1-0-0\n7,warning,kl-1,${message},\n`,
    );
  });
});
