/** Long recordings wait for the GPU, and memory that it still uses counts as held. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import {
  countsBetween,
  gpuCounts,
  heldBytes,
  liveBytes,
  peakBytes,
  workInFlight,
} from "../../src/engine/gpu/runtime/counters.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { setMostFree, setPlannedBytes, trimPool } from "../../src/engine/gpu/runtime/pool.ts";
import { flushBackend, uploadsDone } from "../../src/engine/gpu/runtime/program.ts";
import { atOnce, inPace, type Paced, SUBMITS_AHEAD, tidied } from "../../src/engine/gpu/runtime/work-budget.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../src/engine/model/sa2va.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import { createFeatureCache, disposeFeatures, encodeImage, type TowerPart } from "../../src/engine/policy/features.ts";
import { phrasePrompts, phrasePromptsOf } from "../../src/engine/policy/phrase-output.ts";
import { checkedGpu, useGpu } from "../support/gpu.ts";
import { expectSameBits } from "../support/same-bits.ts";
import { TINY } from "../support/tiny-group.ts";

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});
checkedGpu();
beforeEach(async () => {
  trimPool();
  await uploadsDone();
  // The counters hear of it a moment later.
  await expect.poll(() => heldBytes() - liveBytes()).toBe(0);
});
afterEach(() => {
  setMostFree();
  setPlannedBytes();
});

const SIZE = 2 ** 18;
const BLOCKS = 40;

/** Blocks of one array each, of sizes that no later block reuses. */
function* blocks(count = BLOCKS): Paced<number> {
  for (let n = 0; n < count; n++) {
    tf.tidy(() => void tf.fill([SIZE + 64 * n], n).add(1));
    flushBackend();
    yield;
  }
  return count;
}

const bytesOf = (count: number): number => 4 * SIZE * count;

describe("destroyed buffers", () => {
  it("count as held until the GPU has passed the submits before", async () => {
    setMostFree(0);
    const start = heldBytes();
    peakBytes();
    expect(atOnce(blocks())).toBe(BLOCKS);
    // Few are alive, but the GPU was never waited for.
    expect(liveBytes() - start).toBeLessThan(bytesOf(6));
    expect(peakBytes() - start).toBeGreaterThan(bytesOf(BLOCKS));
    expect(heldBytes() - liveBytes()).toBeGreaterThan(bytesOf(BLOCKS - 6));
    await uploadsDone();
    await expect.poll(() => heldBytes() - liveBytes()).toBe(0);
    peakBytes();
    expect(peakBytes()).toBe(heldBytes());
  });

  it("are free at once after a read-back, which waits for every submit before it", async () => {
    setMostFree(0);
    await tf.tidy(() => tf.fill([SIZE], 1).add(1)).data();
    expect(memorySnapshot().gpuBytesAllocated).toBeGreaterThan(0);
    trimPool();
    expect(heldBytes()).toBe(liveBytes());
  });
});

describe("a recording in pace", () => {
  it("holds the plan, which the same blocks without a wait exceed", async () => {
    const plan = heldBytes() + bytesOf(12);
    setPlannedBytes(plan);
    peakBytes();
    expect(await inPace(blocks())).toBe(BLOCKS);
    // One block is recorded before each wait.
    expect(peakBytes()).toBeLessThanOrEqual(plan + bytesOf(2));
    trimPool();
    await uploadsDone();
    await expect.poll(() => heldBytes() - liveBytes()).toBe(0);
    peakBytes();
    atOnce(blocks());
    expect(peakBytes()).toBeGreaterThan(plan + bytesOf(8));
  });

  it("keeps few submits in flight and ends at a wait when it is cancelled, with nothing left", async () => {
    const stop = new AbortController();
    const { tensors } = memorySnapshot();
    const seen: number[] = [];
    let ahead = 0;
    function* holding(): Paced<void> {
      const kept = tf.ones([SIZE]);
      try {
        for (let n = 0; ; n++) {
          seen.push(n);
          ahead = Math.max(ahead, workInFlight()?.submits ?? 0);
          if (n === 3 * SUBMITS_AHEAD) stop.abort();
          yield* blocks(1);
        }
      } finally {
        kept.dispose();
      }
    }
    await expect(inPace(holding(), stop.signal)).rejects.toMatchObject({ code: "cancelled" });
    expect(seen).toHaveLength(3 * SUBMITS_AHEAD + 1);
    expect(ahead).toBeLessThanOrEqual(SUBMITS_AHEAD);
    expect(memorySnapshot().tensors).toBe(tensors);
  });
});

it("a recording that is cancelled while it waits for the GPU ends before the GPU is done", async () => {
  const { queue } = engine.device;
  const { tensors } = memorySnapshot();
  let release: () => void = () => undefined;
  const done = new Promise<undefined>((resolve) => {
    release = () => resolve(undefined);
  });
  const asked = vi.spyOn(queue, "onSubmittedWorkDone").mockImplementation(() => done);
  try {
    const stop = new AbortController();
    const end = inPace(blocks(), stop.signal);
    const refused = expect(end).rejects.toMatchObject({ code: "cancelled" });
    await expect.poll(() => asked.mock.calls.length).toBeGreaterThan(0);
    stop.abort();
    await refused;
    expect(memorySnapshot().tensors).toBe(tensors);
  } finally {
    asked.mockRestore();
    release();
  }
});

