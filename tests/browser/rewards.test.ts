/** The Rewards screen: composing, trying out, custom rewards that misbehave, and the bench over pocket rows and photographs. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { REWARD_TERMS } from "../../src/engine/rewards/terms/registry.ts";
import { type OpenPage, openFollowed, problems, type RunEvent, show } from "../support/page.ts";

const PHOTOGRAPHS = join(root, "tests", "fixtures", "photographs", "data-00000-of-00001.arrow");

let lab: OpenPage;
let events: RunEvent[];
/** Requests of the browser to addresses outside the page's own. */
const foreign: string[] = [];
beforeAll(async () => {
  const lengths = { numGenerations: "2", maxCompletionLength: "4", partnerMaxTokens: "4" };
  const settings = { screen: "rewards", ...lengths, saveSteps: "0", evalSteps: "0" };
  ({ lab, events } = await openFollowed(settings, {}, async (page) => {
    page.context().on("request", (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (protocol.startsWith("http") && hostname !== "localhost") foreign.push(request.url());
    });
  }));
});
afterAll(() => lab.close());

const text = (id: string): Promise<string | null> => lab.page.getByTestId(id).textContent();

describe("the composer", () => {
  it("takes the rewards of the notes and shows the resulting formula", async () => {
    const { page } = lab;
    await page.getByTestId("reward-preset-judgeCaptions").click();
    await expect.poll(() => text("reward-formulas")).toMatch(/Loop 1r = IoU \+ METEOR.*no judge.*Loop 2r = METEOR$/);
    await page.getByTestId("reward-preset-standard").click();
    await expect.poll(() => text("reward-formulas")).toMatch(/Loop 1r = IoULoop 2r = METEOR/);
    // The table has the terms in use, for the loops that train.
    expect(await page.getByTestId("reward-matrix").locator("tbody tr").count()).toBe(3);
    expect(await page.getByTestId("reward-matrix").locator("thead th").count()).toBe(3);
    // All terms are one press away, each with its help.
    const rows = page.getByTestId("reward-matrix").locator("tbody tr");
    await page.getByTestId("all-terms").click();
    expect(await rows.count()).toBe(REWARD_TERMS.length);
    await rows.filter({ hasText: "Leak cost" }).getByText("Penalty if a leak word occurs.").waitFor();
    await page.getByTestId("weight-loop1LeakCost").fill("0.5");
    await expect.poll(() => text("reward-formulas")).toMatch(/IoU − 0\.50 · Leak cost/);
    await expect.poll(() => page.url()).toMatch(/loop1LeakCost=0\.5/);
    await page.getByTestId("weight-loop1LeakCost").fill("-3");
    await expect.poll(() => page.getByTestId("weight-loop1LeakCost").getAttribute("aria-invalid")).toBe("true");
    // A refused value has a message, also once the field has lost the focus.
    await page.getByTestId("weight-loop1LeakCost").blur();
    await expect
      .poll(() => page.getByTestId("reward-matrix").getByRole("alert").textContent())
      .toMatch(/; 0\.5 is kept$/);
    await expect.poll(() => page.getByTestId("weight-loop1LeakCost").inputValue()).toBe("0.5");
    await page.getByTestId("all-terms").click();
    expect(await rows.count()).toBe(4);
    // A weight whose first digit is 0 can be typed: the term stays meanwhile.
    for (const [weight, value] of [
      ["loop1LeakCost", "0"],
      ["loop1Iou", "0.5"],
    ] as const) {
      await page.getByTestId(`weight-${weight}`).focus();
      await page.keyboard.type(value);
      expect(await page.getByTestId(`weight-${weight}`).inputValue()).toBe(value);
    }
    expect(await rows.count()).toBe(4);
    await page.getByTestId("reward-preset-standard").click();
    await expect.poll(() => rows.count()).toBe(3);
  });
});

