import { decode as decodePng } from "fast-png";
import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { crc32c, toHex } from "../../../src/engine/bytes/hash.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { type EventImage, tfevents, tfeventsName } from "../../../src/engine/formats/tfevents.ts";
import { metricsCsv, tableCsv } from "../../../src/engine/runs/csv.ts";
import { groupPicture } from "../../../src/engine/runs/rollouts/rollout-picture.ts";
import { evaluationValues, metricEvents } from "../../../src/engine/runs/run-events.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { zipFiles } from "../../../src/engine/runs/zip.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { runZip } from "../../../workers/exports.ts";
import { zippedRun } from "../../support/zipped-run.ts";
import { evaluation } from "./sample-evaluations.ts";
import { group, manifest } from "./sample-run.ts";

test("event records equal a file that TensorBoard accepts", () => {
  const start = 1700000000;
  const file = tfevents(start, [
    { wallTime: start + 1.5, step: 1, values: { reward: 0.25 } },
    { wallTime: start + 2.5, step: 300, values: { "loop1/iou": 0.5 } },
  ]);
  expect(toHex(file)).toBe(
    "1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d" +
      "1c00000000000000c8c1951d0900006040fc54d94110012a0f0a0d0a06726577617264150000803e8549bfb4" +
      "200000000000000029eda950090000a040fc54d94110ac022a120a100a096c6f6f70312f696f75150000003f80f3267f",
  );
  expect(tfeventsName(start + 0.5)).toBe("events.out.tfevents.1700000000.sa2va-lab");
  expect(crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
});

test("a step's event is at the start plus the time of all steps so far", () => {
  const events = metricEvents(100, [
    { step: 1, loss: 1, step_time: 2 },
    { step: 2, loss: 2, step_time: Number.NaN },
    { step: 3, step_time: 0.5 },
  ]);
  expect(events.map((event) => event.wallTime)).toEqual([102, 102, 102.5]);
  expect(events[0]).toEqual({ wallTime: 102, step: 1, values: { loss: 1, step_time: 2 } });
});

test("the table has a column per metric and empty cells for missing values", () => {
  const rows = [
    { step: 1, loss: 0.1 + 0.2 },
    { step: 2, 'odd,"name"': Number.NaN, loss: Number.NEGATIVE_INFINITY },
  ];
  expect(metricsCsv(rows)).toBe('step,loss,"odd,""name"""\n1,0.30000000000000004,\n2,-Infinity,NaN\n');
  const parts = [{ first: 2, last: 3, by: "other, 8 processes", changed: {} }];
  expect(metricsCsv([{ step: 1 }, { step: 2 }], parts)).toBe('step,computed_by\n1,\n2,"other, 8 processes"\n');
  expect(metricsCsv([])).toBe("step\n");
});

test("a spreadsheet reads a caption as text, whatever it begins with, and a number as a number", () => {
  const captions = ["=1+1", "+a", "-a, b", "@a", "a = b"].map((caption) => [caption, -0.5]);
  expect(tableCsv(["=name", "value"], captions)).toBe(
    `'=name,value\n'=1+1,-0.5\n'+a,-0.5\n"'-a, b",-0.5\n'@a,-0.5\na = b,-0.5\n`,
  );
});

test("a number that an evaluation lacks is missing in tables and events, not 0", () => {
  const { report } = evaluation(3, 0.5);
  const means = { ...report.means, loop1_sampled: null as unknown as number };
  const ci = { ...report.ci, loop1_sampled: [null, null] as unknown as readonly [number, number] };
  const values = evaluationValues({ ...report, means: { ...means, of_another_version: 1 }, ci } as typeof report);
  expect(Object.keys(values).filter((name) => name.startsWith("eval/loop1_sampled"))).toEqual([]);
  expect(values).toMatchObject({ "eval/loop1_greedy": report.means.loop1_greedy, "eval/of_another_version": 1 });
});

test("files that are too many for a zip are refused", async () => {
  const files = async function* () {
    for (let n = 0; n < 65_536; n++) yield { path: String(n), pieces: () => [] };
  };
  const whole = async (): Promise<void> => {
    for await (const _ of zipFiles(files(), "run", new Date(0)));
  };
  await expect(whole()).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringMatching(/more than 65535 files/),
  });
});

