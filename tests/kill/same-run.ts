/** Compares a killed and resumed run with the undisturbed one: their files, except times and the state of memory. */
import { parseMetricsLine } from "../../src/engine/runs/numbers-json.ts";
import { stepName } from "../../src/engine/runs/step-name.ts";

/** Files of a run by their path inside its folder. */
export type RunFiles = ReadonlyMap<string, Uint8Array>;

/** Metrics that depend on the machine and on caches. */
const OF_THE_MACHINE = /^(?:step_time$|time\/|memory\/)/;

/** Rows of metrics as text, without those of the machine; a last line without its end is a row as it is. */
export function rows(files: RunFiles): string[] {
  const text = new TextDecoder().decode(files.get("metrics.jsonl"));
  if (text !== "" && !text.endsWith("\n")) return [text];
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const entries = Object.entries(parseMetricsLine(line, "metrics.jsonl")).filter(
        ([name]) => !OF_THE_MACHINE.test(name),
      );
      return entries.map(([name, value]) => `${name}=${Object.is(value, -0) ? "-0" : value}`).join(" ");
    });
}

/** The differences as text; empty for equal runs. @param steps length of both runs */
export function differences(expected: RunFiles, found: RunFiles, steps: number): string[] {
  const told: string[] = [];
  const [wanted, own] = [rows(expected), rows(found)];
  if (wanted.length !== steps) told.push(`the undisturbed run has ${wanted.length} rows of metrics, not ${steps}`);
  if (own.length !== wanted.length) told.push(`${own.length} rows of metrics, not ${wanted.length}`);
  for (const [at, row] of wanted.entries()) if (own[at] !== row) told.push(`metrics of row ${at + 1} differ`);
  const last = `checkpoints/${stepName(steps)}/`;
  const kept = (path: string): boolean => path.startsWith("rollouts/") || path.startsWith(last);
  for (const path of new Set([...expected.keys(), ...found.keys()].filter(kept))) {
    const [one, two] = [expected.get(path), found.get(path)];
    if (one === undefined || two === undefined) told.push(`${path} is ${one === undefined ? "new" : "missing"}`);
    else if (!Buffer.from(one).equals(Buffer.from(two))) told.push(`${path} differs`);
  }
  if (![...expected.keys()].some((path) => path.startsWith(last))) told.push(`there is no checkpoint of step ${steps}`);
  return told;
}
