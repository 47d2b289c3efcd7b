/** A judge or custom reward of a file or a resumed run is used only when the command line agrees; a trap server listens. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { parseArguments } from "../../../scripts/lib/arguments.ts";
import { CONSENT_OPTIONS, commandLineConsent } from "../../../scripts/lib/node/node-consent.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import type { UserRewardPlan } from "../../../src/engine/rewards/composer/plan.ts";
import { consentedRewards, originOf } from "../../../src/engine/rewards/consent.ts";
import { memoryCache } from "../../../src/engine/rewards/judge/cache.ts";
import { timerClock } from "../../../src/engine/rewards/judge/providers/caller.ts";
import { openJudge } from "../../../src/engine/rewards/judge/setup.ts";
import { rewardHash } from "../../../src/engine/rewards/user/hash.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { type JudgeServer, judgeServer } from "../../support/judge-server.ts";
import { tool } from "../../support/tools.ts";
import { manifest } from "../runs/sample-run.ts";

const KEY = "zk-0123456789abcdef";
const CODE = "function reward(rollout) {\n  return 1;\n}";
const scratch = mkdtempSync(join(tmpdir(), "doors-"));
let trap: JudgeServer;
let good: JudgeServer;

beforeAll(async () => {
  trap = await judgeServer();
  good = await judgeServer();
});
afterEach(() => {
  trap.forget();
  good.forget();
});
afterAll(async () => {
  rmSync(scratch, { recursive: true, force: true });
  await trap.close();
  await good.close();
});

function file(name: string, content: unknown): string {
  const path = join(scratch, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

/** A run folder with these settings; what comes after its settings is never reached. */
async function storedRun(id: string, config: Partial<LabConfig>): Promise<string> {
  await createRun(nodeStore(scratch), manifest(id, { config: { ...defaultConfig(), ...config } }));
  return id;
}

const NOWHERE = ["--shards", "no-such-folder", "--out", scratch];
const ENVIRONMENT = { JUDGE_API_KEY: KEY };

async function consentOf(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const options = { judge: { takes: 1 }, set: { takes: 1 }, ...CONSENT_OPTIONS } as const;
  return commandLineConsent(parseArguments(words, options), environment);
}

describe("npm run train", () => {
  it.each([
    ["json", (url: string) => JSON.stringify({ judge: "questions", judgeUrl: url })],
    ["yaml", (url: string) => `judge: questions\njudgeUrl: ${url}\n`],
  ])("asks before a judge of a %s file gets anything", async (kind, text) => {
    const settings = file(`settings.${kind}`, text(trap.url));
    const { code, err } = await tool("train", [...NOWHERE, "--config", settings], ENVIRONMENT);
    const origin = originOf(trap.url);
    expect(err).toBe(
      `${settings} names a judge at ${origin}, which would get the captions; nothing was sent, allow it with --allow-judge ${origin}\n`,
    );
    expect(code).toBe(2);
    expect(trap.calls).toEqual([]);
    const allowed = await tool("train", [...NOWHERE, "--config", settings, "--allow-judge", `${origin}`], ENVIRONMENT);
    expect(allowed.err).toContain("no-such-folder");
  });

  it("asks before a judge of a resumed run gets anything, whatever the key was for", async () => {
    const run = await storedRun("foreign-judge", { judge: "questions", judgeUrl: trap.url });
    for (const words of [[], ["--allow-judge", good.url]]) {
      const { code, err } = await tool("train", [...NOWHERE, "--resume", run, ...words], ENVIRONMENT);
      expect([code, err]).toEqual([2, expect.stringMatching(/^Run "Brave otter" names a judge at .* --allow-judge /)]);
    }
    expect(trap.calls).toEqual([]);
  });

  it("shows a custom reward of a file or a resumed run, and asks before it runs", async () => {
    const custom = { userReward: CODE, loop1User: 1 };
    const run = await storedRun("foreign-reward", { ...custom, userRewardHash: await rewardHash(CODE) });
    for (const words of [
      ["--config", file("reward.json", custom)],
      ["--resume", run],
    ]) {
      const { code, err } = await tool("train", [...NOWHERE, ...words]);
      expect(err).toMatch(
        /^ {2}function reward\(rollout\) \{\n {4}return 1;\n {2}\}\n.* allow it with --allow-custom-reward\n$/,
      );
      expect(code).toBe(2);
      const allowed = await tool("train", [...NOWHERE, ...words, "--allow-custom-reward"]);
      expect(allowed.err).toContain("no-such-folder");
    }
  });

  it("asks before a model hub of a file or a resumed run is contacted", async () => {
    const hub = trap.url;
    const run = await storedRun("foreign-hub", { hub });
    const settings = ["--config", file("hub.json", { hub })];
    for (const words of [settings, ["--resume", run]]) {
      const { code, err } = await tool("train", [...NOWHERE, ...words, "--checkpoint", "owner/name"]);
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/ names the model hub http.*; nothing was fetched, allow it with --hub http.*\n$/),
      ]);
    }
    const named = await tool("train", [...NOWHERE, ...settings, "--checkpoint", "owner/name", "--hub", hub]);
    expect(named.err).toContain("no-such-folder");
    const unused = await tool("train", [...NOWHERE, ...settings]);
    expect(unused.err).toContain("no-such-folder");
    expect(trap.calls).toEqual([]);
  });

  it("keeps the settings of a run that continues, and says so when others are named", async () => {
    const run = await storedRun("own-settings", {});
    const other = await tool("train", [...NOWHERE, "--resume", run, "--set", "seed=4"]);
    expect(other.err).toMatch(
      /^--resume keeps the run's settings: seed is \d+ there, not 4; leave it out or start a new run\n$/,
    );
    expect(other.code).toBe(2);
    const same = await tool("train", [...NOWHERE, "--resume", run, "--set", `seed=${defaultConfig().seed}`]);
    expect(same.err).toContain("no-such-folder");
    const preset = await tool("train", [...NOWHERE, "--resume", run, "--preset", "demo"]);
    expect(preset.err).toMatch(/^--resume continues with the run's settings; leave --preset out/);
  });
});

