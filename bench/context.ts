/** The input of every suite, in Node and in a page. */
import type { EngineDevice } from "../src/engine/gpu/runtime/device.ts";
import type { Rates } from "../src/plugins/tuner/peak.ts";
import type { JaxLibrary } from "./baselines/jax.ts";
import type { OrtLibrary } from "./baselines/ort.ts";
import type { Pocket } from "./pocket.ts";
import type { Where } from "./row.ts";
import type { Clock } from "./turns.ts";

/** The suites that run on any device. */
export const SUITES = ["kernels", "decode", "step"] as const;
export type Suite = (typeof SUITES)[number];

export interface BenchContext {
  readonly device: EngineDevice;
  readonly reopen: () => Promise<EngineDevice>;
  readonly adapter: string;
  readonly where: Where;
  readonly clock: Clock;
  /** Maximum measurements of each baseline. */
  readonly rounds: number;
  /** End of the suite's time on the clock of `performance.now`, in milliseconds. */
  readonly deadline: number;
  /** Only cases whose name contains one of these parts, separated by "|", are measured. */
  readonly only: string;
  /** Names of cases to leave out because they were measured before. */
  readonly measured?: ReadonlySet<string> | undefined;
  /** Measured floating-point operations per second of the adapter. */
  readonly rates: Rates;
  readonly jax?: JaxLibrary | undefined;
  readonly ort?: OrtLibrary | undefined;
  /** The pocket model and its rows. */
  readonly openPocket: () => Promise<Pocket>;
  /** Receives every case or baseline that is not measured, with the reason. */
  readonly leftOut: (what: string, why: string) => void;
}

/** Whether a case is selected. */
export const isWanted = (name: string, only: string): boolean => only.split("|").some((part) => name.includes(part));

/** The tool's message to the page, as JSON. */
export interface BenchOptions {
  readonly suite: Suite;
  readonly rounds: number;
  /** Seconds for the suite. */
  readonly budget: number;
  readonly only: string;
  /** Names of cases that were measured before. */
  readonly measured?: readonly string[];
  readonly jax: boolean;
  readonly ort: boolean;
  /** Also measures the programs for graphics cards on a software adapter. */
  readonly card: boolean;
  /** The tool measures processor time for the page. */
  readonly processorTime: boolean;
  /** Name of the adapter if the browser believes that it is SwiftShader; else null. */
  readonly disguised: string | null;
}
