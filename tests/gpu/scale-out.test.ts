/**
 * The Python package repeats a stored step of the lab and continues after a killed process; a run from the page and
 * back is in tests/browser/scale-out.test.ts. PYTHON names the interpreter; without one that has its packages these
 * tests are skipped.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { runOrder } from "../../src/engine/rl/run/start/prepare-run.ts";
import { groupsFromArrow, groupsToArrow } from "../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { runRows } from "../../src/engine/runs/run-rows.ts";
import { judgeServer } from "../support/judge-server.ts";
import { expectNear, expectSameRun, recordsOf } from "../support/same-run.ts";
import { writeTinyQwen } from "../support/tiny-qwen.ts";
import { launched, python, tool } from "../support/tools.ts";

const MODEL = join(root, "public", "pocket", "model");
const SHARD = join(root, "public", "pocket", "shards", "data-00000-of-00002.arrow");
const REPLAY = join(root, "python", "tools", "replay.py");
/** Processes of a widened run: more than its groups. */
const PROCESSES = 4;
/** Features in half precision, which the tool keeps in the folder of --cache. */
const HALVES = { featureStorage: "f16", featureDisk: 1 } as const;
const SMALL = {
  loop1Meteor: 0.5,
  loop1RepetitionCost: 0.3,
  loop2Weight: 0.1,
  scaleRewards: "batch",
  warmupSteps: 0,
  lrSchedulerType: "constant",
  promptsPerStep: 2,
  numGenerations: 3,
  saveSteps: 1,
  evalSteps: 0,
};

