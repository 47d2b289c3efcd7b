/** Results of the battery: a file of JSON lines, written as they arrive, so that a killed process loses at most one. */
import { appendFileSync, readFileSync } from "node:fs";

export interface Line {
  readonly stage: string;
  /** The stage is complete; a later call skips it. */
  readonly end?: true;
  readonly [field: string]: unknown;
}

export class BatteryRecord {
  readonly #path: string;
  readonly #lines: Line[];

  /** Reads the lines of earlier calls; a truncated one is dropped. */
  constructor(path: string) {
    this.#path = path;
    this.#lines = textOf(path)
      .split("\n")
      .flatMap((text) => lineOf(text) ?? []);
  }

  add(line: Line): void {
    this.#lines.push(line);
    // A line break first, because the last line of a killed process has none.
    appendFileSync(this.#path, `\n${JSON.stringify(line)}`);
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }

  isDone(stage: string): boolean {
    return this.#lines.some((line) => line.stage === stage && line.end === true);
  }

  /** Names of the cases of a stage. */
  cases(stage: string): string[] {
    return this.#lines.flatMap((line) => (line.stage === stage && typeof line.case === "string" ? [line.case] : []));
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw thrown;
  }
}

function lineOf(text: string): Line | undefined {
  if (text === "") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "stage" in value ? (value as Line) : undefined;
  } catch (thrown) {
    // The truncated end of a killed process.
    if (thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}
