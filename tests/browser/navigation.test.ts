/** Without WebGPU: history, windows that change their width, charts that switch runs, every screen. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TILE_SIZES } from "../../src/app/screens/data/gallery.tsx";
import { type OpenPage, openPage, problems, SCREENS, show } from "../support/page.ts";
import { arePluggedIn, testWith } from "../support/plugins.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({ screen: "data" }, { webgpu: false });
  await lab.page.getByTestId("gallery").getByRole("button").nth(5).waitFor();
});
afterAll(() => lab.close());

describe("the way back", () => {
  it("to where the page was opened keeps the settings made since", async () => {
    const { page } = lab;
    await page.getByTestId("nav-setup").click();
    await page.getByLabel("Steps", { exact: true }).fill("123");
    await expect.poll(() => page.url()).toMatch(/steps=123/);
    await page.goBack();
    await page.locator("main[data-screen=data]").waitFor();
    expect(page.url()).toMatch(/steps=123/);
    await page.goForward();
    await page.locator("main[data-screen=setup]").waitFor();
    await expect.poll(() => page.getByLabel("Steps", { exact: true }).inputValue()).toBe("123");
  });

  it("to an address that was typed keeps them too, which the typing itself sets", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", steps: "77" });
    await page.getByTestId("nav-setup").click();
    await expect.poll(() => page.getByLabel("Steps", { exact: true }).inputValue()).toBe("77");
    await page.getByLabel("Steps", { exact: true }).fill("88");
    await page.goBack();
    await page.locator("main[data-screen=runs]").waitFor();
    expect(page.url()).toMatch(/steps=88/);
    await page.reload();
    await page.locator("main[data-screen=runs]").waitFor();
    await page.goForward();
    await page.locator("main[data-screen=setup]").waitFor();
    await expect.poll(() => page.getByLabel("Steps", { exact: true }).inputValue()).toBe("88");
  });
});

describe("Back", () => {
  const scrolled = (part: string): Promise<number> => lab.page.locator(part).evaluate((element) => element.scrollTop);
  const focused = (): Promise<string | null | undefined> =>
    lab.page.evaluate(() => document.activeElement?.getAttribute("aria-label"));

  it("closes the inspector, which gives the focus back to the picture that opened it", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await show(page, { screen: "train", tab: "rollouts" });
    const picture = page.getByTestId("live-strip").or(page.getByTestId("panel-rollouts")).locator("canvas").nth(1);
    const name = await picture.getAttribute("aria-label");
    const inspector = page.getByTestId("inspector");
    for (const close of [() => page.goBack(), () => page.keyboard.press("Escape"), () => page.goBack()]) {
      await picture.click();
      await inspector.waitFor();
      await close();
      await inspector.waitFor({ state: "detached" });
      await page.locator("main[data-screen=train]").waitFor();
      await expect.poll(focused).toBe(name);
      // The picture that has the focus opens it again.
      await page.keyboard.press("Enter");
      await inspector.waitFor();
      await page.keyboard.press("Escape");
      await inspector.waitFor({ state: "detached" });
    }
    // Closed by a key or by Back, it leaves no entry that does nothing.
    await page.goBack();
    await page.locator("main[data-screen=data]").waitFor();
  });

  it("or any other way of closing the inspector leaves Enter to inspect a rollout", async () => {
    const { page } = lab;
    const inspector = page.getByTestId("inspector");
    await show(page, { screen: "train", tab: "rollouts" });
    await page.getByTestId("rollout-card").first().waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    for (const close of [
      () => page.getByRole("button", { name: "Close the inspector" }).click(),
      () => page.getByRole("button", { name: "Close the inspector" }).press("Enter"),
      () => page.keyboard.press("Escape"),
      () => page.goBack(),
    ]) {
      await page.keyboard.press("Enter");
      await inspector.waitFor();
      await close();
      await inspector.waitFor({ state: "detached" });
    }
    // Also on the curves, where no rollout was opened before: the first that the strip shows.
    await show(page, { screen: "train", tab: "curves" });
    const card = page.getByTestId("live-strip").getByTestId("rollout-card").first();
    await card.waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.keyboard.press("Enter");
    await inspector.waitFor();
    await expect.poll(() => card.getAttribute("data-selected")).toBe("true");
    await page.keyboard.press("Escape");
    await inspector.waitFor({ state: "detached" });
    // Also with the focus on the screen, where the keys after G leave it.
    await page.keyboard.press("g");
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await inspector.waitFor();
    await page.keyboard.press("Escape");
  });

  it("closes a row, the list of keys, System and an enlarged chart, each without leaving its place", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByTestId("gallery").getByRole("button").nth(2).click();
    await page.getByTestId("row-detail").waitFor();
    for (const open of [
      () => page.keyboard.press("?"),
      () => page.getByTestId("gpu-chip").click(),
      () => page.keyboard.press("?"),
    ]) {
      await open();
      await page.getByRole("dialog").waitFor();
      await page.goBack();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.getByTestId("row-detail").count()).toBe(1);
    }
    await page.goBack();
    await page.getByTestId("row-detail").waitFor({ state: "detached" });
    await page.locator("main[data-screen=data]").waitFor();
    await show(page, { screen: "train" });
    await page.getByRole("button", { name: "Enlarge Reward", exact: true }).click();
    await page.getByRole("dialog").waitFor();
    await page.goBack();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator("main[data-screen=train]").waitFor();
  });

  it("shows a screen and the gallery as far down as they were left", async () => {
    const { page } = lab;
    await show(page, { screen: "setup" });
    await page.getByTestId("settings").waitFor();
    await page.locator("#main").evaluate((element) => element.scrollTo(0, 300));
    await page.getByTestId("nav-data").click();
    await page.getByTestId("gallery").getByRole("button").first().waitFor();
    await page.getByTestId("gallery").evaluate((element) => element.scrollTo(0, 900));
    await page.getByTestId("nav-rewards").click();
    await page.getByTestId("screen-rewards").waitFor();
    await page.goBack();
    await page.getByTestId("gallery").waitFor();
    await expect.poll(() => scrolled("[data-testid=gallery]")).toBe(900);
    await page.goBack();
    await page.getByTestId("settings").waitFor();
    await expect.poll(() => scrolled("#main")).toBe(300);
  });
});

describe("an address without settings", () => {
  it("keeps those of the page", async () => {
    const { page } = lab;
    await page.evaluate(`location.hash = "#screen=runs&steps=77"`);
    await page.evaluate(`location.hash = "#screen=setup"`);
    await page.locator("main[data-screen=setup]").waitFor();
    await expect.poll(() => page.getByLabel("Steps", { exact: true }).inputValue()).toBe("77");
    await expect.poll(() => page.url()).toMatch(/steps=77/);
  });
});

describe("a link of the page", () => {
  testWith("judge-workshop", "run-address")("keeps settings that came after it was drawn, and leads back", async () => {
    const { page } = lab;
    await show(page, { screen: "rewards", panel: "judge" });
    await page.getByTestId("judge-url").fill("http://localhost:9/v1");
    await page.goto("about:blank");
    await page.goto(`${lab.url}#screen=runs&judge=questions`);
    await page.getByTestId("consent").waitFor();
    const link = page.getByTestId("runs-elsewhere").getByRole("link", { includeHidden: true }).first();
    await link.waitFor();
    // The link was rendered while the judge was off.
    await page.getByTestId("consent-allow").click();
    await expect.poll(() => page.url()).toMatch(/judge=questions/);
    await link.click();
    await page.locator("main[data-screen=train]").waitFor();
    expect(page.url()).toMatch(/judge=questions/);
    await page.goBack();
    await page.locator("main[data-screen=runs]").waitFor();
    await show(page, { screen: "data", judge: "off" });
  });
});

describe("a link that goes with its screen", () => {
  testWith("playback")("hands the focus to the next screen, so that Tab continues there", async () => {
    const { page } = lab;
    await show(page, { screen: "home" });
    await page.getByRole("link", { name: "All curves and rollouts" }).press("Enter");
    await page.locator("main[data-screen=train]").waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
    // The rail stays, and so does the focus of its link.
    await page.getByTestId("nav-setup").press("Enter");
    await page.locator("main[data-screen=setup]").waitFor();
    expect(await page.getByTestId("nav-setup").evaluate((link) => link.matches(":focus"))).toBe(true);
  });
});

describe("the keys after G", () => {
  it("lead to screens and to tabs of Train, and take the focus along", async () => {
    const { page } = lab;
    await page.getByTestId("nav-setup").focus();
    await page.keyboard.press("g");
    await page.keyboard.press("e");
    await page.getByTestId("panel-held-out").waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
  });

  it("reach the same places as the addresses of earlier versions", async () => {
    const { page } = lab;
    await page.evaluate(`location.hash = "#screen=rollouts&step=20&rollout=20-1-0-1"`);
    await page.getByTestId("panel-rollouts").waitFor();
    await expect.poll(() => page.getByTestId("inspected-place").textContent()).toMatch(/^step 20 · loop 1/);
    await page.keyboard.press("Escape");
  });
});

describe("the gallery", () => {
  it("keeps its lines apart when the window becomes wider", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByLabel("Tile size").getByText("L", { exact: true }).click();
    /** Width of a tile, height of its line, and the space between each line and the next, in CSS pixels. */
    const lines = () =>
      page.getByTestId("gallery").evaluate((gallery) => {
        const boxes = [...(gallery.firstElementChild?.children ?? [])].map((line) => line.getBoundingClientRect());
        return {
          window: innerWidth,
          tile: gallery.querySelector("button")?.getBoundingClientRect().width ?? 0,
          height: boxes[0]?.height ?? 0,
          gaps: boxes.slice(1).map((box, at) => Math.round(box.top - (boxes[at]?.bottom ?? 0))),
        };
      });
    // One column, one wider column, two, and one again.
    for (const width of [400, 620, 700, 400]) {
      await page.setViewportSize({ width, height: 860 });
      let now = await lines();
      // Tiles follow the window at once, their lines one frame later.
      const follows = async (): Promise<boolean> => {
        now = await lines();
        return now.window === width && Math.abs(now.height - 0.75 * now.tile - TILE_SIZES.l.words) < 1;
      };
      await expect.poll(follows, { message: `${width} px` }).toBe(true);
      expect(now.gaps.length, `${width} px`).toBeGreaterThan(0);
      expect(new Set(now.gaps), `${width} px`).toEqual(new Set([10]));
    }
    await page.setViewportSize({ width: 1280, height: 860 });
  });
});

