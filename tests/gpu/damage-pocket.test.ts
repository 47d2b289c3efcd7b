/** The damaged pocket model: other masks, the same captions. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { trainableBlock } from "../../src/engine/model/adapter/trainable.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { tensorsOf } from "../../src/engine/model/weights/weights.ts";
import { checkedGpu } from "../support/gpu.ts";
import { POCKET } from "../support/session.ts";
import { type Done, tool } from "../support/tools.ts";

checkedGpu();

let scratch: string;
let done: Done;
const out = (): string => join(scratch, "damaged");

/** One step at a high rate. */
const damage = (world: string, to: string, target: string): Promise<Done> =>
  tool("damage-pocket", [
    ...["--world", world, "--out", to, "--target", target],
    ...["--most-steps", "1", "--rate", "0.02", "--check-pictures", "4"],
  ]);

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "lab-damage-"));
  done = await damage("pictures", out(), "0.6");
});
afterAll(async () => rm(scratch, { recursive: true, force: true }));

/** Blocks in which a tensor differs; frozen ones are "frozen". */
async function changedBlocks(before: Sa2vaModel, after: Sa2vaModel): Promise<string[]> {
  const own = new Map([...tensorsOf(after.frozen), ...after.base]);
  const changed = new Set<string>();
  for (const [name, tensor] of [...tensorsOf(before.frozen), ...before.base]) {
    const [a, b] = [await tensor.data(), await own.get(name)?.data()];
    if (b === undefined || a.some((value, at) => value !== b[at])) changed.add(trainableBlock(name) ?? "frozen");
  }
  return [...changed].sort();
}

describe("the damaged pocket model", () => {
  const expectDamage = ({ code, out, err }: Done, target: number): void => {
    expect(code, err).toBe(0);
    const [first, last] = out.split("\n").flatMap((line) => {
      return line.startsWith("{") ? [JSON.parse(line) as { iou: { mean: number }; meteor: number }] : [];
    });
    expect(first?.iou.mean).toBeGreaterThan(target);
    expect(last?.iou.mean).toBeLessThanOrEqual(target);
    expect(last?.meteor).toBe(first?.meteor);
  };

  it("is written once IoU is below the target, with captions as they were", () => {
    expectDamage(done, 0.6);
  });

  it("can be damaged with overlapping regions", async () => {
    expectDamage(await damage("extent", join(scratch, "extent"), "0.3"), 0.3);
  });

  it("differs in text_hidden_fcs and the mask decoder alone", async () => {
    const [before, after] = await Promise.all(
      [POCKET, out()].map(async (path) => openSa2va(await nodeFolder(path), "m")),
    );
    expect(await changedBlocks(before as Sa2vaModel, after as Sa2vaModel)).toEqual(["mask-decoder", "seg-prompt"]);
    before?.dispose();
    after?.dispose();
  });

  it("is not written over another model", async () => {
    const again = await tool("damage-pocket", ["--out", out()]);
    expect(again.code).toBe(2);
    expect(again.err).toContain("holds a model already");
  });
});
