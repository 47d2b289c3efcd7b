/** Searching the rollouts of the recorded run: limits outside 0 to 1, and steps that cannot be read. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { groupsFromArrow } from "../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { violations } from "../support/axe.ts";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";
import { arePluggedIn, testWith } from "../support/plugins.ts";

const RUN = join(root, "public/pocket/recorded");
const [first] = JSON.parse(readFileSync(join(RUN, "files.json"), "utf8")) as readonly { readonly path: string }[];
const folder = join(RUN, first?.path.split("/")[0] ?? "", "rollouts");
const files = readdirSync(folder);
const read = (name: string) => groupsFromArrow(new Uint8Array(readFileSync(join(folder, name))), name);
const groups = (await Promise.all(files.map(read))).flat();
/** The page's text about the groups of these files with a reward up to a limit. */
function matching(limit: number, left: readonly string[] = []): string {
  const steps = left.map((name) => Number(/\d+/.exec(name)?.[0]));
  const found = groups.filter(
    ({ step, rollouts }) => !steps.includes(step) && rollouts.some(({ reward }) => reward !== null && reward <= limit),
  );
  return `${found.length} groups in ${new Set(found.map(({ step }) => step)).size} steps match`;
}

let lab: OpenPage;
/** Files that are truncated while they are read. */
const broken: string[] = [];
beforeAll(async () => {
  // The gradient of a step with stored rollouts is a spike; files.json states the size, so the text keeps its length.
  const spiked = readFileSync(join(folder, "..", "metrics.jsonl"), "utf8")
    .split("\n")
    .map((line) => (line.includes('"step":20,') ? line.replace('"grad_norm":0.', '"grad_norm":79') : line))
    .join("\n");
  lab = await openPage({ screen: "train", tab: "rollouts" }, { bypassCSP: true }, async (page) => {
    await page.context().route(/metrics\.jsonl/, (route) => route.fulfill({ body: spiked }));
  });
  await lab.context.route(/rollouts\/step-\d+\.arrow/, (route) => {
    const name = route.request().url().split("/").pop() ?? "";
    return broken.includes(name) ? route.fulfill({ status: 404, body: "" }) : route.continue();
  });
});
afterAll(() => lab.close());

describe("loop 2 of a policy with exploration noise", () => {
  it("is drawn without noise, the sampled mask as a named outline, above the fold", async () => {
    const { page } = lab;
    const noisy = groups.find(
      ({ loop, rollouts }) =>
        loop === 2 && rollouts.every(({ greedyMask, predictedMask }) => greedyMask?.counts !== predictedMask?.counts),
    );
    expect(noisy).toBeDefined();
    const { step, group } = noisy as NonNullable<typeof noisy>;
    await page.setViewportSize({ width: 1440, height: 900 });
    await show(page, { screen: "train", tab: "rollouts", step: String(step), group: `2-${group}` });
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    const inspector = page.getByTestId("inspector");
    const figure = inspector.getByRole("img", { name: /mask without exploration noise covers/ }).first();
    await figure.waitFor();
    await expect
      .poll(() => page.getByTestId("noise-note").textContent())
      .toBe("Dashed: sampled mask (with exploration noise); rewards belong to it");
    const layer = inspector.getByRole("button", { name: /^\d Sampled$/ });
    await expect.poll(() => layer.getAttribute("aria-pressed")).toBe("true");
    const drawn = (): Promise<string> => figure.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    const before = await drawn();
    await layer.click();
    await expect.poll(async () => (await drawn()) === before).toBe(false);
    await layer.click();
    // Picture, caption and reward need no scrolling.
    const phases = arePluggedIn("phases") ? ["partner", "reward"] : [];
    for (const part of [figure, ...phases.map((phase) => inspector.locator(`[data-phase=${phase}]`))]) {
      const box = await part.boundingBox();
      expect((box?.y ?? Number.NaN) + (box?.height ?? Number.NaN)).toBeLessThanOrEqual(900);
    }
  });

  testWith("playback")("is drawn so on Home too, with the outline named", async () => {
    const { page } = lab;
    await show(page, { screen: "home" });
    const drawn = page
      .getByTestId("home-loop-2")
      .locator("li", { has: page.getByRole("img", { name: /mask without/ }) });
    await drawn.locator("[data-noisy=true]", { hasText: "Dashed: sampled mask" }).waitFor();
    await show(page, { screen: "train", tab: "rollouts" });
  });
});

