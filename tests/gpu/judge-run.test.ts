/** Whole runs of `npm run train` with a judge: its key is stored nowhere, and a second run makes no calls. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import type { EvalReport } from "../../src/engine/runs/evaluations/evaluations.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { type JudgeServer, judgeServer } from "../support/judge-server.ts";
import { CHEAP, POCKET } from "../support/session.ts";
import { smallModel } from "../support/small-model.ts";
import { type Done, tool } from "../support/tools.ts";

const KEY = `zk-recognisable-${"0123456789abcdef"}`;
let server: JudgeServer;
const folder = mkdtempSync(join(tmpdir(), "judge-run-"));
beforeAll(async () => {
  server = await judgeServer();
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

/** Runs the tool with the key in its environment. */
function train(out: string, settings: Readonly<Record<string, unknown>>, model = smallModel()): Promise<Done> {
  const config = join(folder, "config.json");
  writeFileSync(config, JSON.stringify({ ...CHEAP, evalSteps: 0, loops: "2", judgeTimeout: 20, ...settings }));
  const words = ["--model", model, "--out", join(folder, out), "--steps", "1", "--json", "--config", config];
  return tool("train", [...words, "--judge", server.url], { JUDGE_API_KEY: KEY });
}

const steps = ({ out }: Done): Record<string, number>[] =>
  out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, number>);

/** Every file below a folder, hidden ones too, as bytes read one to one. */
function contents(path: string): { readonly name: string; readonly text: string }[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const name = join(entry.parentPath, entry.name);
      return { name, text: readFileSync(name, "latin1") };
    });
}

const HEX = Buffer.from(KEY).toString("hex");
const BASE64 = Buffer.from(KEY).toString("base64").slice(0, 24);
const holdsKey = (text: string): boolean => [KEY, HEX, BASE64].some((form) => text.includes(form));