describe("a tidy whose parts wait", () => {
  function* squares(stop?: AbortController): Paced<{ readonly all: tf.Tensor[] }> {
    return yield* tidied(function* () {
      const x = tf.range(0, 4).add(1);
      yield;
      const y = x.square();
      stop?.abort();
      yield;
      const inner = yield* tidied(function* () {
        const z = y.add(x);
        yield;
        return z.mul(2);
      });
      return { all: [y, inner] };
    });
  }

  it("keeps the result alone, whatever else is recorded meanwhile", async () => {
    const { tensors } = memorySnapshot();
    // Each waits while the others record.
    setMostFree(0);
    const [one, other] = await Promise.all([inPace(squares()), inPace(squares()), inPace(blocks(3))]);
    expect(memorySnapshot().tensors).toBe(tensors + 4);
    for (const { all } of [one, other]) {
      const values = await Promise.all(all.map((tensor) => tensor.data()));
      expect(values.map((own) => [...own])).toEqual([
        [1, 4, 9, 16],
        [4, 12, 24, 40],
      ]);
      tf.dispose(all);
    }
    expect(memorySnapshot().tensors).toBe(tensors);
  });

  it("keeps nothing when it is cancelled, and is differentiated like any tidy", async () => {
    const { tensors } = memorySnapshot();
    const stop = new AbortController();
    await expect(inPace(squares(stop), stop.signal)).rejects.toMatchObject({ code: "cancelled" });
    expect(memorySnapshot().tensors).toBe(tensors);
    const cubes = (x: tf.Tensor): tf.Tensor =>
      atOnce(
        tidied(function* () {
          const square = x.square();
          yield;
          return square.mul(x).sum();
        }),
      );
    const slope = tf.tidy(() => tf.grad(cubes)(tf.tensor1d([1, 2, 3])));
    expect([...(await slope.data())]).toEqual([3, 12, 27]);
    slope.dispose();
    expect(memorySnapshot().tensors).toBe(tensors);
  });
});

const picture = { width: 384, height: 96, data: new Uint8Array(384 * 96 * 3).fill(90) };

describe("the language pass of phrases", () => {
  it.each([
    ["one", ["the red cup"]],
    ["several behind a common prompt", ["the red cup", "a dog"]],
  ])(
    "waits after every layer with the same numbers, and keeps nothing when it is cancelled: %s",
    async (_, phrases) => {
      const model = await openSa2va(await nodeFolder(TINY), "m");
      const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
      const features = await encodeImage(model, picture, 1);
      const asked = [{ features, phrases }];
      const { tensors } = memorySnapshot();
      const whole = phrasePromptsOf(model, weights, asked);
      let parts = 0;
      function* counted(): Paced<tf.Tensor> {
        const recording = phrasePrompts(model, weights, asked);
        try {
          for (;;) {
            const step = recording.next();
            if (step.done === true) return step.value;
            parts++;
            yield;
          }
        } finally {
          recording.return(undefined as never);
        }
      }
      const paced = await inPace(counted());
      expect(parts).toBeGreaterThanOrEqual(
        phrases.length === 1 ? model.config.language.layers : 2 * model.config.language.layers,
      );
      expectSameBits((await paced.data()) as Float32Array, (await whole.data()) as Float32Array);
      tf.dispose([whole, paced]);
      await expect(inPace(counted(), AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
      expect(memorySnapshot().tensors).toBe(tensors);
      disposeFeatures(features);
      model.dispose();
    },
  );
});

describe("the towers", () => {
  it("hold no more memory for many tiles than for one, if the pool keeps nothing", async () => {
    const model = await openSa2va(await nodeFolder(TINY), "m");
    const large = { ...model, tiling: { ...model.tiling, tileSize: 16 * model.config.vision.patchSize } };
    setMostFree(0);
    const beyond: number[] = [];
    for (const tiles of [1, 4]) {
      trimPool();
      await uploadsDone();
      await expect.poll(() => heldBytes() - liveBytes()).toBe(0);
      const start = heldBytes();
      peakBytes();
      const parts: TowerPart[] = [];
      const features = await encodeImage(large, picture, tiles, { onPart: (part) => void parts.push(part) });
      const { vision, sam } = features;
      const results = [vision, sam.f16, sam.f8, sam.f4].reduce((sum, { size }) => sum + 4 * size, 0);
      beyond.push(peakBytes() - start - results);
      expect(parts.map(({ tower }) => tower)).toEqual([...new Array(features.tiles).fill("vision"), "SAM2"]);
      disposeFeatures(features);
    }
    const [one, several] = beyond as [number, number];
    expect(several / one).toBeLessThan(1.5);
    model.dispose();
  });

  it("end at a wait when they are cancelled: nothing is cached, nothing is left", async () => {
    const model = await openSa2va(await nodeFolder(TINY), "m");
    const { tensors } = memorySnapshot();
    const cache = createFeatureCache(model, 4, 0);
    for (const last of ["vision", "SAM2"] as const) {
      const stop = new AbortController();
      let recorded = 0;
      const calls = {
        signal: stop.signal,
        onPart: ({ tower, tile }: TowerPart) => {
          recorded++;
          if (tower === last && (last === "SAM2" || tile === 2)) stop.abort();
        },
      };
      const before = gpuCounts();
      await expect(cache.get("picture", picture, undefined, calls)).rejects.toMatchObject({ code: "cancelled" });
      expect(countsBetween(before, gpuCounts()).dispatches).toBeGreaterThan(0);
      expect(recorded).toBe(last === "vision" ? 2 : 6);
      expect(memorySnapshot().tensors).toBe(tensors);
    }
    expect(cache.bytes).toBe(0);
    model.dispose();
  });
});
