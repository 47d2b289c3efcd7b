/** The code of each family of vision towers; config.ts lists how their config.json is read. */

import { PLUGIN_FAMILIES } from "../../../plugins/families.ts";
import type { VisionFamily } from "./family.ts";
import type { FamilyConfig } from "./family-config.ts";
import { internVl } from "./internvl/family.ts";

const FAMILIES: Readonly<Record<string, VisionFamily>> = { internvl: internVl, ...PLUGIN_FAMILIES };

export function visionFamily({ family }: Pick<FamilyConfig, "family">): VisionFamily {
  return FAMILIES[family] as VisionFamily;
}

/** Beginnings of the names of every family's projector. */
export const PROJECTORS: readonly string[] = Object.values(FAMILIES).flatMap(({ projector }) => projector);

/** Those of the projectors that published training leaves frozen. */
export const FROZEN_PROJECTORS: readonly string[] = Object.values(FAMILIES).flatMap(({ projector, trainsProjector }) =>
  trainsProjector ? [] : projector,
);

/** Whether a tensor belongs to a vision tower. */
export function isTowerTensor(name: string): boolean {
  return Object.values(FAMILIES).some((family) => family.isTower(name));
}