describe("forced colours", () => {
  testWith("data-tools", "judge-workshop")("leave bars and the knobs of switches visible", async () => {
    const { page } = lab;
    await page.emulateMedia({ forcedColors: "active" });
    // The computed background is the page's own in either case.
    const adjust = (element: Element): string => getComputedStyle(element).getPropertyValue("forced-color-adjust");
    await show(page, { screen: "data" });
    const bar = page.getByRole("toolbar").first().locator("[data-fill]").first();
    await expect.poll(() => bar.evaluate(adjust)).toBe("none");
    await show(page, { screen: "rewards", panel: "judge" });
    const knob = page.getByRole("switch").first().locator("> *").first();
    await expect.poll(() => knob.evaluate(adjust)).toBe("none");
    await page.emulateMedia({ forcedColors: "none" });
  });
});

describe("a zoom", () => {
  /** Names of the stored copies of the recorded run. */
  const COPIES = ["copy-a", "copy-b", "copy-c"] as const;

  beforeAll(async () => {
    // Stored runs, without the minutes that training them would take.
    await lab.page.evaluate(async (copies) => {
      const base = new URL("pocket/recorded/", document.baseURI);
      const files = (await (await fetch(new URL("files.json", base))).json()) as { readonly path: string }[];
      const store = await (await navigator.storage.getDirectory()).getDirectoryHandle("runs", { create: true });
      for (const { path } of files.filter((file) => /(run\.json|metrics\.jsonl)$/.test(file.path))) {
        const text = await (await fetch(new URL(path, base))).text();
        for (const id of copies) {
          const [from = "", name = ""] = path.split("/");
          const folder = await store.getDirectoryHandle(id, { create: true });
          const writer = await (await folder.getFileHandle(name, { create: true })).createWritable();
          await writer.write(text.replaceAll(`"${from}"`, `"${id}"`));
          await writer.close();
        }
      }
    }, COPIES);
  });

  /** The step at the chart's left edge. */
  async function firstStep(chart: string): Promise<number> {
    const { page } = lab;
    const section = page.getByTestId(chart);
    await section.locator(".u-over").hover({ position: { x: 1, y: 20 } });
    await expect.poll(() => section.locator("li").last().textContent()).toMatch(/^step \d+$/);
    return Number(((await section.locator("li").last().textContent()) ?? "").replace("step ", ""));
  }

  /** Drags over the right half of a chart. */
  async function zoomIn(chart: string): Promise<void> {
    const box = await lab.page.getByTestId(chart).locator(".u-over").boundingBox();
    if (box === null) throw new Error(`${chart} has no plot`);
    await lab.page.mouse.move(box.x + box.width / 2, box.y + 20);
    await lab.page.mouse.down();
    await lab.page.mouse.move(box.x + box.width - 4, box.y + 20, { steps: 4 });
    await lab.page.mouse.up();
    await expect.poll(() => firstStep(chart)).toBeGreaterThan(12);
  }

  it("of one run's charts is not that of another's", async () => {
    await show(lab.page, { screen: "train", run: COPIES[0] });
    await expect.poll(() => firstStep("chart-reward")).toBe(1);
    await zoomIn("chart-reward");
    await show(lab.page, { screen: "train", run: COPIES[1] });
    await expect.poll(() => firstStep("chart-reward")).toBe(1);
    await show(lab.page, { screen: "train", run: COPIES[0] });
    await expect.poll(() => firstStep("chart-reward")).toBeGreaterThan(12);
  });

  testWith("compare")("of one comparison is not that of another", async () => {
    await show(lab.page, { screen: "runs", compare: `${COPIES[0]},${COPIES[1]}` });
    await expect.poll(() => firstStep("chart-compare-reward-1")).toBe(1);
    await zoomIn("chart-compare-reward-1");
    await show(lab.page, { screen: "runs", compare: `${COPIES[0]},${COPIES[2]}` });
    await expect.poll(() => firstStep("chart-compare-reward-1")).toBe(1);
  });
});

