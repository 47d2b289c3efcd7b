/** The plug-ins with rows in the tables of the core. Without its lines here and in the lists beside it, a plug-in is gone. */
import type { Plugin } from "./plugin.ts";
import { plugin as questionAnswer } from "./question-answer/index.ts";

export const PLUGINS = [questionAnswer] as const satisfies readonly Plugin[];

type Listed = (typeof PLUGINS)[number];

/** The loops of the plug-ins. */
export type PluginLoop = Extract<Listed, { readonly loops: unknown }>["loops"][number];
