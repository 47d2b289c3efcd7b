/** Judges and custom rewards from a file, a link or a stored run are shown and need consent; a trap server listens. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type JudgeServer, judgeServer } from "../support/judge-server.ts";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";

const KEY = "zk-0123456789abcdef";
const CODE = "function reward(rollout) {\n  return 1;\n}";
let lab: OpenPage;
let trap: JudgeServer;
let good: JudgeServer;
let events: RunEvent[];

beforeAll(async () => {
  trap = await judgeServer();
  good = await judgeServer();
  ({ lab, events } = await openFollowed({
    screen: "setup",
    ...CHEAP_RUN,
    steps: "1",
    loops: "2",
    judgeRetries: "0",
    saveSteps: "1",
  }));
});
afterAll(async () => {
  await lab.close();
  await trap.close();
  await good.close();
});

const origin = (server: JudgeServer): string => new URL(server.url).origin;

async function importSettings(settings: Readonly<Record<string, unknown>>): Promise<void> {
  await show(lab.page, { screen: "setup" });
  const buffer = Buffer.from(JSON.stringify(settings));
  await lab.page.getByTestId("pick-config").setInputFiles({ name: "theirs.json", mimeType: "text/plain", buffer });
  await lab.page.getByTestId("consent").waitFor();
}

async function answer(with_: "allow" | "without" | "cancel"): Promise<void> {
  await lab.page.getByTestId(`consent-${with_}`).click();
  await expect.poll(() => lab.page.getByTestId("consent").count()).toBe(0);
}

/** Saves a screenshot for a person to look at. */
async function picture(name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (folder === undefined) return;
  mkdirSync(join(root, folder), { recursive: true });
  await lab.page.screenshot({ path: join(root, folder, `${name}.png`) });
}

const url = async (): Promise<string> => {
  await show(lab.page, { screen: "rewards", panel: "judge" });
  return lab.page.getByTestId("judge-url").inputValue();
};

describe("settings of a file", () => {
  it("name a judge that is shown with what it would get, and get nothing before the user agrees", async () => {
    const { page } = lab;
    await show(page, { screen: "rewards", panel: "judge" });
    await page.getByTestId("judge-url").fill(good.url);
    await page.getByTestId("judge-key").fill(KEY);
    await page.getByTestId("judge-key-use").click();
    await importSettings({ judge: "questions", judgeUrl: trap.url, seed: 41 });
    await expect.poll(() => page.getByTestId("consent-origin").textContent()).toBe(origin(trap));
    await expect
      .poll(() => page.getByTestId("consent").textContent())
      .toMatch(/theirs\.json names a judge.*captions.*would be sent/);
    await expect
      .poll(() => page.getByTestId("consent-key").textContent())
      .toContain(`your key for ${origin(good)} stays`);
    await picture("consent-judge");
    await answer("cancel");
    expect(page.url()).not.toContain("seed=41");
    expect(await url()).toBe(good.url);
    await importSettings({ judge: "questions", judgeUrl: trap.url, seed: 41 });
    await answer("without");
    expect(page.url()).toContain("seed=41");
    expect(await url()).toBe(good.url);
    await expect.poll(() => page.getByTestId("judge-kind").inputValue()).toBe("off");
    expect(trap.calls).toEqual([]);
  });

  it("bring a custom reward that is shown, and its code runs only when the user agrees", async () => {
    const { page } = lab;
    await importSettings({ userReward: CODE, loop1User: 1 });
    await expect.poll(() => page.getByTestId("consent-code").textContent()).toBe(CODE);
    await picture("consent-reward");
    await answer("without");
    await show(page, { screen: "rewards" });
    await expect.poll(() => page.getByTestId("reward-source").inputValue()).toBe("");
    await importSettings({ userReward: CODE, loop1User: 1 });
    await answer("allow");
    await show(page, { screen: "rewards" });
    await expect.poll(() => page.getByTestId("reward-source").inputValue()).toBe(CODE);
    await page.getByTestId("reward-source").fill("");
  });

  it("send captions to a judge that was allowed, and never the key of another", async () => {
    const { page } = lab;
    await importSettings({ judge: "questions", judgeUrl: trap.url, ...CHEAP_RUN, steps: 1, loops: "2" });
    await answer("allow");
    expect(await url()).toBe(trap.url);
    await expect
      .poll(() => page.getByTestId("judge-key-state").textContent())
      .toContain(`is for ${origin(good)} and is not sent`);
    await picture("key-of-another");
    await page.getByTestId("judge-test").click();
    await page.getByTestId("judge-result").waitFor();
    expect(trap.calls.length).toBeGreaterThan(0);
    expect(trap.calls.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([]);
    await page.getByTestId("judge-url").fill(good.url);
    await page.getByTestId("judge-test").click();
    await expect.poll(() => good.calls.map(({ headers }) => headers.authorization)).toContain(`Bearer ${KEY}`);
  });
});

describe("a stored run", () => {
  it("that names a judge without consent asks before it continues", async () => {
    const { page } = lab;
    const from = events.length;
    await page.getByTestId("strip-start").click();
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    // As if the run came from another machine: its run.json names the trap, which this page does not know.
    await page.evaluate(`(async () => {
      const runs = await navigator.storage.getDirectory();
      const edit = async (folder) => {
        for await (const [name, handle] of folder.entries()) {
          if (handle.kind === "directory") await edit(handle);
          else if (name.includes("run.json")) {
            const text = await (await handle.getFile()).text();
            const to = await handle.createWritable();
            await to.write(text.replace(${JSON.stringify(JSON.stringify(good.url))}, ${JSON.stringify(JSON.stringify(trap.url))}));
            await to.close();
          }
        }
      };
      await edit(runs);
      const kept = JSON.parse(localStorage.getItem("sa2va-lab/1"));
      localStorage.setItem("sa2va-lab/1", JSON.stringify({ ...kept, allowed: { judges: [], rewards: [] } }));
    })()`);
    trap.forget();
    await page.reload();
    await untilReady(page);
    await show(page, { screen: "runs" });
    await page.getByRole("button", { name: "Extend…" }).first().click();
    await page.getByRole("button", { name: "Extend", exact: true }).click();
    await page.getByTestId("consent").waitFor();
    await expect.poll(() => page.getByTestId("consent-origin").textContent()).toBe(origin(trap));
    await picture("consent-run");
    // Nothing starts before the answer, and the strip says what it waits for.
    const state = page.getByTestId("run-state");
    await expect.poll(() => state.textContent()).toBe("waiting for your answer");
    await answer("cancel");
    await expect.poll(() => state.textContent()).toBe("no run");
    expect(trap.calls).toEqual([]);
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("aria-disabled")).toBeNull();
  });
});