describe("the list of runs", () => {
  const focused = (): Promise<string | undefined> =>
    lab.page.evaluate(() => document.activeElement?.getAttribute("data-testid") ?? document.activeElement?.tagName);

  testWith("run-address", "compare")(
    "has the recorded run at once when the page opens on it, and a run that an address repeats once",
    async () => {
      const { page } = lab;
      await show(page, { screen: "runs", compare: "copy-a,copy-b,copy-a" });
      await page.reload();
      await page.getByTestId("runs-elsewhere").waitFor();
      await page.getByText("2 runs compared").waitFor();
    },
  );

  it("leaves letters to its menus, and gives the focus back when menus, dialogs and titles close", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    await page.getByTestId("export-run").first().click();
    await page.getByRole("menuitem").first().waitFor();
    await page.keyboard.press("p");
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "detached" });
    expect(page.url()).toMatch(/screen=runs/);
    await page.getByTestId("more-of-run").first().click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(focused).toBe("more-of-run");
    if (arePluggedIn("run-details")) {
      await page.getByTestId("run-details").first().click();
      await page.getByTestId("edit-notes").first().click();
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await expect.poll(focused).toBe("edit-notes");
    }
    for (const key of ["Escape", "Enter"]) {
      await page.getByTestId("more-of-run").first().click();
      await page.getByRole("menuitem", { name: "Rename…" }).click();
      await page.getByLabel("Title of the run").press(key);
      await expect.poll(focused).toBe("more-of-run");
    }
  });

  it("leads nowhere by a run that JavaScript's objects have a name for", async () => {
    await show(lab.page, { screen: "train", run: "constructor" });
    await lab.page.getByText(/Cannot read this run/).waitFor();
    // No empty charts stand for it, and the list of runs is one press away.
    expect(await lab.page.getByRole("img", { name: /no values/ }).count()).toBe(0);
    expect(await lab.page.getByRole("link", { name: "Open a stored run" }).count()).toBe(1);
    await expect.poll(() => lab.page.getByText("This screen failed").count()).toBe(0);
  });

  it("says on Held-out only that the run cannot be read, not that it has no evaluations", async () => {
    await show(lab.page, { screen: "train", tab: "held-out", run: "not-stored" });
    await lab.page.getByText(/^Cannot read this run: Run "not-stored" is not stored here/).waitFor();
    expect(await lab.page.getByText("This run has no evaluations").count()).toBe(0);
  });
});

