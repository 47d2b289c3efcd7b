/** The packed battery's command line; `run.sh` of its folder calls it. */
import { one, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { badInput } from "../../src/engine/errors.ts";
import { runBattery, STAGES, type Stage } from "./battery.ts";
import { BatteryRecord } from "./record.ts";

/** Below the ten minutes that rented machines often allow per command. */
const SECONDS = 540;

/** @returns the exit code: 0 when everything is measured, 3 when another call continues */
export async function batteryTool(words: readonly string[]): Promise<number> {
  const parsed = parseArguments(words, {
    run: { takes: 0 },
    out: { takes: 1 },
    seconds: { takes: 1 },
    stages: { takes: 1 },
    sizes: { takes: 1 },
  });
  const asked = (one(parsed, "stages") ?? STAGES.join(",")).split(",");
  const unknown = asked.find((name) => !(STAGES as readonly string[]).includes(name));
  if (unknown !== undefined) throw badInput(`--stages has "${unknown}"; known are ${STAGES.join(", ")}`, "stages");
  const sizes = one(parsed, "sizes") ?? "1B";
  if (sizes !== "1B" && sizes !== "small") throw badInput(`--sizes must be 1B or small, not "${sizes}"`, "sizes");
  const seconds = whole(parsed, "seconds", 1, 86_400, SECONDS);
  const end = performance.now() + 1000 * seconds;
  const record = new BatteryRecord(one(parsed, "out") ?? "card-battery.jsonl");
  const left = (): number => (end - performance.now()) / 1000;
  return (await runBattery(asked as Stage[], { record, left, seconds, sizes })) ? 0 : 3;
}

if (process.argv.includes("--run")) await runTool(() => batteryTool(process.argv.slice(2)));
