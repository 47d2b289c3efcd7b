/** The automatic part of the accessibility check, on every screen in both themes, after a run in a narrow window. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations, violationsInBothThemes } from "../support/axe.ts";
import { CHEAP_RUN, layoutShift, type OpenPage, openFollowed, SCREENS, show, untilEvent } from "../support/page.ts";
import { arePluggedIn, testWith } from "../support/plugins.ts";

const WIDE = { width: 1280, height: 860 };
const NARROW = { width: 390, height: 844 };

let lab: OpenPage;
/** The Train screen in a narrow window, from the start of a run to its result. */
let shift: number;
/** Heights of the status strip in that window, and of the lab's name beside a long title. */
let strip: number;
let name: number;
beforeAll(async () => {
  // The checker is injected, which the page's own policy rightly forbids.
  const run = { ...CHEAP_RUN, steps: "1", evalSteps: "1", evalRows: "2" };
  const followed = await openFollowed({ screen: "train", ...run }, { bypassCSP: true, ...NARROW });
  lab = followed.lab;
  const { events } = followed;
  await lab.page.getByTestId("strip-start").click();
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
  await lab.page
    .getByTestId("result")
    .getByText(/\d better, \d worse/)
    .first()
    .waitFor();
  shift = await layoutShift(lab.page);
  const header = lab.page.locator("header").first();
  strip = (await header.boundingBox())?.height ?? 0;
  name = await header.getByRole("link", { name: "sa2va-lab" }).evaluate((link) => {
    const title = link.nextElementSibling;
    const kept = title?.textContent ?? "";
    if (title) title.textContent = "a long title of a run in a narrow window";
    const { height } = link.getBoundingClientRect();
    if (title) title.textContent = kept;
    return height;
  });
  await lab.page.setViewportSize(WIDE);
});
afterAll(() => lab.close());

it("a run in a narrow window moves no text that is being read", () => {
  expect(shift).toBeLessThan(0.05);
});

it("the status strip of a narrow window takes two lines", () => {
  expect(strip).toBeGreaterThan(40);
  expect(strip).toBeLessThan(84);
  // One line.
  expect(name).toBeLessThan(30);
});

testWith("playback")("words on Home keep their contrast while its pictures appear", async () => {
  await show(lab.page, { screen: "home" });
  await lab.page.getByTestId("home-loop-1").waitFor();
  const begun = await lab.page.evaluate(() => {
    // Begun again, because they may be over.
    const moved = [...document.querySelectorAll<HTMLElement>("[data-testid^=home-loop-] *")];
    for (const element of moved) element.style.animation = "none";
    document.body.getBoundingClientRect();
    for (const element of moved) element.style.animation = "";
    const animations = document.getAnimations();
    for (const animation of animations) {
      const { delay = 0, duration } = animation.effect?.getComputedTiming() ?? {};
      animation.pause();
      animation.currentTime = delay + Number(duration) / 2;
    }
    return animations.length;
  });
  expect(begun).toBeGreaterThan(0);
  expect(await violations(lab.page)).toEqual([]);
});

describe("in both themes", () => {
  // In the middle of a fade the contrast is not final.
  beforeAll(() => lab.page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" }));

  it.each(SCREENS)("the screen %s passes", async (screen) => {
    await show(lab.page, { screen, explain: "1" });
    await lab.page.waitForTimeout(500);
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
  });

  it("an open row passes", async () => {
    await show(lab.page, { screen: "data" });
    await lab.page.getByTestId("gallery").getByRole("button").first().click();
    await lab.page.getByTestId("row-detail").waitFor();
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
  });

  it.each([
    "GPU",
    ...(arePluggedIn("diagnostics") ? ["Memory", "Log"] : []),
    ...(arePluggedIn("card") || arePluggedIn("tuner") ? ["Tools"] : []),
  ])("System passes with its tab %s", async (tab) => {
    await show(lab.page, { screen: "home", panel: "system" });
    await lab.page.getByRole("tab", { name: tab }).click();
    await lab.page.waitForTimeout(300);
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
    await lab.page.keyboard.press("Escape");
  });

  testWith("judge-workshop")("the judge on Rewards passes", async () => {
    await show(lab.page, { screen: "rewards", panel: "judge" });
    await lab.page.getByTestId("judge").waitFor();
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
  });

  it("a search of the settings passes", async () => {
    await show(lab.page, { screen: "setup" });
    await lab.page.getByTestId("search-settings").fill("noise");
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
  });

  it("the list of keys passes", async () => {
    await show(lab.page, { screen: "runs" });
    await lab.page.keyboard.press("?");
    await lab.page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await lab.page.waitForTimeout(300);
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
    await lab.page.keyboard.press("Escape");
  });

  it("a narrow window passes", async () => {
    await lab.page.setViewportSize(NARROW);
    await show(lab.page, { screen: "train", tab: "rollouts" });
    await lab.page.waitForTimeout(500);
    expect(await violationsInBothThemes(lab.page)).toEqual([]);
    await lab.page.setViewportSize(WIDE);
  });
});