describe("npm run score", () => {
  const captions = file("captions.txt", "a red car\n");
  const words = ["--pred", captions, "--ref", captions];

  it("runs no custom reward of a file unless told to", async () => {
    const settings = ["--config", file("score.json", { userReward: CODE, loop2User: 1 })];
    const refused = await tool("score", [...words, ...settings]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("--allow-custom-reward")]);
    const allowed = await tool("score", [...words, ...settings, "--allow-custom-reward", "--json"]);
    expect(allowed.out).toContain('"user":1');
  });

  it("gives the key to the judge it was given for and to no other", async () => {
    const judged = (...more: string[]) => tool("score", [...words, "--judge", good.url, ...more], ENVIRONMENT);
    expect((await judged()).code).toBe(0);
    expect(good.calls.map(({ headers }) => headers.authorization)).toContain(`Bearer ${KEY}`);
    good.forget();
    const elsewhere = { ...ENVIRONMENT, JUDGE_API_KEY_ORIGIN: trap.url };
    await tool("score", [...words, "--judge", good.url], elsewhere);
    expect(good.calls.length).toBeGreaterThan(0);
    expect(good.calls.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
    expect(trap.calls).toEqual([]);
  });
});

describe("a command line", () => {
  it("agrees to the origins it names, and binds the key to them", async () => {
    const consent = await consentOf(
      ["--judge", "https://a.example/v1", "--allow-judge", "https://b.example"],
      ENVIRONMENT,
    );
    expect(["https://a.example", "https://b.example", "https://c.example"].map(consent.judge)).toEqual([
      true,
      true,
      false,
    ]);
    expect(["https://a.example", "https://b.example", "http://a.example"].map(consent.key)).toEqual([KEY, "", ""]);
    const bound = { ...ENVIRONMENT, JUDGE_API_KEY_ORIGIN: "https://b.example" };
    const other = await consentOf(["--judge", "https://a.example", "--allow-judge", "https://b.example"], bound);
    expect(["https://a.example", "https://b.example"].map(other.key)).toEqual(["", KEY]);
    await expect(consentOf(["--allow-judge", "nonsense"])).rejects.toThrow(/^--allow-judge takes a judge's address/);
  });

  it("agrees to the custom reward it holds, and to no other", async () => {
    const consent = await consentOf(["--set", `userReward=${CODE}`]);
    expect([consent.reward(await rewardHash(CODE)), consent.reward(await rewardHash(`${CODE} `))]).toEqual([
      true,
      false,
    ]);
    const ran: string[] = [];
    const inner = {
      check: async ({ code }: UserRewardPlan) => code,
      run: async ({ code }: UserRewardPlan) => [ran.push(code)],
    };
    const user = consentedRewards(inner, consent);
    const limits = { milliseconds: 10, mebibytes: 1 };
    await user.run({ code: CODE, ...limits }, [], []);
    await expect(user.run({ code: `${CODE} `, ...limits }, [], [])).rejects.toThrow("not confirmed yet");
    expect(ran).toEqual([CODE]);
    // Reading it runs its first lines.
    const checked = [CODE, `${CODE} `].map((code) => user.check({ code, ...limits }));
    expect(await Promise.all(checked)).toEqual([CODE, null]);
  });
});

describe("a judge", () => {
  it("is opened only at a place that was agreed to, and is told only the key of its origin", async () => {
    const seen: string[] = [];
    const refuse = (place: string): boolean => {
      seen.push(place);
      return false;
    };
    const host = {
      key: (origin: string) => (origin === originOf(good.url) ? KEY : ""),
      allows: refuse,
      fetch,
      clock: timerClock(() => Date.now()),
      jitter: () => 0.5,
      cache: async () => memoryCache(),
    };
    const config = { ...defaultConfig(), judge: "questions" as const, judgeModel: "reader-1", judgeUrl: trap.url };
    await expect(openJudge(config, host)).rejects.toThrow(/which is not confirmed yet; nothing was sent$/);
    expect(seen).toEqual([originOf(trap.url)]);
    expect(trap.calls).toEqual([]);
    const open = { ...host, allows: () => true };
    const keys = async (server: JudgeServer): Promise<readonly unknown[]> => {
      const opened = await openJudge({ ...config, judgeUrl: server.url }, open);
      await opened?.judge.terms([{ reference: "a red car", hypothesis: "a car" }]);
      return [...new Set(server.calls.map(({ headers }) => headers.authorization))];
    };
    expect(await keys(trap)).toEqual([undefined]);
    expect(await keys(good)).toEqual([`Bearer ${KEY}`]);
  });
});
