/** Where a suite runs, as the tool sees it. */
import type { BenchOptions } from "../context.ts";
import type { BenchRow } from "../row.ts";
import type { SuiteEnd } from "../run-suite.ts";
import type { FirstTask } from "../suites/first.ts";

export interface Listener {
  onRow(row: BenchRow): void;
  /** A case or a baseline that was not measured. */
  onLeftOut(what: string, why: string): void;
}

export interface BenchPlace {
  /** Measures a suite; rows arrive as they are measured. */
  run(options: BenchOptions, listener: Listener): Promise<SuiteEnd>;
  /** A first step in a separate process or browser, milliseconds. */
  first(task: FirstTask): Promise<number>;
  close(): Promise<void>;
}