describe("a try-out", () => {
  it("follows the caption word by word and the painted mask", async () => {
    const { page } = lab;
    await expect.poll(() => text("try-loop1")).toMatch(/IoU 1\.00.*1\.000$/);
    const best = await text("try-loop2");
    await page.getByTestId("try-caption").fill("something else entirely");
    await expect.poll(() => text("try-loop2")).toMatch(/METEOR 0\.00.*0\.000$/);
    expect(best).not.toMatch(/0\.000$/);
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await expect.poll(() => text("try-loop1")).toMatch(/0\.000$/);
    await page.getByRole("button", { name: "Fill", exact: true }).click();
    await expect.poll(() => text("try-loop1")).not.toMatch(/0\.000$/);
    const full = await text("try-loop1");
    await page.getByText("Erase", { exact: true }).click();
    await page.getByTestId("mask-paper").scrollIntoViewIfNeeded();
    const paper = await page.getByTestId("mask-paper").boundingBox();
    if (paper === null) throw new Error("There is no paper to paint on");
    const middle = paper.y + paper.height / 2;
    await page.mouse.move(paper.x + 5, middle);
    await page.mouse.down();
    await page.mouse.move(paper.x + paper.width - 5, middle, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => text("try-loop1")).not.toBe(full);
  });
});

