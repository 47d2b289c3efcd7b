/** What is told of a record of calls that naga repeats: nothing where it is true, and whatever was changed in it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { gelu } from "../../src/engine/gpu/kernels/activation.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { FORM_TOLERANCE, randomTensor } from "../support/kernels.ts";
import { type Replayed, replayed, withoutNaga } from "../support/naga.ts";
import { recordCalls } from "../support/recorder.ts";

it("a changed constant, a changed comparison and a program that naga refuses are reported", async ({
  skip,
  onTestFinished,
}) => {
  const missing = withoutNaga();
  if (missing !== undefined) skip(missing);
  const folder = mkdtempSync(join(tmpdir(), "lab-naga-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const record = join(folder, "record");
  const { globals } = await import("webgpu");
  let reading = "gelu";
  const end = recordCalls(globals, record, () => reading);
  await useGpu();
  const x = randomTensor([5, 9], 1);
  const [smooth, above] = [gelu(x), x.greater(0)];
  await smooth.data();
  reading = "greater";
  await above.data();
  end();
  tf.dispose([x, smooth, above]);

  const path = `${record}.jsonl`;
  const lines = readFileSync(path, "utf8");
  const changed = (from: string, to: string): Replayed => {
    expect(lines).toContain(from);
    writeFileSync(path, lines.replaceAll(from, to));
    return replayed(record);
  };
  const plain = replayed(record);
  expect(Math.max(Number(plain.distances.gelu), Number(plain.distances.greater))).toBeLessThan(FORM_TOLERANCE);
  expect([plain.reads, plain.unsteady, plain.refused]).toEqual([2, [], {}]);
  const constant = changed("0.254829592", "0.26").distances;
  expect(constant.gelu).toBeGreaterThan(FORM_TOLERANCE);
  expect(constant.greater).toBe(0);
  expect(changed("x > y", "x < y").distances.greater).toBe("infinity");
  expect(Object.keys(changed("fn bell(", "fn bell(;").refused)).toEqual(["lab-gelu-1"]);
});
