/** Points of large masks: mostly where the mask is least certain, the rest anywhere; the same draws, the same points. */

import { beforeAll, describe, expect, it } from "vitest";
import { uniform } from "../../../src/engine/gpu/random.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { drawPoints } from "../../../src/plugins/supervised/forward.ts";
import { samplePoints } from "../../../src/plugins/supervised/point-loss.ts";

const SIDE = 32;
const POINTS = 64;
const draw =
  (seed: number) =>
  (mask: number, position: number): number =>
    uniform({ seed, step: 1, loop: 3, row: mask, rollout: 0, position, stream: 1 });

/** Logits that rise from left to right; uncertain in the middle column alone. */
function ramp(): tf.Tensor3D {
  const values = Float32Array.from({ length: 2 * SIDE * SIDE }, (_, at) => (at % SIDE) - SIDE / 2 + 0.5);
  return tf.tensor3d(values, [2, SIDE, SIDE]);
}

describe("points of a mask", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  it("lie for three quarters where logits are nearest to 0, and return their memory", async () => {
    const before = tf.memory().numTensors;
    const logits = ramp();
    const points = await drawPoints(logits, POINTS, draw(5));
    expect(points.shape).toEqual([2, POINTS, 2]);
    const places = points.dataSync();
    expect(Math.min(...places)).toBeGreaterThan(0);
    expect(Math.max(...places)).toBeLessThan(1);
    const sampled = samplePoints(logits, points);
    const sizes = Array.from(sampled.dataSync(), Math.abs);
    for (const mask of [0, 1]) {
      const own = sizes.slice(mask * POINTS, (mask + 1) * POINTS);
      const [certain, anywhere] = [own.slice(0, 48), own.slice(48)];
      // Three times as many candidates as points, three quarters kept: the nearest quarter of a ramp of ±16.
      expect(Math.max(...certain)).toBeLessThan(6);
      expect(Math.max(...anywhere)).toBeGreaterThan(6);
    }
    tf.dispose([logits, points, sampled]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("repeat with their draws and change with others", async () => {
    const logits = ramp();
    const [one, again, other] = [
      await drawPoints(logits, POINTS, draw(5)),
      await drawPoints(logits, POINTS, draw(5)),
      await drawPoints(logits, POINTS, draw(6)),
    ];
    expect(again.dataSync()).toEqual(one.dataSync());
    expect(other.dataSync()).not.toEqual(one.dataSync());
    tf.dispose([logits, one, again, other]);
  });
});
