/** The places of the page that show panels of plug-ins, with what each gives to a panel. */
import type { ComponentType } from "react";
import type { Scan, ViewedRun } from "../rollout/use-viewed-run.ts";

type Nothing = Readonly<Record<never, never>>;

export interface Places {
  /** Beside the settings of the judge. */
  readonly judge: Nothing;
  /** Beside the self-test on the System screen. */
  readonly system: Nothing;
  /** The view *Whole run* of the Rollouts screen. */
  readonly "whole-run": { readonly run: ViewedRun; readonly scan: Scan };
}

/** A panel of a plug-in, at one place. */
export type PluginPanel = {
  readonly [P in keyof Places]: { readonly plugin: string; readonly at: P; readonly Panel: ComponentType<Places[P]> };
}[keyof Places];
