/** The page as it opens, and its use by keys alone. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layoutShift, type OpenPage, openPage, problems, SCREENS, show, untilReady } from "../support/page.ts";

describe("the page", () => {
  let lab: OpenPage;
  beforeAll(async () => {
    lab = await openPage({ screen: "data" });
    await untilReady(lab.page);
  });
  afterAll(() => lab.close());

  it("opens with the demo rows and the pocket model, ready to start", async () => {
    const { page } = lab;
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/\d+ rows/);
    await expect.poll(() => page.getByTestId("gallery").getByRole("button").count()).toBeGreaterThan(5);
    await show(page, { screen: "setup" });
    await expect.poll(() => page.getByTestId("model-facts").textContent()).toMatch(/Parameters/);
    await expect.poll(() => page.getByTestId("start-reason").textContent()).toBe("Ready to start");
    // Preset and setting say the same of loop 2.
    await page
      .getByTestId("preset-demo")
      .getByText(/Loop 2 is shown but does not train/)
      .waitFor();
    await page.getByTestId("settings").getByText("Loop 2 has weight 0: it is shown and does not train").waitFor();
    expect(await problems(page)).toEqual([]);
  });

  it("takes settings from the address and refuses bad ones with a sentence or the default", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", numGenerations: "6" });
    expect(page.url()).toMatch(/numGenerations=6/);
    await show(page, { screen: "setup", numGenerations: "0" });
    await expect.poll(() => page.url()).not.toMatch(/numGenerations=0/);
    await show(page, { screen: "data", rows: "area:large" });
    await page.getByText(/"area:large".*; all rows are shown$/).waitFor();
    await show(page, { screen: "data", rows: "" });
  });

  it.each(SCREENS)("shows the screen %s", async (screen) => {
    await show(lab.page, { screen });
    await expect.poll(() => lab.page.locator("main h1, main h2").count()).toBeGreaterThan(0);
    // Only the screen scrolls: status strip and rail stay in view.
    expect(
      await lab.page.evaluate(() => document.documentElement.scrollHeight - document.documentElement.clientHeight),
    ).toBe(0);
  });

  describe("with keys alone", () => {
    beforeAll(async () => {
      await show(lab.page, { screen: "data" });
      await lab.page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    });

    it("reaches every screen of the rail by Tab, and opens one by Enter", async () => {
      const { page } = lab;
      const reached = new Set<string>();
      for (let press = 0; press < 25 && reached.size < SCREENS.length; press++) {
        await page.keyboard.press("Tab");
        const id = await page.evaluate(() => document.activeElement?.getAttribute("data-testid") ?? "");
        const screen = /^nav-(.+)$/.exec(id)?.[1];
        if (screen === undefined) continue;
        reached.add(screen);
        if (screen === "runs") await page.keyboard.press("Enter");
      }
      expect([...reached]).toEqual(SCREENS);
      await page.locator("main[data-screen=runs]").waitFor();
    });

    it("reaches the rows behind their filters with one stop", async () => {
      const { page } = lab;
      await show(page, { screen: "data" });
      await page.locator("[data-testid=gallery] button").first().waitFor();
      await page.getByLabel("Search captions").focus();
      const stops: boolean[] = [];
      for (let press = 0; press < 10; press++) {
        await page.keyboard.press("Tab");
        stops.push(await page.evaluate(() => document.activeElement?.closest("[data-testid=gallery] button") !== null));
      }
      expect(stops.filter(Boolean)).toHaveLength(1);
    });

    it("goes to a screen by G and its letter", async () => {
      await lab.page.keyboard.press("g");
      await lab.page.keyboard.press("s");
      await lab.page.locator("main[data-screen=setup]").waitFor();
      await lab.page.keyboard.press("g");
      await lab.page.keyboard.press("d");
      await lab.page.locator("main[data-screen=data]").waitFor();
      // From the link that had the focus to the screen.
      await lab.page.getByTestId("nav-runs").focus();
      await lab.page.keyboard.press("g");
      await lab.page.keyboard.press("t");
      await lab.page.locator("main[data-screen=train]").waitFor();
      expect(await lab.page.evaluate(() => document.activeElement?.id)).toBe("main");
    });

    it("closes the explanation of the phases by Escape", async () => {
      const { page } = lab;
      await show(page, { screen: "train", explain: "1" });
      await page.keyboard.press("Escape");
      await expect.poll(() => page.url()).not.toMatch(/explain/);
      await page.keyboard.press("g");
      await page.keyboard.press("d");
      await page.locator("main[data-screen=data]").waitFor();
    });

    it("lists the keys by ? and closes the list by Escape", async () => {
      const dialog = lab.page.getByRole("dialog", { name: "Keyboard shortcuts" });
      await lab.page.keyboard.press("?");
      await dialog.waitFor();
      await expect.poll(() => dialog.textContent()).toMatch(/Hold to hide masks/);
      await lab.page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    });

    it("leaves keys of one character to people who turn them off", async () => {
      const { page } = lab;
      const turn = async (): Promise<void> => {
        await page.keyboard.press("?");
        await page.getByRole("switch", { name: "Single-letter shortcuts" }).click();
        await page.keyboard.press("Escape");
      };
      const canvas = page.getByTestId("gallery").locator("canvas").first();
      const pixels = (): Promise<string> =>
        canvas.evaluate((element) => (element as unknown as HTMLCanvasElement).toDataURL());
      const masked = await pixels();
      await turn();
      await page.keyboard.press("/");
      await page.keyboard.down("h");
      expect(await page.getByLabel("Search captions").evaluate((field) => field.matches(":focus"))).toBe(false);
      expect(await pixels()).toBe(masked);
      await page.keyboard.up("h");
      await turn();
      await page.keyboard.down("h");
      await expect.poll(pixels).not.toBe(masked);
      await page.keyboard.up("h");
      await expect.poll(pixels).toBe(masked);
    });

    it("opens a row by Enter, moves by arrows and closes by Escape", async () => {
      const { page } = lab;
      await page.locator("[data-testid=gallery] button[tabindex='0']").focus();
      await page.keyboard.press("Enter");
      const detail = page.getByTestId("row-detail");
      await detail.waitFor();
      await expect.poll(() => detail.getByRole("heading").first().textContent()).toBe("Row #0");
      // The number of its id, as the address and Train have it.
      expect(await detail.getByTestId("row-file").textContent()).not.toMatch(/row \d/);
      await page.keyboard.press("ArrowRight");
      await expect.poll(() => detail.getByRole("heading").first().textContent()).toBe("Row #1");
      await page.keyboard.press("ArrowLeft");
      await expect.poll(() => detail.getByRole("heading").first().textContent()).toBe("Row #0");
      await detail.getByRole("button", { name: "Close the row" }).press("Enter");
      await detail.waitFor({ state: "detached" });
      const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-pressed"));
      await expect.poll(focused).toBe("false");
      await page.keyboard.press("Enter");
      await expect.poll(() => detail.getByRole("heading").first().textContent()).toBe("Row #0");
      await page.keyboard.press("Escape");
      await detail.waitFor({ state: "detached" });
    });

    const focusedRow = (): Promise<string> =>
      lab.page.evaluate(() => document.activeElement?.querySelector("canvas")?.ariaLabel ?? "");

    it("darkens what lies outside a mask a little, so that photographs stay readable", async () => {
      const { page } = lab;
      const brightness = (): Promise<number> =>
        page.evaluate(() => {
          const canvas = document.querySelector<HTMLCanvasElement>("[data-testid=gallery] canvas");
          const pixels = Array.from(
            canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [],
          );
          return pixels.reduce((sum, value) => sum + value, 0) / pixels.length;
        });
      // A tile that comes into view is drawn more than once.
      const settled = async (): Promise<number> => {
        const seen: number[] = [];
        const same = async (): Promise<boolean> => {
          seen.push(await brightness());
          return seen.length > 5 && new Set(seen.slice(-5)).size === 1;
        };
        await expect.poll(same).toBe(true);
        return seen.at(-1) as number;
      };
      await page.getByRole("radio", { name: "Off" }).click();
      const whole = await settled();
      await page.getByRole("radio", { name: "Contour" }).click();
      await expect.poll(brightness).toBeLessThan(whole);
      const share = (await settled()) / whole;
      expect(share).toBeGreaterThan(0.75);
      expect(share).toBeLessThan(0.97);
    });

    it("draws no row's mask over the picture of another", async () => {
      const { page } = lab;
      await page.locator("[data-testid=gallery] button[tabindex='0']").press("Enter");
      const opacity = (): Promise<number | undefined> =>
        page
          .getByTestId("row-detail")
          .locator("canvas")
          .evaluate((canvas) => {
            const { width } = canvas as HTMLCanvasElement;
            return (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(width / 2, 2, 1, 1).data[3];
          });
      await expect.poll(opacity).toBe(255);
      // From now on requests for pictures wait until they are released.
      await page.evaluate(`{
        const send = Worker.prototype.postMessage;
        const waiting = [];
        Worker.prototype.postMessage = function (...given) {
          if (given[0].name === "image") waiting.push(() => send.apply(this, given));
          else send.apply(this, given);
        };
        globalThis.letGo = () => {
          Worker.prototype.postMessage = send;
          for (const go of waiting) go();
        };
      }`);
      // A row that no tile has shown yet.
      await page.keyboard.press("End");
      await expect.poll(focusedRow).toMatch(/^Row #159,/);
      await expect.poll(opacity).toBeLessThan(255);
      await page.evaluate("letGo()");
      await expect.poll(opacity).toBe(255);
      await page.keyboard.press("Escape");
      await page.getByTestId("row-detail").waitFor({ state: "detached" });
    });

    it("opens a row over the filters in a narrow window", async () => {
      const { page } = lab;
      const detail = page.getByTestId("row-detail");
      // Closing the last row has made the gallery wider; its tile has kept the focus.
      await expect.poll(focusedRow).toMatch(/^Row #159,/);
      await page.keyboard.press("Enter");
      await detail.waitFor();
      await page.setViewportSize({ width: 390, height: 844 });
      // Picture, caption and tabs are in view; below the filters were 110 pixels of them.
      await expect.poll(async () => (await detail.boundingBox())?.height ?? 0).toBeGreaterThan(500);
      await page.keyboard.press("Escape");
      await page.getByLabel("Search captions").waitFor();
      await page.setViewportSize({ width: 1280, height: 860 });
    });

    it("searches by /", async () => {
      await lab.page.keyboard.press("/");
      await expect
        .poll(() => lab.page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
        .toBe("Search captions");
      await lab.page.keyboard.type("zzzz");
      await lab.page.getByText("No rows match the filter").waitFor();
      await lab.page.getByRole("button", { name: "Clear filter" }).press("Enter");
      await expect
        .poll(() => lab.page.evaluate(() => document.activeElement?.getAttribute("aria-label")))
        .toBe("Search captions");
    });
  });

  it("has five places at the bottom of a phone, all in view, and a heading on each", async () => {
    const { page } = lab;
    await page.setViewportSize({ width: 390, height: 844 });
    for (const screen of ["data", "setup", "rewards", "train", "runs"]) {
      await page.getByTestId(`nav-${screen}`).click();
      await expect.poll(() => page.locator("main h1:visible").count()).toBeGreaterThan(0);
    }
    const rail = page.getByRole("navigation", { name: "Screens" });
    expect(await rail.evaluate((nav) => nav.scrollWidth - nav.clientWidth)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  it("wrote no error to the console", () => {
    expect(lab.consoleErrors).toEqual([]);
  });
});

describe("code that arrives late", () => {
  it("moves nothing: panels of plug-ins come with their screen", async () => {
    // Longer than the half second in which the browser excuses a shift by the press before it.
    const LATE_MS = 700;
    const slow = await openPage({}, { width: 1440, height: 900 }, async (page) => {
      await page.route(/\/assets\/.*\.js$/, async (route) => {
        await new Promise((resolve) => setTimeout(resolve, LATE_MS));
        await route.continue();
      });
    });
    const { page } = slow;
    const settled = async (): Promise<void> => {
      await page.locator("main h1").first().waitFor();
      await expect.poll(() => page.getByText(/^(Loading|Reading)/).count()).toBe(0);
      await page.waitForTimeout(2 * LATE_MS);
    };
    await untilReady(page);
    // Backwards, so that the press comes before the page has loaded the code on its own.
    for (const screen of SCREENS.slice(1).reverse()) {
      await page.getByTestId(`nav-${screen}`).click();
      await settled();
      if (screen !== "train") continue;
      for (const tab of ["held-out", "rollouts"]) {
        await page.getByTestId(`tab-${tab}`).click();
        await settled();
      }
      await page.getByTestId("rollout-card").first().click();
      await page.getByTestId("inspector").waitFor();
      await settled();
    }
    expect(await layoutShift(page)).toBeLessThan(0.05);
    expect(slow.consoleErrors).toEqual([]);
    await slow.close();
  });
});
