/** What every suite is given, in Node and in a page alike. */
import type { EngineDevice } from "../src/engine/gpu/runtime/device.ts";
import type { Rates } from "../src/engine/gpu/runtime/peak.ts";
import type { JaxLibrary } from "./baselines/jax.ts";
import type { OrtLibrary } from "./baselines/ort.ts";
import type { Pocket } from "./pocket.ts";
import type { Where } from "./row.ts";
import type { Clock } from "./turns.ts";

/** The suites that run on a device wherever it is. */
export const SUITES = ["kernels", "decode", "step"] as const;
export type Suite = (typeof SUITES)[number];

export interface BenchContext {
  readonly device: EngineDevice;
  readonly reopen: () => Promise<EngineDevice>;
  readonly adapter: string;
  readonly where: Where;
  readonly clock: Clock;
  /** Measurements of each baseline at most. */
  readonly rounds: number;
  /** When the suite's time is used up, on the clock of `performance.now`, in milliseconds. */
  readonly deadline: number;
  /** Cases are measured whose name contains one of these parts, separated by "|". */
  readonly only: string;
  /** Names of cases that are left out, as measured before. */
  readonly measured?: ReadonlySet<string> | undefined;
  /** Floating-point operations a second of the adapter, measured. */
  readonly rates: Rates;
  readonly jax?: JaxLibrary | undefined;
  readonly ort?: OrtLibrary | undefined;
  /** The pocket model and its rows. */
  readonly openPocket: () => Promise<Pocket>;
  /** Said of every case or baseline that is not measured: which, and why. */
  readonly leftOut: (what: string, why: string) => void;
}

/** Whether a case is asked for. */
export const isWanted = (name: string, only: string): boolean => only.split("|").some((part) => name.includes(part));

/** What crosses from the tool to the page, as JSON. */
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
  /** Measures the programs for graphics cards on a software adapter as well. */
  readonly card: boolean;
  /** The tool counts processor time for the page. */
  readonly processorTime: boolean;
  /** What the adapter is, where the browser is made to believe that it is SwiftShader; else null. */
  readonly disguised: string | null;
}
