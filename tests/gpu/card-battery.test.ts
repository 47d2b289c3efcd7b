/** The packed card battery: runs from an empty folder without an environment, is interrupted, and continues. */
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runBattery } from "../../bench/battery/battery.ts";
import { BatteryRecord } from "../../bench/battery/record.ts";
import { MOST_BYTES, packBattery } from "../../scripts/lib/build/pack-battery.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "lab-battery-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("is one small folder that measures with nothing installed, and repeats no finished stage", async () => {
  const packed = join(folder, "packed");
  expect(await packBattery(packed)).toBeLessThan(MOST_BYTES);
  await expect(packBattery(packed)).rejects.toThrow(/not empty/);
  // The package's other files cannot replace what was packed.
  const empty = join(folder, "empty");
  mkdirSync(empty);
  const call = (...words: string[]) => {
    const ended = spawnSync("/usr/bin/env", ["-i", "/bin/sh", join(packed, "run.sh"), ...words], { cwd: empty });
    return { code: ended.status, out: ended.stdout.toString(), told: ended.stderr.toString() };
  };
  const first = call("--stages", "adapter");
  expect(first, first.told).toMatchObject({ code: 0 });
  expect(readdirSync(empty)).toEqual(["card-battery.jsonl"]);
  const [adapter, end] = first.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(adapter).toMatchObject({ stage: "adapter", software: true, limits: { maxBufferSize: expect.any(Number) } });
  expect(end).toEqual({ stage: "adapter", end: true });

  appendFileSync(join(empty, "card-battery.jsonl"), '\n{"stage":"kernels","cas');
  const second = call("--stages", "adapter,rates,step-1b,demo", "--sizes", "small");
  expect(second, second.told).toMatchObject({ code: 0 });
  const lines = second.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(new Set(lines.map(({ stage }) => stage))).toEqual(new Set(["rates", "step-1b", "demo"]));
  expect(lines.filter(({ failed }) => failed !== undefined)).toEqual([]);
  const rates = lines.filter(({ unit }) => unit !== undefined);
  expect(rates.length).toBeGreaterThan(7);
  for (const { case: name, value } of rates) expect(value, String(name)).toBeGreaterThan(0);
  const steps = lines.filter(({ stage, peak }) => stage === "step-1b" && peak !== undefined);
  expect(steps.map(({ case: name }) => name)).toEqual(["groups of 2, captions of 4 tokens"]);
  for (const { gradNorm, peak } of steps) {
    expect(gradNorm).toBeGreaterThan(0);
    expect((peak as { ratio: number }).ratio).toBeCloseTo(1, 1);
  }
  const trained = lines.filter(({ stage, step }) => stage === "demo" && step !== undefined);
  expect(trained.map(({ step }) => step)).toEqual([1]);
  expect(readFileSync(join(empty, "card-battery.jsonl"), "utf8").split("\n").at(-1)).toBe(
    '{"stage":"demo","end":true}',
  );
  expect(call("--stages", "rates,speed").told).toMatch(/--stages has "speed"; known are adapter/);
});

it("begins a whole run only in the first half of a call", async () => {
  const record = new BatteryRecord(join(folder, "late.jsonl"));
  expect(await runBattery(["demo"], { record, left: () => 260, seconds: 540, sizes: "small" })).toBe(false);
  expect(record.isDone("demo")).toBe(false);
});
