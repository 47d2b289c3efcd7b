/** The plug-ins with rows in the tables of the core. Without its lines here and in the lists beside it, a plug-in is gone. */
import { plugin as clips } from "./clips/preset.ts";
import { plugin as exchange } from "./exchange/index.ts";
import { plugin as handover } from "./handover/index.ts";
import { plugin as maskPolicies } from "./mask-policies/index.ts";
import type { Plugin } from "./plugin.ts";
import { plugin as questionAnswer } from "./question-answer/index.ts";
import { plugin as report } from "./report/index.ts";
import { plugin as supervised } from "./supervised/index.ts";

export const PLUGINS = [
  // One line each, in the order of their rows in the tables.
  questionAnswer,
  maskPolicies,
  supervised,
  report,
  handover,
  exchange,
  clips,
] as const satisfies readonly Plugin[];

type Listed = (typeof PLUGINS)[number];

/** The loops of the plug-ins. */
export type PluginLoop = Extract<Listed, { readonly loops: unknown }>["loops"][number];

/** The mask policies of the plug-ins. */
export type PluginMaskPolicy = Extract<Listed, { readonly maskPolicies: unknown }>["maskPolicies"][number];

/** The presets of the plug-ins. */
export type PluginPreset = Extract<Listed, { readonly presets: unknown }>["presets"][number]["name"];

type ExportsOf<P> = P extends { readonly exports: infer E } ? keyof E : never;

/** The exports of the plug-ins. */
export type PluginExport = ExportsOf<Listed>;

/** The modes of the plug-ins. */
export type PluginMode = Extract<Listed, { readonly modes: unknown }>["modes"][number]["name"];

type All<U> = (U extends unknown ? (one: U) => void : never) extends (all: infer I) => void ? I : never;

/** The settings of the plug-ins. */
export type PluginSettings = All<Extract<Listed, { readonly settings: unknown }>["settings"]>;
