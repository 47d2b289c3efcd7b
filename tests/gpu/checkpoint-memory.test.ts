/** Host memory of a checkpoint and of new adapters: a few tensors at a time, however large all of them are. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { collectGarbage } from "../../scripts/lib/node/garbage.ts";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { HASH_PIECE } from "../../src/engine/bytes/hash.ts";
import { uploadsDone } from "../../src/engine/gpu/runtime/program.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { type HostTensor, loraShapes } from "../../src/engine/model/adapter/lora.ts";
import { openSa2va } from "../../src/engine/model/sa2va.ts";
import { uploadTensors } from "../../src/engine/model/weights/weight-pieces.ts";
import { AdamState, disposeSet } from "../../src/engine/rl/optim/optimiser.ts";
import { disposeState, freshState, restoreState, stateSets } from "../../src/engine/rl/optim/training-state.ts";
import { startParameters } from "../../src/engine/rl/run/start/run-facts.ts";
import { readCheckpoint, writeCheckpoint } from "../../src/engine/runs/checkpoint/checkpoint.ts";
import { readTrained } from "../../src/engine/runs/checkpoint/trained.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { checkedGpu } from "../support/gpu.ts";
import { cheapConfig } from "../support/session.ts";
import { TINY } from "../support/tiny-group.ts";
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

  const taker = watched(store);
  const { tensors } = await readTrained(taker.store, "run", 8, "ema");
  const taken = Object.fromEntries(await uploadTensors(tensors));
  expect(taker.most.held).toBeLessThan(HASH_PIECE + TENSOR + 2 ** 20);
  expectClose(await readAll(taken), await readAll(state.ema), 0);
  disposeSet(taken);
  disposeState(back);
  disposeState(state);
});

it("draws and uploads new adapters one at a time", async () => {
  const model = await openSa2va(await nodeFolder(TINY), "m");
  const config = { ...cheapConfig(), loraR: 1024, loraAlpha: 1024 };
  const sizes = loraShapes(model.config.language, config.loraR).map(({ shape: [rows, columns] }) => 4 * rows * columns);
  const all = sizes.reduce((sum, bytes) => sum + bytes, 0);
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const held: number[] = [];
  const tensors = new Map<string, HostTensor>();
  // Asked for a tensor of an opened adapter, which has none.
  tensors.get = (): undefined => {
    collectGarbage();
    held.push(process.memoryUsage().arrayBuffers - before);
  };
  const start = { name: "none", hash: "", rank: config.loraR, scale: 1, tensors, modules: 0, files: {} };
  const set = await startParameters(model, config, start);
  expect(held.length).toBeGreaterThanOrEqual(sizes.length);
  expect(Math.max(...held)).toBeGreaterThan(Math.max(...sizes) / 2);
  expect(Math.max(...held)).toBeLessThan(Math.max(all / 4, 3 * Math.max(...sizes)));
  disposeSet(set);
  model.dispose();
});