it("a row to try out is found by its number or id", async () => {
  const { page } = lab;
  const row = page.getByTestId("try-row");
  const idOf = (): Promise<string | null> => row.getAttribute("title");
  const first = await idOf();
  await row.fill("3");
  await row.press("Enter");
  await expect.poll(idOf).toMatch(/arrow#2$/);
  await row.fill("0");
  await row.press("Enter");
  await expect.poll(idOf).toBe("No row has this id, and the numbers are 1 to 320");
  await row.fill(first?.replace("Number or id: ", "") ?? "");
  await row.press("Enter");
  await expect.poll(idOf).toBe(first);
  expect(await row.inputValue()).toBe("1");
});

describe("a custom reward", () => {
  const OWN = "function reward(r: Rollout): number { return r.caption.length / 100 }";

  it("is kept with its hash and moves the score", async () => {
    const { page } = lab;
    await page.getByTestId("try-caption").fill("0123456789");
    await page.getByTestId("reward-source").fill(OWN);
    await expect.poll(() => text("reward-hash")).toMatch(/^Hash of the code [0-9a-f]{12}$/);
    // It has a value before it has a weight.
    await expect.poll(() => text("custom-result")).toMatch(/^0\.100 for row 1 /);
    await page.getByTestId("reward-source").fill("function reward() { return mine }");
    await expect.poll(() => text("custom-result")).toMatch(/^The custom reward threw ReferenceError/);
    expect(await text("custom-result")).not.toMatch(/of this step/);
    // The other terms do not depend on it.
    await expect.poll(() => text("try-loop1")).toMatch(/IoU/);
    await page.getByTestId("reward-source").fill(OWN);
    await expect.poll(() => text("custom-result")).toMatch(/^0\.100 /);
    await page.getByRole("button", { name: "Set weight 1 in loop 1" }).click();
    await expect.poll(() => text("try-loop1")).toMatch(/Custom reward 0\.10/);
    expect(page.url()).not.toContain("caption.length");
  });

  it("is the newest text, however late the hash of an older one comes", async () => {
    const { page } = lab;
    // The first hash comes with the third call.
    await page.evaluate(() => {
      const { subtle } = crypto;
      const hash = subtle.digest.bind(subtle);
      const waiting: (() => void)[] = [];
      let count = 0;
      subtle.digest = async (...input: Parameters<typeof hash>) => {
        const result = await hash(...input);
        if (++count === 1) await new Promise<void>((resolve) => waiting.push(resolve));
        if (count === 3) for (const go of waiting) setTimeout(go);
        return result;
      };
    });
    const source = page.getByTestId("reward-source");
    await source.fill("");
    await source.pressSequentially("abc");
    await expect.poll(() => text("reward-hash")).toBe("Hash of the code ba7816bf8f01");
    await expect.poll(() => source.inputValue()).toBe("abc");
    await page.evaluate("delete crypto.subtle.digest");
    await source.fill(OWN);
    await expect.poll(() => text("try-loop1")).toMatch(/Custom reward 0\.10/);
  });

  it.each([
    ["loops forever", "for (;;);", /ran longer than 300 ms/],
    ["allocates without end", "const a = []; for (;;) a.push({ a: [] });", /asked for more than 64 MiB|ran longer/],
    ["throws", "throw new Error('mine')", /threw Error: mine/],
    ["returns NaN", "return NaN", /returned NaN, not a finite number/],
    ["returns a text", "return '1'", /returned a string, not a number/],
    [
      "reaches for fetch",
      "fetch('https://example.org/a'); return 1",
      /reached for fetch; a reward has no network access/,
    ],
    ["reaches for a socket", "new WebSocket('wss://example.org'); return 1", /reached for WebSocket/],
    ["imports scripts", "importScripts('https://example.org/a.js'); return 1", /reached for importScripts/],
  ])("that %s is stopped and named, and the next one runs", async (_, body, message) => {
    const { page } = lab;
    await page.evaluate(`location.hash += "&userRewardMs=300"`);
    await page.getByTestId("reward-source").fill(`function reward() { ${body} }`);
    await expect.poll(() => text("custom-result")).toMatch(message);
    expect(await page.getByTestId("try-problem").count()).toBe(0);
    await page.getByTestId("reward-source").fill(OWN);
    await expect.poll(() => text("try-loop1")).toMatch(/Custom reward 0\.10/);
  });

  it("that cannot be read keeps a run from starting, and Setup leads to it", async () => {
    const { page } = lab;
    await page.getByTestId("reward-source").fill("function rewar(r){ while(1){} ");
    await expect.poll(() => text("custom-result")).toMatch(/^The custom reward cannot be read/);
    await expect
      .poll(() => page.getByTestId("strip-start").getAttribute("title"))
      .toMatch(/cannot be read: .*\(1:\d+\)$/);
    await show(page, { screen: "setup" });
    expect(await text("start-reason")).toMatch(/^The custom reward cannot be read/);
    await page.getByTestId("preflight").getByRole("link", { name: "Open Rewards" }).click();
    await page.getByTestId("reward-source").fill(OWN);
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("aria-disabled")).toBe(null);
    // Without a weight nothing reads it.
    await page.getByTestId("reward-preset-standard").click();
    await page.getByTestId("reward-source").fill("not code");
    await expect.poll(() => text("custom-result")).toMatch(/^The custom reward cannot be read/);
    expect(await page.getByTestId("strip-start").getAttribute("aria-disabled")).toBe(null);
    // Nor is it among the changes of the preset, which the count lists.
    await show(page, { screen: "setup" });
    const changes = page.getByTestId("preset-demo").locator("[title]");
    expect(await changes.textContent()).toBe("5 changed");
    const listed = (await changes.getAttribute("title"))?.split("\n") ?? [];
    expect([listed.length, listed.join()]).toEqual([5, expect.stringMatching(/Group size G: \d+ → 2/)]);
    expect(listed.join()).not.toMatch(/Custom reward/);
    await show(page, { screen: "rewards" });
    await page.getByTestId("try-caption").fill("0123456789");
    await page.getByTestId("reward-source").fill(OWN);
    const weigh = page.getByRole("button", { name: "Set weight 1 in loop 1" });
    await weigh.click();
    await expect.poll(() => text("try-loop1")).toMatch(/Custom reward 0\.10/);
    // Its weight goes with it.
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await expect.poll(() => text("reward-hash")).toBe("no function");
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("aria-disabled")).toBe(null);
    expect(await text("reward-formulas")).not.toMatch(/custom/i);
    await page.getByTestId("reward-source").fill(OWN);
    await weigh.click();
    await expect.poll(() => text("try-loop1")).toMatch(/Custom reward 0\.10/);
  });

  it("pauses a run that it cannot score, and the run can be stopped", async () => {
    const { page } = lab;
    await page.getByTestId("reward-source").fill("function reward() { return fetch('https://example.org/run') }");
    await expect.poll(() => text("custom-result")).toMatch(/reached for fetch/);
    await page.getByTestId("strip-start").click();
    await expect.poll(() => events.some((event) => event.state === "paused")).toBe(true);
    expect((await problems(page)).join()).toMatch(
      /The custom reward reached for fetch; a reward has no network access.*nothing of this step was kept\. The run keeps the code it started with: to correct it, stop the run, then start a new one or fork this one$/,
    );
    expect(events.some((event) => event.type === "step")).toBe(false);
    await page.getByTestId("stop").click();
    await expect.poll(() => events.some((event) => event.state === "finished")).toBe(true);
    // The error goes with the run that waited for it.
    await expect.poll(() => problems(page)).toEqual([]);
    await show(page, { screen: "rewards" });
    await page.getByTestId("reward-preset-standard").click();
    expect(foreign).toEqual([]);
  });
});

