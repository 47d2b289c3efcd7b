import type { LabConfig } from "../config/table.ts";

/** Of the lab, as runs record it. */
export const VERSION = "0.1.0";

/** `run.json`: what a run is made of; written once at the start, rewritten only for title, state and length. */
export interface RunManifest {
  readonly format: "sa2va-lab-run/1";
  /** Folder name; letters, digits and dashes. */
  readonly id: string;
  readonly title: string;
  /** ISO time given by the caller. */
  readonly created: string;
  readonly version: string;
  readonly config: LabConfig;
  readonly model: {
    readonly name: string;
    readonly hash: string;
    readonly parameters: number;
    readonly trainableParameters: number;
    /** Chat template, as config.json names it; absent in runs of older versions. */
    readonly template?: string;
    /** InternVL checkpoint that the model was made from; absent where its sizes are no published ones. */
    readonly base?: string;
  };
  /** The adapter the run started from; its files lie in `start/`. Absent for a fresh one. */
  readonly startAdapter?: { readonly name: string; readonly hash: string };
  readonly data: {
    readonly name: string;
    readonly rows: number;
    readonly trainRows: number;
    readonly heldOutRows: number;
    readonly hash: string;
  };
  readonly adapter: {
    readonly vendor: string;
    readonly architecture: string;
    readonly description: string;
    readonly software: boolean;
  };
  /** What the self-test had found of the adapter when the run began; absent where it was not asked. */
  readonly selfTest?: { readonly checks: number; readonly failed: readonly string[] };
  readonly state: "running" | "paused" | "finished" | "failed";
  /** Where the number of steps was changed when the run went on; `config` has the present one. Absent where it never was. */
  readonly lengths?: readonly { readonly afterStep: number; readonly from: number; readonly to: number }[];
}