process.env.PYTHONPATH = join(root, "python");
process.env.OMP_NUM_THREADS = "1";
process.env.TOKENIZERS_PARALLELISM = "false";
const needed = await python(
  "-c",
  "import torch, accelerate, transformers, peft, pyarrow, PIL, nltk, pycocotools, sentencepiece",
);
if (needed.code !== 0) {
  console.warn(
    "Skipped: no Python with torch, accelerate, transformers, peft, pyarrow, Pillow, nltk, pycocotools and sentencepiece; set PYTHON to one",
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
  });
  afterAll(async () => await rm(scratch, { recursive: true, force: true }));

  const only = async (folder: string): Promise<string> => {
    // The run itself has a shorter name than its copies; hidden folders do not count.
    const names = (await readdir(folder)).filter((name) => !name.startsWith("."));
    return join(folder, names.sort((a, b) => a.length - b.length)[0] as string);
  };
  interface About {
    readonly model?: string;
    readonly seed?: string;
    /** Added to the arguments of the tool and of the package. */
    readonly words?: readonly string[];
  }
  const about = (model = MODEL): string[] => ["--model", model, "--shards", shards()];
  /** A run of the lab. */
  async function trained(
    name: string,
    steps: number,
    settings: Readonly<Record<string, unknown>>,
    { model = MODEL, words = [], seed = "5" }: About = {},
  ): Promise<string> {
    const config = join(scratch, `${name}.json`);
    await writeFile(config, JSON.stringify({ ...SMALL, ...settings }));
    const out = join(scratch, name);
    const given = ["--preset", "demo", "--config", config, ...about(model), "--out", out, "--seed", seed];
    const done = await tool("train", [...given, ...words, "--steps", `${steps}`]);
    expect(done.code, done.err).toBe(0);
    return await only(out);
  }
  async function exported(run: string): Promise<string> {
    const out = `${run}-scale`;
    const done = await tool("export", ["--run", run, "--format", "scale-out", "--shards", shards(), "--out", out]);
    expect(done.code, done.err).toBe(0);
    return await only(out);
  }
  /** Six steps by two launchers with one process each, which find each other at an address as on two machines. */
  const twoMachines = (run: string) => {
    const env = { MODEL, SHARDS: shards(), GPUS: "1", HEAD: "127.0.0.1" };
    return Promise.all([0, 1].map(() => launched(run, "2x8gpu.sh", ["--steps", "6"], env)));
  };
  const twoOf = (...words: readonly string[]) =>
    python("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", ...words);

  /**
   * Numbers that must be equal, and numbers that must be close. @param gradient bound of the gradient, and of weights
   * and averages
   */
  function expectRepeated(report: Readonly<Record<string, number>>, gradient: number, reward = 0): void {
    for (const [name, value] of Object.entries(report)) if (name.endsWith("_differ")) expect(value, name).toBe(0);
    // Counts are equal; a likelihood is a sum of logits, in f32 there and in f64 here.
    if (report.reward !== undefined) expect(report.reward).toBeLessThanOrEqual(reward);
    if (report.terms !== undefined) expect(report.terms).toBe(0);
    expect(report.metrics).toBeLessThan(1e-4);
    expect(report.gradient).toBeLessThan(gradient);
    // Values that two computations round apart; a sum that is rounded at another place would give 2e-4.
    expect(report.features ?? 0).toBeLessThan(5e-5);
    expect(report.policy_norm).toBeLessThan(gradient);
    expect(report.ema_norm).toBeLessThan(gradient);
    // The optimiser's result from the lab's own moments and weights, at most twice per step: rounding.
    expect(report.policy_update ?? 0).toBeLessThan(1e-6);
    expect(report.ema_update ?? 0).toBeLessThan(1e-6);
  }
  async function expectStep(
    name: string,
    settings: Readonly<Record<string, unknown>>,
    bounds: {
      readonly gradient?: number;
      readonly reward?: number;
      readonly own?: readonly string[];
    } & About = {},
  ): Promise<void> {
    const { gradient = 1e-4, reward = 0, own = [], ...more } = bounds;
    const run = await exported(await trained(name, 1, settings, more));
    const words = [...about(more.model), "--step", "1", "--dtype", "f64", ...own];
    const done = await python(REPLAY, run, ...words);
    expect(done.code, done.err).toBe(0);
    expectRepeated(JSON.parse(done.out) as Record<string, number>, gradient, reward);
  }
  /** A tiny model of the golden sets without its recorded numbers. */
  async function golden(name: string): Promise<string> {
    const folder = join(scratch, `${name}-model`);
    const own = (path: string): boolean =>
      !/golden_|adapter|README|image\.png|cases/.test(path.slice(path.lastIndexOf("/")));
    await cp(join(root, "tests", "golden", name), folder, { recursive: true, filter: own });
    return folder;
  }

  it("repeats a step: field of uncertain cells, rows of a mix by length", async () => {
    const memory = { gradientCheckpointing: true, microRollouts: 2 };
    await expectStep("field", { fieldBand: 2, mixSources: "rows=1.5", lengthGrouping: true, ...memory });
  });
  it("names the row whose picture decodes to other pixels", async () => {
    const run = await only(`${await only(join(scratch, "field"))}-scale`);
    const folder = join(scratch, "other", basename(run));
    await cp(run, folder, { recursive: true });
    const file = join(folder, "rollouts", "step-000001.arrow");
    const [first, ...rest] = await groupsFromArrow(await readFile(file), file);
    if (first === undefined) throw new Error("no group was stored");
    await writeFile(file, groupsToArrow([{ ...first, pixels: "00c0ffee" }, ...rest]));
    const done = await python(REPLAY, folder, ...about(), "--step", "1");
    expect(done.code).toBe(1);
    expect(JSON.parse(done.out)).toMatchObject({ pixels_differ: 1, actions_differ: 0 });
    const hashes = `the pixels ${first.pixels} here and had 00c0ffee in the record`;
    expect(done.err).toContain(`Row ${first.rowId} has ${hashes}`);
  });
  it("repeats a step on the lab's features in half precision", async () => {
    const cache = join(scratch, "cache");
    const settings = { ...HALVES, fieldGrid: 4 };
    await expectStep("halves", settings, { words: ["--cache", cache], own: ["--features", cache] });
  });
  it("repeats a step, supervised", async () =>
    await expectStep("supervised", { mode: "sft", weightDecay: 1, maskRateFactor: 1 }));

  it("repeats a step: proposals of phrases and clicks, three loops, likelihoods, groups sampled again", async () => {
    const settings = {
      ...{ maskPolicy: "proposals", proposalPhrases: true, proposalPoints: 2, resampleRounds: 1, embeddingSigma: 2 },
      ...{ antitheticNoise: true, clipScope: "sum" },
      ...{ loop3Weight: 0.5, partnerTemperature: 0.7, partnerSamples: 2, useAdaptiveEntropy: true, entropyTarget: 9 },
      ...{
        loop1Likelihood: 0.3,
        loop1Contrast: 0.2,
        loop2Likelihood: 0.5,
        loop2Contrast: 0.4,
        likelihoodJudge: "start",
      },
    };
    await expectStep("terms", settings, { reward: 1e-6 });
  });

  it("repeats a step: candidates, two passes, a judge and a reward of the user", async () => {
    const judge = await judgeServer();
    const source =
      "function reward(r) { return r.terms.iou / 2 + r.caption.length / 100 + (r.predicted?.area ?? 0) / 1e6; }";
    const mine = join(scratch, "reward.py");
    const lines = ["area = 0 if r['predicted'] is None else int(r['predicted'].sum())", ""];
    await writeFile(
      mine,
      `def reward(r):\n    ${lines.join("\n    ")}return r['terms']['iou'] / 2 + len(r['caption']) / 100 + area / 1e6\n`,
    );
    try {
      const settings = {
        maskPolicy: "candidates",
        numIterations: 2,
        loop1User: 0.5,
        loop2User: 0.5,
        userReward: source,
      };
      const words = ["--judge", judge.url, "--allow-custom-reward"];
      await expectStep("judged", settings, { words, own: ["--reward", mine] });
      const asked = (key: "text" | "path"): string[] => [...new Set(judge.calls.map((call) => call[key]))];
      expect(asked("path")).toEqual(["/v1/chat/completions"]);
      // The package asked the same questions in the same words as the lab.
      expect(judge.calls.length).toBe(2 * asked("text").length);
    } finally {
      await judge.close();
    }
  });

  it.each([
    ["sa2va-tiny-internlm2", "71", { objective: "notes", maskPolicy: "field", fieldGrid: 4 }],
    // Four updates; with a smaller ε rounding around 0 would become whole rates.
    ["sa2va-tiny-qwen2", "72", { maskPolicy: "embedding", numIterations: 2, stepsPerGeneration: 2, adamEpsilon: 0.01 }],
    ["sa2va-tiny-phi3", "73", { objective: "notes", maskPolicy: "proposals", proposalPhrases: true }],
  ] as const)("repeats a step of %s", async (name, seed, settings) => {
    await expectStep(name, settings, { seed, model: await golden(name) });
  });

  it.each([
    ["qwen3", { maskPolicy: "field", fieldGrid: 4, loop1Likelihood: 0.3, loop1Contrast: 0.2, featureStorage: "f32" }],
    [
      "qwen3",
      { maskPolicy: "candidates", regionPrompt: "tokens", trainProjector: "yes", resizeTwice: true, ...HALVES },
    ],
    ["qwen2.5", { maskPolicy: "proposals", regionPrompt: "dim", loop3Weight: 0.5, partnerTemperature: 0.7 }],
  ] as const)("repeats a step of a tiny model on %s-VL: %o", async (family, settings) => {
    const name = `${family}-${settings.maskPolicy}`;
    const model = join(scratch, `${name}-model`);
    await mkdir(model);
    writeTinyQwen(model, family);
    const cache = join(scratch, `${name}-cache`);
    const halves = "featureDisk" in settings ? { words: ["--cache", cache], own: ["--features", cache] } : {};
    await expectStep(name, settings, { seed: "74", model, reward: 1e-6, ...halves });
  });

  it("computes the same gradient in two processes, and with the frozen layers split between them", async () => {
    const run = await only(`${await only(join(scratch, "field"))}-scale`);
    const words = [REPLAY, run, ...about(), "--step", "1", "--dtype", "f64"];
    const saved = ["one.pt", "two.pt", "split.pt"].map((name) => join(scratch, name)) as [string, string, string];
    const done = [
      await python(...words, "--save", saved[0]),
      await twoOf(...words, "--save", saved[1]),
      await twoOf(...words, "--save", saved[2], "--shard", "fsdp2"),
    ];
    // Exit code 0: all actions, captions, masks and rewards are equal.
    for (const { code, err } of done) expect(code, err).toBe(0);
    const code =
      "import sys, torch; a, *b = map(torch.load, sys.argv[1:]); print(*(float((a - x).norm() / a.norm()) for x in b), float(a.norm()))";
    const [two, split, norm] = (await python("-c", code, ...saved)).out.split(" ").map(Number) as number[];
    expect(norm).toBeGreaterThan(0);
    expect(two).toBeLessThan(1e-6);
    expect(split).toBeLessThan(1e-6);
  });

  it("says once why a run cannot start, instead of starting again", async () => {
    const run = await only(`${await only(join(scratch, "field"))}-scale`);
    const launch = ["-m", "sa2va_lab.launch", "--standalone", "--nproc_per_node", "3", "--max-restarts", "3"];
    const done = await python(...launch, "-m", "sa2va_lab.train", run, ...about());
    expect(done.code).toBe(2);
    const advice = "start fewer, or widen the batch with --prompts-per-step 3";
    expect(done.err).toBe(`3 processes are more than the 2 groups per loop of a step; ${advice}\n`);
  });

  it("widens the batch for more processes, there and back, without repeating or skipping a row", async () => {
    const sizes = { promptsPerStep: 1, accumulation: 2, maskPolicy: "candidates", saveSteps: 2 };
    const run = await exported(await trained("widened", 2, sizes));
    const env = { MODEL, SHARDS: shards(), GPUS: `${PROCESSES}` };
    const there = await launched(run, "8gpu.sh", ["--steps", "4"], env);
    expect(there.code, there.err).toBe(0);
    const words = ["--steps", "6", "--set", "promptsPerStep=1"];
    const back = await tool("train", ["--resume", run, ...about(), "--out", dirname(run), ...words]);
    expect(back.code, back.err).toBe(0);
    const { manifest, metrics, rollouts } = await recordsOf(run);
    const { trainRows } = manifest.data as { readonly trainRows: number };
    const changed = { promptsPerStep: { from: 1, to: PROCESSES / 2 } };
    expect(manifest.segments).toMatchObject([
      { fromStep: 2, engine: "sa2va_lab", world: PROCESSES, changed },
      { fromStep: 4, engine: "lab", changed: { promptsPerStep: { from: PROCESSES / 2, to: 1 } } },
    ]);
    expect(manifest.config).toMatchObject({ promptsPerStep: 1, steps: 6 });
    // One table, whose rows go on where they were: as many groups as the batch of each step has.
    expect(metrics.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    const counts = [2, 2, PROCESSES, PROCESSES, 2, 2];
    const { list } = await openNodeRows([shards()]);
    const { config } = manifest as unknown as { readonly config: LabConfig };
    const order = runOrder(list, runRows(list, config), { config }, []);
    for (const loop of [1, 2] as const) {
      const drawn = rollouts.map((groups) => groups.filter((own) => own.loop === loop).map(({ rowId }) => rowId));
      expect(drawn.map(({ length }) => length)).toEqual(counts);
      const { rows, place } = order.of(loop);
      expect(drawn.flat()).toEqual(drawn.flat().map((_, n) => list.rows[rows[place(n, 1)] as number]?.[0]));
    }
    const epochs = counts.map((_, at) => counts.slice(0, at + 1).reduce((sum, count) => sum + count, 0));
    expect(metrics.map(({ epoch }) => Math.round((epoch as number) * trainRows))).toEqual(epochs);
  });

  it("continues after a killed process without losing or doubling a step", async () => {
    const calm = await exported(await trained("begun", 3, { saveSteps: 3, evalSteps: 3, evalRows: 6 }));
    const disturbed = join(scratch, "disturbed", basename(calm));
    await cp(calm, disturbed, { recursive: true });
    for (const whole of await twoMachines(calm)) expect(whole.code, whole.err).toBe(0);
    const launch = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--max-restarts", "3"];
    const own = ["--steps", "6", "--shard", "fsdp2"];
    const words = [...launch, "-m", "sa2va_lab.train", disturbed, ...about(), ...own];
    const ended = await killedAfter(spawn(process.env.PYTHON ?? "python3", words), "step 4");
    expect(ended.code, ended.errors).toBe(0);
    // The undisturbed run holds all layers in both processes; this one splits them.
    const [there, here] = [await recordsOf(calm), await recordsOf(disturbed)];
    expect(here.steps).toEqual([1, 2, 3, 4, 5, 6]);
    for (const { manifest } of [there, here]) expect(manifest.segments).toMatchObject([{ fromStep: 3, world: 2 }]);
    expectSameRun(here, there, 4);
    expectNear(here.metrics, there.metrics, 1e-4);
  });
});

/** Kills the second worker once the first has printed a step; returns the launcher's exit code and error output. */
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
