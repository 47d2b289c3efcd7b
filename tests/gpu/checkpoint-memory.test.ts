/** Host memory of a checkpoint: its sets are written and read a few tensors at a time, however large all of them are. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { collectGarbage } from "../../scripts/lib/node/garbage.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { HASH_PIECE } from "../../src/engine/bytes/hash.ts";
import { uploadsDone } from "../../src/engine/gpu/runtime/program.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { AdamState, disposeSet } from "../../src/engine/rl/optim/optimiser.ts";
import { disposeState, freshState, restoreState, stateSets } from "../../src/engine/rl/optim/training-state.ts";
import { readCheckpoint, writeCheckpoint } from "../../src/engine/runs/checkpoint/checkpoint.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { checkedGpu } from "../support/gpu.ts";
import { expectClose, readAll, type Shapes } from "../support/updates.ts";
import { state as sample } from "../unit/runs/sample-checkpoint.ts";

checkedGpu();

const scratch = mkdtempSync(join(tmpdir(), "lab-checkpoint-memory-"));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Bytes of a large tensor and of the batch in which small ones are read back. */
const TENSOR = 16 * 2 ** 20;
/** Large ones, some that share an arena, and one in the names' order before its neighbours in the set. */
const SHAPES: Shapes = {
  ...Object.fromEntries([0, 1, 2].map((at) => [`mlp1.${at}.weight`, [2 ** 11, 2 ** 11]])),
  ...Object.fromEntries([0, 1, 2, 10, 11].map((at) => [`text_hidden_fcs.${at}.weight`, [300, 2 ** 10 + at]])),
  "a.bias": [7],
  "b.bias": [1],
};
const SET = 3 * TENSOR;

/** Numbers that the device computes, so that none are in host memory. */
function computed(seed: number): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(SHAPES).map(([name, shape], at) => [
      name,
      tf.tidy(() => {
        const count = tf.util.sizeFromShape([...shape]);
        return tf
          .range(0, count)
          .mul(0.3 + seed + at)
          .sin()
          .reshape([...shape]);
      }),
    ]),
  );
}

/** Collects before every call of the store, and keeps the most bytes of arrays and the largest array of a call. */
function watched(store: RunStore) {
  const most = { held: 0, array: 0 };
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const look = (bytes: number): void => {
    collectGarbage();
    most.held = Math.max(most.held, process.memoryUsage().arrayBuffers - before);
    most.array = Math.max(most.array, bytes);
  };
  const own: RunStore = {
    ...store,
    async write(path, content) {
      look(content.length);
      return store.write(path, content);
    },
    async append(path, content) {
      look(content.length);
      return store.append(path, content);
    },
    async open(path) {
      const source = await store.open(path);
      const read = async (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> => {
        look(end - start);
        return source.read(start, end);
      };
      return { ...source, name: source.name, size: source.size, read };
    },
  };
  return { store: own, most };
}

/** A piece of a file, and a batch, which is held twice while it is read back; fewer than the bytes of two of the sets. */
const MOST = HASH_PIECE + 2 * TENSOR + 2 ** 20;

it("holds one piece of a file and a few tensors while it saves and restores sets of any size", async () => {
  expect(MOST).toBeLessThan(2 * SET);
  const state = {
    ...freshState(computed(1), () => "projector", 2),
    adam: new AdamState(8, computed(3), computed(4)),
    reference: computed(5),
  };
  const start = computed(1);
  await uploadsDone();
  const { store, most } = watched(nodeStore(scratch));
  await writeCheckpoint(store, "run", { ...sample(8), lora: null, ...stateSets(state) });
  expect(most.held).toBeGreaterThan(0);
  expect(most.held).toBeLessThan(MOST);
  expect(most.array).toBe(HASH_PIECE);

  const reader = watched(store);
  const checkpoint = await readCheckpoint(reader.store, "run", 8);
  const counters = { optimiserSteps: 8, skippedSteps: 0, entropy: state.entropy };
  const back = await restoreState(start, () => "projector", 2, checkpoint, counters);
  expect(reader.most.held).toBeLessThan(MOST);
  expect(reader.most.array).toBe(HASH_PIECE);

  for (const set of ["params", "ema", "reference"] as const) {
    expectClose(await readAll(back[set] ?? {}), await readAll(state[set]), 0);
  }
  for (const which of ["first", "second"] as const) {
    const [found, wanted] = [back.adam.moments(which), state.adam.moments(which)];
    expectClose(await readAll(found), await readAll(wanted), 0);
    for (const moments of [found, wanted]) disposeSet(moments);
  }
  disposeState(back);
  disposeState(state);
});
