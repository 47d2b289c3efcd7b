/** Reward terms of plug-ins, which follow IoU in the matrix. */
import type { TermSpec } from "../engine/rewards/terms/spec.ts";
import { F, J } from "./clips/terms.ts";

export const PLUGIN_TERMS = [J, F] as const satisfies readonly TermSpec[];