describe("the fields of Setup", () => {
  const names = (): Promise<string[]> => lab.page.getByTestId("settings").locator("label").allTextContents();

  it("are about fifteen that the mode uses", async () => {
    const { page } = lab;
    await show(page, { screen: "setup" });
    const cards = page.getByRole("region", { name: "Presets" }).getByRole("button");
    await expect.poll(() => cards.filter({ visible: true }).count()).toBe(arePluggedIn("supervised") ? 4 : 3);
    await page.getByTestId("preset-demo").click();
    await expect.poll(names).toContain("Group size G");
    expect((await names()).length).toBeLessThan(20);
  });

  testWith("supervised")("are others where no rollouts are sampled", async () => {
    const { page } = lab;
    await show(page, { screen: "setup" });
    await page.getByTestId("preset-sft").click();
    await expect.poll(names).toContain("Dice weight");
    expect(await names()).not.toContain("Group size G");
    expect((await names()).length).toBeLessThan(20);
    await page.getByTestId("preset-demo").click();
  });

  it("are found by their words and by the names of other trainers, unless the mode does not use them", async () => {
    const { page } = lab;
    const search = page.getByTestId("search-settings");
    await search.fill("num_generations");
    await expect.poll(names).toEqual(["Group size G"]);
    const help = page.getByTestId("settings").getByText("Rollouts per prompt");
    await expect
      .poll(() => help.textContent())
      .toMatch(/\. 2 to 64 · published recipes: 4 to 8 · TRL num_generations $/);
    // A line may end with a separator, but begins with none.
    const pieces = help.locator("span");
    expect((await pieces.allTextContents()).filter((piece) => piece.startsWith("·"))).toEqual([]);
    await search.fill("field noise");
    await expect.poll(names).toContain("Field noise σ");
    await search.fill("candidate temperature");
    await expect.poll(() => page.getByTestId("found-settings").textContent()).toMatch(/^0 settings/);
    await page.getByRole("button", { name: "Show the main settings" }).click();
    await expect.poll(names).toContain("Steps");
  });
});

