/**
 * The Python package repeats a stored step of the lab, takes a run on in two processes and gives it back, and goes on
 * after a killed process. PYTHON names the interpreter; without one that has its packages these tests are skipped.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeStore } from "../../scripts/lib/node-store.ts";
import type { GroupRecord } from "../../src/engine/runs/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { python, tool } from "../support/tools.ts";

const MODEL = join(root, "public", "pocket", "model");
const SHARD = join(root, "public", "pocket", "shards", "data-00000-of-00002.arrow");
const SMALL = {
  loop2Weight: 0.1,
  warmupSteps: 0,
  schedule: "constant",
  promptsPerStep: 2,
  groupSize: 3,
  saveSteps: 1,
  evalSteps: 0,
};

process.env.PYTHONPATH = join(root, "python");
process.env.OMP_NUM_THREADS = "1";
process.env.TOKENIZERS_PARALLELISM = "false";
const needed = await python("-c", "import torch, accelerate, transformers, peft, pyarrow, PIL, nltk");
if (needed.code !== 0) {
  console.warn(
    "Skipped: no Python with torch, accelerate, transformers, peft, pyarrow, Pillow and nltk; set PYTHON to one",
  );
}

describe.skipIf(needed.code !== 0)("a run in Python", () => {
  let scratch: string;
  const shards = (): string => join(scratch, "shards");

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "lab-scale-"));
    await mkdir(shards());
    // Pictures that both sides decode to the same pixels.
    const png = [join(root, "tests/oracle/png_rows.py"), "--shard", SHARD, "--rows", "40"];
    const made = await python(...png, "--out", join(shards(), "rows.arrow"));
    expect(made.code, made.err).toBe(0);
  }, 60_000);
  afterAll(async () => await rm(scratch, { recursive: true, force: true }));

  const only = async (folder: string): Promise<string> => {
    // The run itself stands before its copies.
    const names = (await readdir(folder)).sort((a, b) => a.length - b.length);
    return join(folder, names[0] as string);
  };
  /** A run of the lab. */
  async function trained(name: string, steps: number, settings: Readonly<Record<string, unknown>>): Promise<string> {
    const config = join(scratch, `${name}.json`);
    await writeFile(config, JSON.stringify({ ...SMALL, ...settings }));
    const out = join(scratch, name);
    const words = ["--preset", "demo", "--config", config, "--shards", shards(), "--out", out, "--seed", "5"];
    const done = await tool("train", [...words, "--steps", `${steps}`]);
    expect(done.code, done.err).toBe(0);
    return await only(out);
  }
  async function exported(run: string): Promise<string> {
    const out = `${run}-scale`;
    const done = await tool("export", ["--run", run, "--format", "scale-out", "--shards", shards(), "--out", out]);
    expect(done.code, done.err).toBe(0);
    return await only(out);
  }
  const about = (): string[] => ["--model", MODEL, "--shards", shards()];
  const alone = (...words: readonly string[]) => python("-m", ...words);
  const twoOf = (...words: readonly string[]) =>
    python("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", ...words);

  /** What must be equal, and what must be near. */
  function expectRepeated(report: Readonly<Record<string, number>>, gradient: number): void {
    for (const [name, value] of Object.entries(report)) if (name.endsWith("_differ")) expect(value, name).toBe(0);
    expect(report).toMatchObject(report.rollouts === undefined ? {} : { reward: 0, terms: 0 });
    expect(report.metrics).toBeLessThan(1e-4);
    expect(report.gradient).toBeLessThan(gradient);
    // What the optimiser makes of the lab's own moments: weights and averages to rounding.
    expect(report.policy_update).toBeLessThan(1e-6);
    expect(report.ema_update).toBeLessThan(1e-6);
  }

  const CASES: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ["field", {}],
    ["candidates", { maskPolicy: "candidates" }],
    ["notes", { objective: "notes" }],
    ["supervised", { mode: "sft" }],
  ];
  it.each(CASES)(
    "repeats a step, %s",
    async (name, settings) => {
      const run = await exported(await trained(name, 1, settings));
      const done = await alone("sa2va_lab.replay", run, ...about(), "--step", "1", "--dtype", "f64");
      expect(done.code, done.err).toBe(0);
      expectRepeated(JSON.parse(done.out) as Record<string, number>, 1e-4);
    },
    200_000,
  );

  it("computes the same gradient in two processes", async () => {
    const run = await only(`${await only(join(scratch, "field"))}-scale`);
    const [one, two] = [join(scratch, "one.pt"), join(scratch, "two.pt")];
    const words = ["sa2va_lab.replay", run, ...about(), "--step", "1", "--dtype", "f64", "--save"];
    for (const done of [await alone(...words, one), await twoOf(...words, two)]) expect(done.code, done.err).toBe(0);
    const code = `import sys, torch; a, b = map(torch.load, sys.argv[1:]); print(float((a - b).norm() / a.norm()), float(a.norm()))`;
    const [gap, norm] = (await python("-c", code, one, two)).out.split(" ").map(Number) as [number, number];
    expect(norm).toBeGreaterThan(0);
    expect(gap).toBeLessThan(1e-6);
  }, 200_000);

  it("takes a run on and gives it back: 3 + 3 + 3 steps are nine", async () => {
    const settings = { saveSteps: 3, evalSteps: 3, evalRows: 6 };
    const whole = await trained("whole", 9, settings);
    const run = await exported(await trained("begun", 3, settings));
    const middle = await twoOf("sa2va_lab.train", run, ...about(), "--steps", "6");
    expect(middle.code, middle.err).toBe(0);
    const out = join(run, "..");
    const id = (await readdir(out))[0] as string;
    const last = await tool("train", ["--resume", id, "--steps", "9", "--shards", shards(), "--out", out]);
    expect(last.code, last.err).toBe(0);
    const [a, b] = [await opened(whole), await opened(run)];
    expect(b.steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(b.manifest.segments).toMatchObject([{ fromStep: 3, engine: "sa2va_lab", world: 2 }]);
    for (const [at, row] of a.metrics.entries()) {
      for (const [name, value] of Object.entries(row)) {
        if (/^(time\/|memory\/|step_time)|logp_train_vs_sampling/.test(name)) continue;
        const gap = Math.abs(value - (b.metrics[at]?.[name] ?? Number.NaN));
        expect(gap, `${name} of step ${at + 1}`).toBeLessThan(1e-3 * Math.max(1, Math.abs(value)));
      }
    }
    expect(b.rollouts.flat().map(drawn)).toEqual(a.rollouts.flat().map(drawn));
    expect(b.evaluations.map(({ report: { step, means } }) => [step, means])).toEqual(
      a.evaluations.map(({ report: { step, means } }) => [step, near(means)]),
    );
  }, 400_000);

  it("goes on after a killed process without losing or doubling a step", async () => {
    const run = await only(`${await only(join(scratch, "field"))}-scale`);
    const [calm, disturbed] = [join(scratch, "calm"), join(scratch, "disturbed")];
    for (const copy of [calm, disturbed]) await cp(run, copy, { recursive: true });
    const words = (copy: string): string[] => ["sa2va_lab.train", copy, ...about(), "--steps", "5"];
    const done = await twoOf(...words(calm));
    expect(done.code, done.err).toBe(0);
    const launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--max-restarts", "3"];
    const process_ = spawn(process.env.PYTHON ?? "python3", [...launch, "-m", ...words(disturbed)]);
    const ended = await killedAfter(process_, "step 3");
    expect(ended.code, ended.errors).toBe(0);
    const metrics = async (copy: string): Promise<unknown[]> =>
      (await lines(join(copy, "metrics.jsonl"))).map((row) =>
        Object.fromEntries(
          Object.entries(row as object).filter(([name]) => !/^(time\/|step_time|memory\/)/.test(name)),
        ),
      );
    expect((await metrics(disturbed)).map((row) => (row as { step: number }).step)).toEqual([1, 2, 3, 4, 5]);
    expect(await metrics(disturbed)).toEqual(await metrics(calm));
  }, 400_000);
});