test("a group's picture lies under its masks, at any size of the row", () => {
  const pixels = (of: EventImage) => decodePng(of.png);
  for (const [width, height] of [
    [6, 4],
    [4, 6],
    [640, 480],
    // A strip of three frames, and one of many.
    [4, 12],
    [4, 400],
  ] as const) {
    const left = encodeRle(
      Uint8Array.from({ length: width * height }, (_, at) => Number(at % width < width / 2)),
      height,
      width,
    );
    const base = group(1, 1, 0);
    const rollouts = base.rollouts.map((rollout) => ({ ...rollout, givenMask: left, predictedMask: null }));
    const data = new Uint8Array(width * height * 3).fill(200);
    const image = groupPicture({ ...base, rollouts }, { width, height, data });
    const shown = pixels(image);
    expect([shown.width, shown.height, shown.channels]).toEqual([image.width, image.height, 3]);
    const tile = image.width / 4;
    expect([tile, image.height]).toContain(height === 400 ? 4096 : 224);
    if (height === 12) expect([tile, image.height]).toEqual([224, 672]);
    const at = (x: number, y: number): number[] => [...shown.data.slice((y * image.width + x) * 3).slice(0, 3)];
    const middle = image.height >> 1;
    expect(at(tile >> 2, middle)).toEqual([130, 200, 145]);
    expect(at(tile - 2, middle)).toEqual([200, 200, 200]);
    // The rollout found nothing: only the outline of the row's mask.
    expect(at(tile + (tile >> 2), middle)).toEqual([200, 200, 200]);
    expect(at(tile, middle)).toEqual([130, 200, 145]);
    // A picture of another shape is not of this row.
    const other = { width: 5, height: 1000, data: new Uint8Array(15_000).fill(9) };
    expect(pixels(groupPicture({ ...base, rollouts }, other)).data[tile * 3 - 1]).toBe(24);
  }
});

test("a group's picture shows loop 2's mask without exploration noise and the outline of the sampled one", () => {
  const base = group(1, 2, 0, 1);
  const half = (from: number) =>
    encodeRle(
      Uint8Array.from({ length: 224 * 224 }, (_, at) => Number(Math.floor((at % 224) / 56) === from)),
      224,
      224,
    );
  const [given, quiet, sampled] = [half(0), half(1), half(2)];
  const rollouts = base.rollouts.map((rollout) => ({
    ...rollout,
    givenMask: given,
    greedyMask: quiet,
    predictedMask: sampled,
  }));
  const shown = decodePng(groupPicture({ ...base, rollouts }, null).png);
  const at = (x: number): number[] => [...shown.data.slice((112 * shown.width + x) * 3).slice(0, 3)];
  expect(at(224 + 84)).toEqual([139, 82, 12]);
  expect(at(224 + 112)).toEqual([139, 139, 139]);
  expect(at(224 + 140)).toEqual([24, 24, 24]);
});

test("the zip holds every file of the run, an event file and the table", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  await run.appendStep(1, { loss: 1, "loop1/reward": 0.5 });
  await run.appendGroups(1, [group(1, 1, 0)]);
  const large = Uint8Array.from({ length: 9 * 2 ** 20 + 3 }, (_, at) => (at * 31) & 255);
  await store.write("brave-otter/checkpoints/step-000001/modules.safetensors", large);
  await store.write("brave-otter/empty", "");
  await store.write("other/run.json", "{}");
  const zipped = (): Promise<Uint8Array> => zippedRun(store, "brave-otter");
  const bytes = await zipped();
  const files = unzipSync(bytes);
  for (const { path } of await store.list("brave-otter")) {
    expect(Buffer.compare(files[path] as Uint8Array, await store.read(path)), path).toBe(0);
  }
  expect(Object.keys(files).length).toBe((await store.list("brave-otter")).length + 4);
  const csv = new TextDecoder().decode(files["brave-otter/metrics.csv"]);
  expect(csv).toBe("step,loss,loop1/reward,total_loss,loop1/reward_mean\n1,1,0.5,1,0.5\n");
  expect(files["brave-otter/events.out.tfevents.1772600767.sa2va-lab"]?.length).toBeGreaterThan(100);
  expect(Buffer.compare(bytes, await zipped())).toBe(0);

  // The page's file is the same; it is counted, and can be stopped.
  const counted: number[] = [];
  const stop = new AbortController();
  const progress = { onBytes: (count: number): void => void counted.push(count), signal: stop.signal };
  const { blob, fileName } = await runZip(store, "brave-otter", progress);
  expect(fileName).toBe("brave-otter.zip");
  expect(Buffer.compare(bytes, new Uint8Array(await blob.arrayBuffer()))).toBe(0);
  expect(counted.map((count) => count >> 20)).toEqual([4, 8, 9]);
  progress.onBytes = () => stop.abort();
  await expect(runZip(store, "brave-otter", progress)).rejects.toMatchObject({ code: "cancelled" });
});