describe("a field of Setup", () => {
  it("says what it keeps of a refused number until its value is another", async () => {
    const { page } = lab;
    await show(page, { screen: "setup" });
    await page.getByTestId("preset-demo").click();
    await page.getByLabel("Steps", { exact: true }).fill("-5");
    await page.keyboard.press("Tab");
    const refused = page.getByText(/^Steps must be a whole number/);
    await expect.poll(() => refused.textContent()).toMatch(/; 25 is kept$/);
    await page.getByTestId("preset-real").click();
    await expect.poll(() => refused.count()).toBe(0);
    await page.getByTestId("preset-demo").click();
  });

  testWith("hub")("keeps the address that a server is asked about", async () => {
    const { page } = lab;
    let answer: (() => void) | null = null;
    await lab.context.route("https://huggingface.co/**", async (route) => {
      // Only the first request waits; the page repeats one that failed.
      if (answer === null) await new Promise<void>((resolve) => (answer = resolve));
      await route.abort();
    });
    await page.getByTestId("open-address").click();
    await page.getByTestId("address").fill("owner/name");
    await page.getByTestId("ask-address").click();
    await expect.poll(() => page.getByTestId("address").isEditable()).toBe(false);
    // The field is locked a moment before the request arrives.
    await expect.poll(() => answer).not.toBeNull();
    (answer as unknown as () => void)();
    await expect.poll(() => page.getByTestId("address").isEditable()).toBe(true);
    await page
      .getByTestId("problems")
      .getByText(/huggingface/)
      .waitFor();
    await page
      .getByTestId("problems")
      .locator("div", { hasText: /huggingface/ })
      .getByRole("button")
      .click();
    await lab.context.unroute("https://huggingface.co/**");
  });
});