describe("a gradient far above its limit", () => {
  it("is remarked beside its curve", async () => {
    const { page } = lab;
    await show(page, { screen: "train", step: "20" });
    const chart = page.getByTestId("chart-gradient");
    await chart.scrollIntoViewIfNeeded();
    await expect.poll(() => chart.locator("ul").textContent()).toMatch(/norm[\d.e,]+ ?\d+ × clip/);
    await show(page, { screen: "train", tab: "rollouts" });
  });
});

describe("a search in rollouts", () => {
  it("continues past steps that cannot be read and names them, and reads them when they are back", async () => {
    const { page } = lab;
    await page.getByTestId("rollout-card").first().waitFor();
    // Not the newest, which has already been read.
    broken.push(...[...files].sort().slice(1, 3));
    const limits = page.getByLabel("Highest reward");
    await page.getByRole("button", { name: "Filter…" }).click();
    await limits.fill("100");
    await expect.poll(() => page.locator("main p[role=status]").first().textContent()).toBe(matching(100, broken));
    await expect
      .poll(() => page.getByTestId("unread-steps").textContent())
      .toMatch(/^2 steps could not be read: .*step-0000/);
    broken.length = 0;
    await limits.fill("");
    await expect.poll(() => page.getByTestId("unread-steps").count()).toBe(0);
    await limits.fill("100");
    await expect.poll(() => page.locator("main p[role=status]").first().textContent()).toBe(matching(100));
    await expect.poll(() => page.getByTestId("unread-steps").count()).toBe(0);
  });

  it("takes limits below 0, typed digit by digit", async () => {
    const { page } = lab;
    const limits = page.getByLabel("Highest reward");
    await limits.fill("");
    await limits.pressSequentially("-0.05");
    await expect.poll(() => limits.inputValue()).toBe("-0.05");
    await expect.poll(() => page.locator("main p[role=status]").first().textContent()).toBe(matching(-0.05));
    expect(await problems(page)).toEqual([]);
  });

  testWith("whole-run")("lists what it finds in a table, which is saved as JSON lines", async () => {
    const { page } = lab;
    const found = groups.flatMap(({ loop, rollouts }) =>
      rollouts.filter(({ reward }) => loop === 1 && reward !== null && reward <= 0.3),
    );
    // The address contains the filter.
    await show(page, { screen: "train", tab: "rollouts", view: "table", filter: "loop:1 reward:..0.3" });
    const table = page.getByTestId("rollout-table");
    await expect.poll(() => table.getAttribute("aria-rowcount")).toBe(String(found.length));
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save JSONL" }).click(),
    ]);
    const lines = readFileSync(await file.path(), "utf8").trim();
    const saved = lines === "" ? [] : lines.split("\n").map((line) => JSON.parse(line) as (typeof found)[number]);
    const byId = (list: typeof found): typeof found => list.toSorted((a, b) => a.id.localeCompare(b.id));
    expect(byId(saved)).toEqual(byId(JSON.parse(JSON.stringify(found)) as typeof found));
  });

  testWith("whole-run")(
    "goes from a bar of the rewards to exactly its rollouts, sorted by any column, and to one of them",
    async () => {
      const { page } = lab;
      await show(page, { screen: "train", tab: "rollouts", view: "table", filter: "" });
      const table = page.getByTestId("rollout-table");
      const all = groups.reduce((sum, { rollouts }) => sum + rollouts.length, 0);
      await expect.poll(() => table.getAttribute("aria-rowcount")).toBe(String(all));
      expect(await violations(page)).toEqual([]);
      // A term that counts in no reward has no column.
      expect(await table.locator("thead").textContent()).not.toContain("cost");
      const bar = page.getByTestId("reward-histogram").getByRole("button", { disabled: false }).nth(1);
      const label = (await bar.getAttribute("aria-label")) ?? "";
      const count = [...label.matchAll(/(\d+) of loop/g)].reduce((sum, [, number]) => sum + Number(number), 0);
      expect(count).toBeGreaterThan(0);
      await bar.click();
      await expect.poll(() => table.getAttribute("aria-rowcount")).toBe(String(count));
      await table.getByRole("button", { name: /^Reward/ }).click();
      const rewards = (await table.locator("tbody tr td:nth-child(5)").allTextContents()).map(Number);
      expect(rewards).toEqual(rewards.toSorted((a, b) => b - a));
      await table
        .getByRole("button", { name: /^Rollout / })
        .first()
        .click();
      await page.getByTestId("inspector").waitFor();
      // The table stays beside it, with its row marked.
      await expect.poll(() => table.locator("tr[data-now=true]").count()).toBe(1);
      expect(await violations(page)).toEqual([]);
    },
  );
});

