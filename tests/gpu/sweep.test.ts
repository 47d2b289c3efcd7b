/** `npm run sweep` on the pocket model: interrupted, continued, and read back. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import { smallModel } from "../support/small-model.ts";
import { bundledTool, type Done, tool } from "../support/tools.ts";

const SWEEP = {
  title: "Two seeds <of> the demo",
  question: "Does it go on?",
  preset: "repair",
  model: smallModel(),
  seeds: [1, 2],
  settings: {
    ...{ steps: 3, evalSteps: 3, evalRows: 3, selectionShare: 0, saveSteps: 1, promptsPerStep: 1, numGenerations: 2 },
    ...{ maxCompletionLength: 4, partnerMaxTokens: 4, loraR: 4 },
  },
  metrics: ["grounding_iou", "loop2_greedy"],
};

let scratch: string;
const out = (): string => join(scratch, "out");
const words = (): string[] => ["--config", join(scratch, "sweep.json"), "--out", out()];
const runsOf = (job: string): string => join(out(), "jobs", job, "runs");

/** Sends an interrupt as soon as the first job has a checkpoint. */
async function interrupted(): Promise<Done> {
  const program = [await bundledTool("sweep"), ...words()];
  const child = spawn(process.execPath, program, { cwd: root });
  let [text, err] = ["", ""];
  child.stdout.on("data", (piece: Buffer) => {
    text += piece.toString();
  });
  child.stderr.on("data", (piece: Buffer) => {
    err += piece.toString();
  });
  const watch = setInterval(() => {
    const log = join(out(), "jobs", "run-s1", "train.log");
    if (!existsSync(log) || !/checkpoint at step 1,/.test(readFileSync(log, "utf8"))) return;
    clearInterval(watch);
    child.kill("SIGINT");
  }, 100);
  const code = await new Promise<number | null>((done) => child.once("close", done));
  clearInterval(watch);
  return { code: code ?? -1, out: text, err };
}

describe("a sweep", () => {
  let first: Done;
  let second: Done;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "lab-sweep-"));
    await writeFile(join(scratch, "sweep.json"), JSON.stringify(SWEEP));
    first = await interrupted();
    // Continued by a command line from a file, as a job would be sent to another machine.
    const line = `echo "sent to {folder}" >> "${join(scratch, "sent")}" && "${process.execPath}" "${await bundledTool("train")}" {words}`;
    await writeFile(join(scratch, "commands"), `# one place\n${line}\n`);
    second = await tool("sweep", [...words(), "--commands", join(scratch, "commands")]);
  });

  afterAll(async () => rm(scratch, { recursive: true, force: true }));

  it("says that it was interrupted, and starts no further job", () => {
    expect(first.code, first.err).toBe(1);
    expect(first.err).toContain("run-s1 starts");
    expect(first.err).toContain("The sweep was interrupted");
    expect(first.err).not.toContain("run-s2");
  });

  it("continues with the job's own run", () => {
    expect(second.code, second.err).toBe(0);
    expect(second.err).toMatch(/run-s1 resumes repair-/);
    expect(second.err).toContain("run-s2 starts");
    expect(readdirSync(runsOf("run-s1"))).toHaveLength(1);
    const sent = readFileSync(join(scratch, "sent"), "utf8").trim().split("\n");
    expect(sent).toEqual(["run-s1", "run-s2"].map((job) => `sent to ${join(out(), "jobs", job)}`));
  });

  it("takes the evaluation of the start over from the first seed, which is what the second would compute", async () => {
    const own = join(scratch, "own");
    const settings = join(out(), "jobs", "run-s2", "settings.json");
    // Of this run only the evaluation of the start is compared.
    const length = ["--steps", "1", "--eval-steps", "1", "--eval-rows", "3"];
    const words = ["--preset", "repair", "--model", smallModel(), "--config", settings, ...length, "--out", own];
    const alone = await tool("train", words);
    expect(alone.code, alone.err).toBe(0);
    const startOf = async (folder: string) =>
      (await readEvaluations(nodeStore(folder), readdirSync(folder)[0] as string))[0];
    const [taken, computed] = [await startOf(runsOf("run-s2")), await startOf(own)];
    expect(taken).toEqual(await startOf(runsOf("run-s1")));
    expect(taken).toEqual(computed);
  });

  it("prints the means of the stored rows' differences", async () => {
    for (const [at, job] of ["run-s1", "run-s2"].entries()) {
      const id = readdirSync(runsOf(job))[0] as string;
      const all = await readEvaluations(nodeStore(runsOf(job)), id);
      const difference = all.at(-1)?.report.difference?.grounding_iou.mean as number;
      const shown = new RegExp(`${SWEEP.seeds[at]}: (?:\\*\\*)?([+−±][0-9.]+) \\(`).exec(second.out)?.[1] as string;
      expect(Number(shown.replace("−", "-").replace("±", ""))).toBeCloseTo(difference, 3);
    }
    expect(readFileSync(join(out(), "table.md"), "utf8")).toBe(second.out);
  });

  it("writes a report with table, curves and pictures that needs nothing outside it", () => {
    const html = readFileSync(join(out(), "report.html"), "utf8");
    expect(html).toContain("Two seeds &lt;of&gt; the demo");
    expect(html.match(/<svg /g)).toHaveLength(1);
    const pictures = [...html.matchAll(/src="data:image\/png;base64,([^"]+)"/g)].map(([, data]) =>
      Buffer.from(data as string, "base64")
        .subarray(1, 4)
        .toString(),
    );
    // Three times three rows, and the one group of the last step.
    expect(pictures).toEqual(new Array(10).fill("PNG"));
    expect(html).not.toMatch(/(?:src|href)="(?!data:)/);
  });

  it("trains nothing again, and refuses the folder to other settings", async () => {
    const again = await tool("sweep", words());
    expect([again.code, again.out]).toEqual([0, second.out]);
    expect(again.err).not.toMatch(/starts|resumes/);
    await writeFile(
      join(scratch, "sweep.json"),
      JSON.stringify({ ...SWEEP, settings: { ...SWEEP.settings, beta: 0.25 } }),
    );
    const other = await tool("sweep", words());
    expect(other.code).toBe(2);
    expect(other.err).toContain("has other values of beta than this sweep");
  });
});