describe("the bench", () => {
  it("samples pocket rows and leads from each number to the rollouts behind it", async () => {
    const { page } = lab;
    await page.getByTestId("bench-rows").fill("2");
    await page.getByTestId("bench-start").click();
    await page.getByTestId("bench-progress").waitFor();
    await page.getByTestId("bench-progress").waitFor({ state: "detached" });
    await expect.poll(() => text("bench-source")).toMatch(/4 groups$/);
    await expect.poll(() => text("bench-facts")).toMatch(/Zero-advantage groups.*%.*Missing rewards0 of 4/);
    // Greedy captions are compared with the best of each group, greedy masks with the true ones.
    await expect
      .poll(() => text("bench-diagnosis"))
      .toMatch(/inside groups.*Greedy captions: IoU \d\.\d\d, reward .* Best sampled captions: reward \d\.\d\d\.$/);
    await page.getByRole("radio", { name: "Loop 2: caption → mask" }).click();
    await expect
      .poll(() => text("bench-diagnosis"))
      .toMatch(/Greedy masks: IoU 0\.\d\d, reward .* True masks: reward .* of 2 groups/);
    await page.getByRole("radio", { name: "Loop 1: mask → caption" }).click();
    const terms = page.getByTestId("bench-terms");
    // The reward and the terms that need no judge, no custom reward and no clip.
    const measured = REWARD_TERMS.filter((term) => "measure" in term && !["j", "f"].includes(term.name));
    await expect.poll(() => terms.locator("tbody tr").count()).toBe(1 + measured.length);
    await terms.locator("tbody tr").first().getByRole("button", { disabled: false }).first().click();
    await expect.poll(() => text("bench-selection")).toMatch(/Reward from .* of 2 groups/);
    await page.locator("[data-testid=bench-groups] button").first().click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await expect.poll(() => text("try-loop1")).toMatch(/IoU/);
  });

  it("scores again when a weight changes", async () => {
    const { page } = lab;
    const before = await text("bench-facts");
    await page.getByTestId("all-terms").click();
    await page.getByTestId("weight-loop1Centre").fill("2");
    await expect.poll(() => text("bench-facts")).not.toBe(before);
    await page.getByTestId("reward-preset-standard").click();
    await expect.poll(() => text("bench-facts")).toBe(before);
    // Also if it has changed while another screen was shown.
    await show(page, { screen: "setup", loop1Centre: "2" });
    await show(page, { screen: "rewards" });
    await expect.poll(() => text("bench-facts")).not.toBe(before);
    await page.getByTestId("reward-preset-standard").click();
    await expect.poll(() => text("bench-facts")).toBe(before);
  });

  it("stops a scoring and keeps what was there", async () => {
    const { page } = lab;
    const source = await text("bench-source");
    const line = JSON.stringify({ row: "a", loop: 2, caption: "a red car", reference: "a blue bus" });
    const lines = Array.from({ length: 20_000 }, (_, at) => line.replace('"a"', `"${at >> 1}"`));
    const buffer = Buffer.from(lines.join("\n"));
    await page.getByTestId("bench-file").setInputFiles({ name: "large.jsonl", mimeType: "text/plain", buffer });
    await expect.poll(() => text("bench-progress")).toMatch(/^Scoring [1-9]\d* of 10000 groups/);
    await page.getByTestId("bench-stop").click();
    await expect.poll(() => text("bench-problem")).toMatch(/^Scoring was stopped/);
    await expect.poll(() => page.getByTestId("bench-progress").count()).toBe(0);
    await expect.poll(() => text("bench-source")).toBe(source);
  });

  it("takes a file of rollouts, and refuses a wrong one without losing what is there", async () => {
    const { page } = lab;
    const lines = [
      { row: "a", caption: "a red car", reference: "a red car" },
      { row: "a", caption: "a blue bus", reference: "a red car" },
      { row: "b", caption: "a red car", reference: "a red car" },
      { row: "b", caption: "a red car", reference: "a red car" },
    ];
    await page.getByTestId("reward-preset-noJudge").click();
    await page.getByTestId("weight-loop1Meteor").fill("1");
    await page.getByTestId("weight-loop1Iou").fill("0");
    const buffer = Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n"));
    await page.getByTestId("bench-file").setInputFiles({ name: "other.jsonl", mimeType: "text/plain", buffer });
    await expect.poll(() => text("bench-source")).toBe("other.jsonl · 2 groups");
    // "a red car" has three words in one run: 1 - 0.5 / 27.
    await expect.poll(() => text("bench-facts")).toMatch(/Zero-advantage groups50 %Missing rewards0 of 4/);
    await expect.poll(() => page.getByTestId("bench-terms").locator("tbody tr").first().textContent()).toMatch(/0\.98/);
    await page.getByTestId("bench-facts").getByRole("button", { name: "50 %" }).click();
    await expect.poll(() => text("bench-selection")).toMatch(/ 1 of 2 groups/);
    await page
      .getByTestId("bench-file")
      .setInputFiles({ name: "no.jsonl", mimeType: "text/plain", buffer: Buffer.from("{") });
    await expect.poll(() => text("bench-problem")).toMatch(/^no\.jsonl, line 1: it is not valid JSON/);
    await expect.poll(() => text("bench-source")).toBe("other.jsonl · 2 groups");
    await expect.poll(() => text("bench-selection")).toMatch(/ 1 of 2 groups/);
    await page.getByTestId("reward-preset-standard").click();
  });

  it("takes a mask of another size than the row's into the try-out, where painting starts again", async () => {
    const { page } = lab;
    const buffer = Buffer.from(
      JSON.stringify({
        row: "data-00001-of-00002.arrow#143",
        caption: "a red car",
        predicted: { size: [2, 3], counts: [0, 6] },
      }),
    );
    await page.getByTestId("bench-file").setInputFiles({ name: "small.jsonl", mimeType: "text/plain", buffer });
    await expect.poll(() => text("bench-source")).toMatch(/^small\.jsonl/);
    // The selection was one of the file before.
    expect(await page.getByTestId("bench-selection").count()).toBe(0);
    await page.getByTestId("bench-groups").getByRole("button").first().click();
    await page.getByRole("button", { name: "Try it out" }).click();
    await expect.poll(() => text("try-problem")).toMatch(/cannot be compared/);
    await page.getByRole("button", { name: "Grow", exact: true }).click();
    await expect.poll(() => text("try-loop1")).toMatch(/IoU 0\.00/);
    await page.getByRole("button", { name: "Fill", exact: true }).click();
    await expect.poll(() => text("try-loop1")).not.toMatch(/IoU 0\.00/);
    expect(lab.consoleErrors).toEqual([]);
  });

  it("samples real photographs", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByTestId("pick-shard-files").setInputFiles([PHOTOGRAPHS]);
    await expect.poll(() => text("data-counts")).toMatch(/^3 rows/);
    await show(page, { screen: "rewards" });
    await page.getByRole("radio", { name: "Loop 1", exact: true }).click();
    await page.getByTestId("bench-rows").fill("1");
    await page.getByTestId("bench-start").click();
    await expect.poll(() => text("bench-source")).toMatch(/1 group$/);
    await page.getByTestId("bench-progress").waitFor({ state: "detached" });
    await expect.poll(() => text("bench-facts")).toMatch(/Missing rewards0 of 2/);
    expect(lab.consoleErrors).toEqual([]);
  });
});