describe("a run with a judge", () => {
  /** Groups of equal rewards are dropped after they were judged. */
  const SEVERAL = { resampleRounds: 2 };
  let first: Done;
  it("composes 0.25 METEOR + 0.75 judge", async () => {
    first = await train("good", SEVERAL);
    expect(first.err).not.toMatch(/no verdict/);
    expect(first.code).toBe(0);
    const lines = steps(first);
    expect(lines).toHaveLength(1);
    expect(lines.every((line) => line["judge/failures"] === 0 && (line["judge/verdicts"] as number) > 0)).toBe(true);
    expect(lines.reduce((sum, line) => sum + (line["judge/calls"] as number), 0)).toBe(server.calls.length);
    const id = contents(join(folder, "good"))
      .find(({ name }) => name.endsWith("run.json"))
      ?.name.split("/")
      .at(-2);
    const [group] = await (await openRun(nodeStore(join(folder, "good")), id as string)).readGroups(1);
    for (const rollout of group?.rollouts ?? []) {
      const value = (name: string): number => rollout.terms.find((term) => term.name === name)?.value as number;
      expect(rollout.reward).toBeCloseTo(0.25 * value("meteor") + 0.75 * value("judge"), 12);
      const judge = rollout.terms.find((term) => term.name === "judge")?.judge;
      expect(judge).toMatchObject({ instrument: "questions", model: "reader-1", failure: null });
      expect(judge?.version).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  it("sent its key in every call's header, and left it in no file, address, message or line of output", () => {
    expect(server.calls.length).toBeGreaterThan(0);
    for (const call of server.calls) {
      expect(call.headers.authorization).toBe(`Bearer ${KEY}`);
      expect(holdsKey(call.path + call.text)).toBe(false);
    }
    const files = contents(join(folder, "good"));
    expect(files.map(({ name }) => name.split("/").at(-1))).toEqual(
      expect.arrayContaining(["judge.json", "run.json", "metrics.jsonl", "step-000001.arrow", "replies.jsonl"]),
    );
    expect(files.filter(({ name, text }) => holdsKey(name) || holdsKey(text)).map(({ name }) => name)).toEqual([]);
    expect(holdsKey(first.out + first.err)).toBe(false);
  });

  it("asks nothing when it is done again", async () => {
    server.forget();
    const again = await train("good", SEVERAL);
    expect(again.code).toBe(0);
    expect(server.calls).toHaveLength(0);
    const rewards = (ended: Done): unknown[] =>
      steps(ended).map((line) => (line.loop2 as unknown as Record<string, number>).reward);
    expect(rewards(again)).toEqual(rewards(first));
    expect(steps(again).every((line) => line["judge/calls"] === 0)).toBe(true);
  });
});

describe("held-out rows of a run with a judge", () => {
  const EVALUATED = { evalSteps: 1, evalRows: 2, selectionShare: 0.5, judgeRetries: 0 };
  type Told = { readonly eval?: EvalReport & { readonly loop2_sampled: number } };
  const told = ({ out }: Done): NonNullable<Told["eval"]>[] =>
    out
      .trim()
      .split("\n")
      .flatMap((line) => (JSON.parse(line) as Told).eval ?? []);

  it("are judged, and the reward with its verdicts chooses the best checkpoint", async () => {
    server.forget();
    const ended = await train("held", EVALUATED, POCKET);
    expect(ended.err).not.toMatch(/no verdict/);
    const [start] = told(ended);
    expect(start?.reward).toMatchObject({
      judge: "asked",
      scores: { reward1_sampled: null, reward2_sampled: { n: 1 } },
    });
    expect(start?.reward?.scores.reward2_sampled?.mean).not.toBeCloseTo(start?.loop2_sampled as number, 6);
    expect(start?.selection).toEqual({ metric: "reward", n: 1, value: expect.any(Number) });
    expect(server.calls.length).toBeGreaterThan(0);
  });

  it("are not judged where the settings say so: their rewards are METEOR and named as without judge", async () => {
    server.forget();
    const ended = await train("unjudged", { ...EVALUATED, evalJudge: false, loop2Judge: 1, loop2Meteor: 1e-3 });
    const [start] = told(ended);
    expect(start?.reward?.judge).toBe("left-out");
    expect(start?.reward?.scores.reward2_sampled?.mean).toBeCloseTo(1.001 * (start?.loop2_sampled as number), 6);
  });

  it("have no reward once the budget is used up, and then choose nothing", async () => {
    const ended = await train("spent", { ...EVALUATED, judgeMaxCalls: 1, missingVerdict: "drop", judgePositives: 3 });
    expect(ended.code).toBe(0);
    for (const { reward, selection, n } of told(ended)) {
      expect([reward?.judge, reward?.scores.reward2_sampled, n]).toEqual(["asked", null, 1]);
      expect(selection).toEqual({ metric: "reward", n: 0, value: null });
    }
  });
});

describe("a run whose judge fails", () => {
  const FAIL = { judgeRetries: 0 };
  it("pauses when set to, naming the reason, and not its key though the server repeats it", async () => {
    server.script((_, { headers }) => ({
      status: 401,
      body: JSON.stringify({ error: { message: headers.authorization } }),
    }));
    const ended = await train("pause", { ...FAIL, missingVerdict: "pause" });
    expect(ended.code).not.toBe(0);
    expect(ended.err).toMatch(/no verdict.*refused the key \(status 401\): Bearer \[key\]/);
    expect(ended.out).toBe("");
    expect(holdsKey(ended.out + ended.err)).toBe(false);
    expect(contents(join(folder, "pause")).filter(({ text }) => holdsKey(text))).toEqual([]);
  });

  it("continues with METEOR when set to, and counts what is missing", async () => {
    server.script(() => ({ status: 500 }));
    const ended = await train("meteor", { ...FAIL, missingVerdict: "meteor" });
    expect(ended.code).toBe(0);
    const [line] = steps(ended) as unknown as [Record<string, number> & { loop2: Record<string, number> }];
    expect(line["judge/verdicts"]).toBe(0);
    expect(line["judge/failures"]).toBeGreaterThan(0);
    expect(line.loop2.reward_missing).toBe(0);
    expect(line.loop2["rewards/judge/mean"]).toBeUndefined();
    expect(ended.err).toMatch(/The judge gave no verdict for/);
  });

  it("leaves the group out when set to: no reward, no gradient, never 0", async () => {
    const ended = await train("group", { ...FAIL, missingVerdict: "group" });
    expect(ended.code).toBe(0);
    const [line] = steps(ended) as unknown as [Record<string, number> & { loop2: Record<string, number | string> }];
    expect(line.loop2.reward_missing).toBe(1);
    expect(line.loop2.reward).not.toBe(0);
    expect(line.loop2.policy_loss).toBe(0);
  });
});
