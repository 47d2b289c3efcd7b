/** The loops, in the order of the page: those of the core, then those of plug-ins. */
import { PLUGINS, type PluginLoop } from "../../../plugins/list.ts";
import type { LoopAbout } from "./about.ts";
import { CAPTION_MASK } from "./caption-mask/about.ts";
import { MASK_CAPTION } from "./mask-caption/about.ts";

export const LOOPS: readonly (typeof MASK_CAPTION | typeof CAPTION_MASK | PluginLoop)[] = [
  MASK_CAPTION,
  CAPTION_MASK,
  ...PLUGINS.flatMap((plugin): readonly PluginLoop[] =>
    "loops" in plugin ? (plugin as { readonly loops: readonly PluginLoop[] }).loops : [],
  ),
];

export type LoopId = (typeof LOOPS)[number]["id"];

/** Loops with a fixed held-out score besides the run's reward. */
export type HeldOutLoop = Extract<(typeof LOOPS)[number], { readonly heldOut: string }>["id"];

/** The loops with a fixed held-out score, and its name. */
export const HELD_OUT_LOOPS = LOOPS.flatMap((loop: LoopAbout) =>
  loop.heldOut === undefined ? [] : [{ id: loop.id as HeldOutLoop, score: loop.heldOut }],
);

/** Ids in order. */
export const LOOP_IDS: readonly LoopId[] = LOOPS.map(({ id }) => id);

export function aboutLoop(id: LoopId): LoopAbout<LoopId> {
  return LOOPS.find((loop) => loop.id === id) as LoopAbout<LoopId>;
}

export function isLoop(id: unknown): id is LoopId {
  return LOOP_IDS.some((known) => known === id);
}

/** One value per loop. */
export function perLoop<T>(of: (id: LoopId) => T): Readonly<Record<LoopId, T>> {
  return Object.fromEntries(LOOP_IDS.map((id) => [id, of(id)])) as Record<LoopId, T>;
}