describe("without WebGPU the page", () => {
  it("says so in one sentence and keeps Start from being pressed", async () => {
    const { page } = lab;
    const start = page.getByTestId("strip-start");
    await expect.poll(() => start.getAttribute("title")).toMatch(/WebGPU/);
    await expect.poll(() => start.getAttribute("aria-disabled")).toBe("true");
    const told = (await problems(page)).filter((text) => /WebGPU/.test(text));
    expect(told.length).toBeLessThanOrEqual(1);
  });

  it("names the missing GPU on the chip, as it is written there", async () => {
    const chip = lab.page.getByTestId("gpu-chip");
    await expect.poll(() => chip.textContent()).toBe("no GPU");
    expect(await chip.getAttribute("aria-label")).toBe("System: no GPU");
  });

  it("still shows rows and every screen", async () => {
    const { page } = lab;
    await show(page, { screen: "data", row: "" });
    await page.getByTestId("gallery").getByRole("button").first().click();
    await page.getByTestId("row-detail").waitFor();
    for (const screen of SCREENS) {
      await show(page, { screen });
      await expect.poll(() => page.locator("main h1, main h2").count()).toBeGreaterThan(0);
    }
    await expect.poll(() => page.getByText("went wrong").count()).toBe(0);
  });

  it("says in System what helps", async () => {
    const { page } = lab;
    // Addresses of the screen that it once was lead to the dialog.
    await page.evaluate(`location.hash = "#screen=system"`);
    await page.getByTestId("system").waitFor();
    if (arePluggedIn("diagnostics")) await page.getByTestId("system").getByText("chrome://gpu").waitFor();
  });

  testWith("diagnostics")("still shows storage, browser and memory in System", async () => {
    const { page } = lab;
    const system = page.getByTestId("system");
    await system.getByText("Storage used").waitFor();
    let text = await system.textContent();
    await page.getByRole("tab", { name: "Memory" }).click();
    await system.getByText(/No memory is used/).waitFor();
    text += (await system.textContent()) ?? "";
    const said = await problems(lab.page);
    expect(said).toEqual([expect.not.stringMatching(/×/)]);
    expect(text).toMatch(/WebGPU found no graphics adapter|does not support WebGPU/);
    expect(text).toMatch(/No memory is used/);
    expect(text).toMatch(/Storage used[\d.]+ [kMG]?B of/);
  });

  it("fits its dialog into a phone, and gives the focus back to the chip that opened it", async () => {
    const { page } = lab;
    // The narrower one is that of 1280 pixels at a zoom of 400 %.
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      await expect.poll(() => page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      const inside = page.getByRole("dialog").locator("> div");
      await expect.poll(() => inside.evaluate((box) => box.scrollWidth - box.clientWidth)).toBeLessThanOrEqual(0);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.keyboard.press("Escape");
    await page.getByTestId("system").waitFor({ state: "detached" });
    await page.getByTestId("gpu-chip").click();
    await page.getByTestId("system").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByTestId("gpu-chip").evaluate((chip) => chip.matches(":focus"))).toBe(true);
  });
});

it("none of it is a problem", async () => {
  const told = (await problems(lab.page)).filter((text) => !/WebGPU/.test(text));
  expect(told).toEqual([]);
});