describe("a link", () => {
  it("switches a judge on only when the user agrees", async () => {
    const { page } = lab;
    const open = async (): Promise<void> => {
      await page.goto("about:blank");
      await page.goto(`${lab.url}#screen=rewards&panel=judge&judge=questions`);
      await page.getByTestId("consent").waitFor();
    };
    await open();
    await expect.poll(() => page.getByTestId("consent").textContent()).toMatch(/^The link names a judge/);
    await expect.poll(() => page.getByTestId("consent-origin").textContent()).toBe(origin(good));
    await picture("consent-link");
    await answer("cancel");
    await expect.poll(() => page.getByTestId("judge-kind").inputValue()).toBe("off");
    await page.reload();
    await untilReady(page);
    await expect.poll(() => page.getByTestId("consent").count()).toBe(0);
    await expect.poll(() => page.getByTestId("judge-kind").inputValue()).toBe("off");
    await open();
    await answer("allow");
    await expect.poll(() => page.getByTestId("judge-kind").inputValue()).toBe("questions");
    // The page's own address is not a link: no consent is asked again.
    await page.reload();
    await untilReady(page);
    await expect.poll(() => page.getByTestId("consent").count()).toBe(0);
    await expect.poll(() => page.getByTestId("judge-kind").inputValue()).toBe("questions");
  });
});

describe("a run with a custom reward", () => {
  it("is told from the run before it by the name of the code, which the list does not show", async () => {
    const { page } = lab;
    const code = `// length of the caption\n${CODE}`;
    await importSettings({ userReward: code, loop1User: 1, judge: "off", ...CHEAP_RUN, steps: 1, loops: "1" });
    await answer("allow");
    const from = events.length;
    await page.getByTestId("strip-start").click();
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await show(page, { screen: "runs" });
    const changed = page.locator('td[data-label="Changed"] span[title]').first();
    await expect.poll(() => changed.getAttribute("title")).toMatch(/^Custom reward: .* → length of the caption$/m);
    for (const text of [await changed.getAttribute("title"), await page.locator("main").innerText()]) {
      expect(text).not.toMatch(/[0-9a-f]{64}|return 1/);
    }
  });
});