describe("a search with words", () => {
  testWith("whole-run")("has bars that count only what it finds", async () => {
    const { page } = lab;
    const word = "red";
    const found = groups
      .flatMap(({ rollouts }) => rollouts)
      .filter(({ caption, captionPrime, referenceCaption, completion, rowId }) =>
        [caption, captionPrime, referenceCaption, completion, rowId].some((text) => text?.includes(word)),
      );
    await show(page, { screen: "train", tab: "rollouts", view: "table", filter: word });
    await expect.poll(() => page.getByTestId("rollout-table").getAttribute("aria-rowcount")).toBe(String(found.length));
    const labels = await page
      .getByTestId("reward-histogram")
      .getByRole("button")
      .evaluateAll((bars) => bars.map((bar) => bar.getAttribute("aria-label") ?? ""));
    const counts = [...labels.join().matchAll(/(\d+) of loop/g)].map(([, count]) => Number(count));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(found.length);
  });
});

describe("keys and gestures", () => {
  testWith("rollout-tools")("go to the control that uses them", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "20", view: "", filter: "" });
    const line = page.getByRole("slider", { name: "Step" });
    await expect.poll(() => line.getAttribute("aria-valuetext")).toBe("step 20");
    await line.focus();
    await page.keyboard.press("Home");
    await expect.poll(() => line.getAttribute("aria-valuetext")).toBe("step 1");
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    await page
      .getByTestId("inspector")
      .getByText(/^More: /)
      .click();
    await page.getByRole("tab", { name: "Raw" }).click();
    const record = page.getByTestId("inspector").locator("pre");
    await record.focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => record.evaluate((element) => element.scrollTop)).toBeGreaterThan(0);
    await expect.poll(() => line.getAttribute("aria-valuetext")).toBe("step 1");
  });

  testWith("whole-run")("scroll the table, and change no step behind it", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "20", view: "table", filter: "" });
    await page
      .getByTestId("rollout-table")
      .getByRole("button", { name: /^Rollout / })
      .first()
      .focus();
    const place = (): Promise<string> => page.evaluate("location.hash");
    const before = await place();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    const scrolled = (): Promise<number> =>
      page.getByRole("region", { name: "Rollouts" }).evaluate((element) => element.scrollTop);
    await expect.poll(scrolled).toBeGreaterThan(0);
    expect(await place()).toBe(before);
    await show(page, { screen: "train", tab: "rollouts", view: "table", filter: "nothing has these words" });
    await page.getByRole("heading", { name: "No rollout matches the filters" }).waitFor();
  });

  it("include / where a keyboard has it on another key's upper half", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "1", view: "", filter: "" });
    await page.getByRole("slider", { name: "Step" }).focus();
    await page.evaluate(() =>
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", shiftKey: true, bubbles: true })),
    );
    const search = page.getByLabel("Search captions and rows");
    expect(await search.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  it("move a zoomed picture in any direction without choosing it", async () => {
    const { page } = lab;
    const card = page.getByTestId("rollout-card").nth(1);
    const picture = card.getByRole("img");
    await picture.focus();
    await page.keyboard.press("+");
    const { x, y } = (await picture.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(x + 30, y + 80);
    await page.mouse.down();
    await page.mouse.move(x + 70, y + 40, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => card.getAttribute("data-selected")).toBe("false");
    await picture.click();
    await expect.poll(() => card.getAttribute("data-selected")).toBe("true");
    await page.keyboard.press("0");
  });
});