/** Kills the second worker once the first has printed a step; the launcher's exit code and what it wrote of errors. */
async function killedAfter(
  launcher: ChildProcess,
  text: string,
): Promise<{ readonly code: number | null; readonly errors: string }> {
  let errors = "";
  let killed = false;
  let said = "";
  launcher.stderr?.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  launcher.stdout?.on("data", (data: Buffer) => {
    said += data.toString();
    if (killed || !said.includes(text)) return;
    killed = true;
    const children = execFileSync("ps", ["-o", "pid=", "--ppid", `${launcher.pid}`], { encoding: "utf8" });
    process.kill(Number(children.trim().split(/\s+/).at(-1)), "SIGKILL");
  });
  const code = await new Promise<number | null>((resolve) => launcher.on("exit", resolve));
  expect(killed).toBe(true);
  return { code, errors };
}

async function lines(path: string): Promise<unknown[]> {
  return (await readFile(path, "utf8"))
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

interface Evaluation {
  readonly report: { readonly step: number; readonly means: Readonly<Record<string, number>> };
}

async function opened(path: string) {
  const [, folder, id] = /^(.*)\/([^/]+)$/.exec(path) as unknown as [string, string, string];
  const run = await openRun(nodeStore(folder), id);
  const steps = await run.groupSteps();
  return {
    steps,
    manifest: JSON.parse(await readFile(join(path, "run.json"), "utf8")) as Record<string, unknown>,
    metrics: await run.readMetrics(),
    rollouts: await Promise.all(steps.map((step) => run.readGroups(step))),
    evaluations: (await lines(join(path, "eval.jsonl"))) as Evaluation[],
  };
}

/** What of a group must be the same on any machine. */
function drawn({ step, loop, group, rowId, rollouts }: GroupRecord): unknown {
  const said = rollouts.map(({ completion, captionPrime, actions, predictedMask }) => {
    return [completion, captionPrime, actions.map(({ id }) => id), predictedMask];
  });
  return [step, loop, group, rowId, said];
}

function near(means: Readonly<Record<string, number>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(means).map(([name, value]) => [name, expect.closeTo(value, 4)]));
}
