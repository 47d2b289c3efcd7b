/** Random choices of the pocket scenes. */
import { STREAM, uniform } from "../../../src/engine/gpu/random.ts";

/** The next number in (0, 1). */
export type Dice = () => number;

/** A source of numbers in (0, 1) that belongs to one scene. */
export function sceneDice(seed: number, scene: number): Dice {
  let position = 0;
  return () => uniform({ seed, step: scene, loop: 0, row: 0, rollout: 0, position: position++, stream: STREAM.data });
}

export const pick = <T>(dice: Dice, from: readonly T[]): T => from[Math.floor(dice() * from.length)] as T;
