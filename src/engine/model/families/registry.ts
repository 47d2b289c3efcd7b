/** The code of each family of vision towers; config.ts lists how their config.json is read. */

import type { VisionFamily } from "./family.ts";
import type { FamilyConfig } from "./family-config.ts";
import { internVl } from "./internvl/family.ts";
import { qwenVl } from "./qwen-vl/family.ts";

const FAMILIES: Readonly<Record<FamilyConfig["family"], VisionFamily>> = { internvl: internVl, "qwen-vl": qwenVl };

export function visionFamily({ family }: Pick<FamilyConfig, "family">): VisionFamily {
  return FAMILIES[family];
}

/** Beginnings of the names of every family's projector. */
export const PROJECTORS: readonly string[] = Object.values(FAMILIES).flatMap(({ projector }) => projector);

/** Whether a tensor belongs to a vision tower. */
export function isTowerTensor(name: string): boolean {
  return Object.values(FAMILIES).some((family) => family.isTower(name));
}
