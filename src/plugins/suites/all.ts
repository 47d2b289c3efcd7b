/** All evaluation suites. */
import { captions } from "./captions.ts";
import { dlc } from "./dlc.ts";
import { gar } from "./gar.ts";
import { gcg } from "./gcg.ts";
import { grefcoco } from "./grefcoco.ts";
import { masks } from "./masks.ts";
import { reasonSeg } from "./reason-seg.ts";
import { refcoco, refcocog, refcocoPlus } from "./refer.ts";
import type { Suite } from "./suite.ts";
import { CLIP_SUITES } from "./vos.ts";

/** Suites of pictures, which the page runs too. */
export const PICTURE_SUITES: readonly Suite[] = [
  refcoco,
  refcocoPlus,
  refcocog,
  grefcoco,
  reasonSeg,
  masks,
  captions,
  gcg,
  dlc,
  gar,
];
export const SUITES: readonly Suite[] = [...PICTURE_SUITES, ...CLIP_SUITES];

/** The suite of that name. */
export function suiteOf(name: string): Suite | undefined {
  return SUITES.find((suite) => suite.name === name);
}