it("in a narrow window rollouts and their rewards take no more than its width", async () => {
  const { page } = lab;
  await show(page, { screen: "train", tab: "rollouts", step: "25", view: "", filter: "" });
  await page.getByTestId("rollout-card").first().getByRole("button").click();
  const inspector = page.getByTestId("inspector");
  const detailed = arePluggedIn("phases", "rollout-tools");
  if (detailed) await inspector.getByText("How the reward came about").click();
  const right = async (place: typeof inspector): Promise<number> => {
    const box = await place.boundingBox();
    return (box?.x ?? Number.NaN) + (box?.width ?? Number.NaN);
  };
  for (const width of [1024, 390]) {
    await page.setViewportSize({ width, height: 860 });
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    if (detailed) expect(await right(inspector.locator("table").first())).toBeLessThanOrEqual(await right(inspector));
  }
  await page.setViewportSize({ width: 1280, height: 860 });
});

describe("a rollout", () => {
  testWith("rollout-tools")(
    "has its mask at any threshold and the alternatives of its tokens, computed on request as they were drawn",
    async () => {
      const { page } = lab;
      const group = groups.find(({ step, loop }) => step === 1 && loop === 1);
      const rollout = group?.rollouts.find(({ reward }) => (reward ?? 0) > 0.5);
      await show(page, {
        screen: "train",
        tab: "rollouts",
        step: "1",
        view: "",
        filter: "",
        rollout: rollout?.id ?? "",
      });
      await untilReady(page);
      await page
        .getByTestId("inspector")
        .getByText(/^More: /)
        .click();
      await page.getByRole("tab", { name: "Recompute" }).click();
      await page.getByRole("button", { name: "Compute probabilities" }).click();
      const alternatives = page.getByTestId("alternatives");
      await alternatives.waitFor();
      // The log was written on another adapter.
      const told = page.getByTestId("at-threshold");
      const iou = async (): Promise<number> => Number(/IoU ([\d.]+)/.exec((await told.textContent()) ?? "")?.[1]);
      await expect.poll(iou).toBeCloseTo(rollout?.terms.find(({ name }) => name === "iou")?.value ?? Number.NaN, 1);
      const before = await iou();
      await page.getByRole("slider", { name: "Mask threshold" }).focus();
      await page.keyboard.press("End");
      await expect.poll(iou).not.toBe(before);
      const tokens = page.getByTestId("closer-look").getByRole("listitem").getByRole("button");
      await expect.poll(() => tokens.count()).toBe(rollout?.actions.length);
      await tokens.nth(1).click();
      const drawn = alternatives.locator("tr[data-drawn=true]");
      await expect.poll(() => drawn.count()).toBe(1);
      // The log was written under Node, whose JPEG pixels differ from the browser's in 3 of 100 values, by 3 levels at most.
      // With Node's pixels two adapters agree to 1e-6 here, and with libjpeg's both move by 6e-4.
      const logp = Number((await drawn.locator("td").last().textContent())?.replace("−", "-"));
      expect(logp).toBeCloseTo(rollout?.actions[1]?.samplingLogp ?? Number.NaN, 2);
      // A button that is half scrolled out of view is no target.
      await page.locator("main").evaluate((main) => main.scrollTo(0, 0));
      expect(await violations(page)).toEqual([]);
      expect(await problems(page)).toEqual([]);
    },
  );
});

