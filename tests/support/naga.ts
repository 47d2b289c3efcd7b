/**
 * naga, the compiler of Firefox and wgpu, by the package `wgpu` (PyPI) of the interpreter that PYTHON names: compiles
 * programs, and repeats on its own device what a test file sent to Dawn's.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, type TestContext } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { subgroupSize } from "../../src/engine/gpu/runtime/custom-op.ts";
import { checkedGpu } from "./gpu.ts";
import { FORM_TOLERANCE } from "./kernels.ts";
import { recordCalls } from "./recorder.ts";

const interpreter = process.env.PYTHON || "python3";
/** From before a device is opened, which may name its driver here. */
const environment = { ...process.env };

function ask(...args: string[]) {
  // llvmpipe's subgroups are as wide as its vectors, and a recorded program may count on the lanes of Dawn's device.
  const lanes = subgroupSize();
  const width = lanes === 0 ? {} : { LP_NATIVE_VECTOR_WIDTH: String(32 * lanes) };
  return spawnSync(interpreter, args, { encoding: "utf8", env: { ...environment, ...width }, maxBuffer: 2 ** 26 });
}

/** Why there is no naga here; undefined if there is. */
export function withoutNaga(): string | undefined {
  if (ask("-c", "import wgpu; wgpu.gpu.request_adapter_sync()").status === 0) return undefined;
  return `${interpreter} has no wgpu with a device; set PYTHON to one that has`;
}

/** Runs a program of tests/oracle. @returns the object of its last line */
export function askNaga(program: string, ...args: string[]): unknown {
  const run = ask(join(root, "tests", "oracle", program), ...args);
  expect(run.status, run.stderr).toBe(0);
  return JSON.parse(run.stdout.trim().split("\n").at(-1) as string);
}

/** What naga_replay.py prints. */
export interface Replayed {
  readonly adapter: string;
  readonly programs: number;
  readonly dispatches: number;
  readonly reads: number;
  /** Largest distance of a read from the recorded one, by the name of the reads; infinity where whole numbers differ. */
  readonly distances: Readonly<Record<string, number | "infinity">>;
  /** Names of reads whose bits differ between two repetitions. */
  readonly unsteady: readonly string[];
  /** What naga refuses, by the names of programs. */
  readonly refused: Readonly<Record<string, string>>;
}

/** Repeats a record of recorder.ts twice through naga. */
export function replayed(record: string): Replayed {
  return askNaga("naga_replay.py", record) as Replayed;
}

/**
 * In place of `checkedGpu`, for a file whose tests are also repeated through naga.
 * @param but tests that are not repeated
 * @returns the file's last test: every value that was read back is the same through naga, and the same bits twice
 */
export function recordedGpu(but?: RegExp): (context: TestContext) => void {
  const missing = withoutNaga();
  const folder = mkdtempSync(join(tmpdir(), "lab-naga-"));
  const record = join(folder, "record");
  let end: (() => void) | undefined;
  beforeAll(async () => {
    if (missing !== undefined) return;
    const { globals } = await import("webgpu");
    end = recordCalls(globals, record, () => {
      const name = expect.getState().currentTestName ?? "";
      return but?.test(name) ? undefined : name;
    });
  });
  checkedGpu();
  afterAll(() => rmSync(folder, { recursive: true }));
  return ({ skip }) => {
    if (missing !== undefined) skip(missing);
    end?.();
    const { programs, reads, distances, unsteady, refused } = replayed(record);
    expect(Math.min(programs, reads)).toBeGreaterThan(0);
    const far = Object.entries(distances).filter(([, distance]) => !(Number(distance) < FORM_TOLERANCE));
    expect({ far, unsteady, refused }).toEqual({ far: [], unsteady: [], refused: {} });
  };
}