describe("all steps of a run together", () => {
  testWith("whole-run")(
    "show every row over the steps, and lead from a gradient spike, a silent row and a cell to its rollouts",
    async () => {
      const { page } = lab;
      await show(page, {
        screen: "train",
        tab: "rollouts",
        view: "run",
        zoom: `5-15@across ${first?.path.split("/")[0]}`,
      });
      await page.getByRole("button", { name: "Steps 5–15" }).click();
      await expect.poll(() => page.url()).not.toMatch(/zoom/);
      const map = page.getByRole("img", { name: /^Mean reward of \d+ rows over steps 1 to/ });
      await map.waitFor();
      const rows = new Set(groups.filter(({ loop }) => loop === 1).map(({ rowId }) => rowId)).size;
      await expect.poll(() => map.getAttribute("aria-label")).toMatch(new RegExp(`of ${rows} rows`));
      for (const name of [/^Distribution of rewards from/, /^Contributions of IoU/]) {
        await page.getByRole("img", { name }).first().waitFor();
      }
      await expect
        .poll(() => page.getByTestId("chart-pass-at-g").getByRole("img").first().getAttribute("aria-label"))
        .toMatch(/^pass@G (rises|falls|stays)/);
      const silent = await page.getByTestId("silent-rows").locator("p").first().textContent();
      expect(silent).toMatch(new RegExp(`^\\d+ of ${rows} rows never gave a learning signal`));
      expect(await violations(page)).toEqual([]);
      await page
        .getByTestId("spikes")
        .getByRole("button", { name: /has the largest effect/ })
        .first()
        .click();
      await page.getByTestId("inspector").waitFor();
      const place = new URLSearchParams(new URL(page.url()).hash.slice(1));
      expect([place.get("view"), place.get("rollout")?.split("-")[0]]).toEqual([null, place.get("step")]);
      // The address restores the view.
      await page.goBack();
      await map.waitFor();
      // At its right end every row has been drawn.
      const width = await map.evaluate((canvas) => canvas.clientWidth);
      await map.click({ position: { x: width - 4, y: 4 } });
      await page.getByTestId("rollout-card").first().waitFor();
      expect(await problems(page)).toEqual([]);
    },
  );
});

testWith("whole-run")("the table shows the steps that the view of the whole run has read", async () => {
  const { page } = lab;
  await show(page, { screen: "train", tab: "rollouts", view: "run" });
  const steps = page.getByRole("status").getByText(/^\d+ steps$/);
  await steps.waitFor();
  await page.evaluate(`
    globalThis.seen = [];
    new MutationObserver(() => seen.push(document.querySelector("main").textContent))
      .observe(document.querySelector("main"), { childList: true, subtree: true, characterData: true });
  `);
  await page.getByRole("radio", { name: "Table" }).click();
  await page.getByText(/^\d+ groups in \d+ steps/).waitFor();
  const seen = (await page.evaluate("seen")) as string[];
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((text) => text.includes("steps read"))).toEqual([]);
});

describe("a rollout that is opened by its address alone", () => {
  it("takes the time line and the list to its step, and back with them to the newest", async () => {
    const { page } = lab;
    const run = first?.path.split("/")[0] ?? "";
    const shown = page.getByRole("slider", { name: "Step" });
    await shown.waitFor();
    await show(page, { screen: "train", tab: "rollouts", run, rollout: "10-1-0-1" });
    const place = page.getByTestId("inspected-place");
    await expect.poll(() => place.textContent()).toMatch(/^step 10 · loop 1/);
    await expect.poll(() => shown.getAttribute("aria-valuetext")).toBe("step 10");
    await expect.poll(() => page.getByText("step 10", { exact: true }).count()).toBe(1);
    await page.getByTestId("follow-latest").click();
    await expect.poll(() => place.textContent()).toMatch(/^step 25 · loop 1/);
    await expect.poll(() => shown.getAttribute("aria-valuetext")).toBe("step 25");
    await page.keyboard.press("Escape");
  });
});

describe("rollouts that cannot be read", () => {
  it("are not called none, of a step or of the whole run", async () => {
    const { page } = lab;
    const main = page.locator("main");
    for (const view of ["run", ""]) {
      await show(page, { screen: "train", tab: "rollouts", run: "nowhere", view });
      await expect.poll(() => main.textContent()).toMatch(/Cannot read this run: /);
      await expect.poll(() => main.textContent()).not.toMatch(/has no rollouts/);
    }
    broken.push(...files);
    await show(page, { screen: "train", tab: "rollouts", view: "run" });
    await page.reload();
    if (arePluggedIn("whole-run"))
      await expect
        .poll(() => main.textContent())
        .toMatch(new RegExp(`Cannot read these rollouts${files.length} steps could not be read: `));
    await show(page, { screen: "train" });
    await page.getByText(/^Cannot read these rollouts: /).waitFor();
  });
});
