/** The automatic part of the accessibility check, on every screen in both themes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import { CHEAP_RUN, type OpenPage, openFollowed, show, untilEvent } from "../support/page.ts";

let lab: OpenPage;
beforeAll(async () => {
  // The checker is injected, which the page's own policy rightly forbids.
  const followed = await openFollowed({ screen: "train", ...CHEAP_RUN, steps: "1" }, { bypassCSP: true });
  lab = followed.lab;
  const { events } = followed;
  await lab.page.getByTestId("strip-start").click();
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
});
afterAll(() => lab.close());

describe.each(["light", "dark"] as const)("in the %s theme", (theme) => {
  beforeAll(async () => {
    // Half of a fade has no contrast of its own.
    await lab.page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await lab.page.locator(`html[data-theme=${theme}]`).waitFor({ state: "attached" });
  });

  it.each(["home", "data", "setup", "rewards", "train", "rollouts", "judge", "eval", "runs", "system"])(
    "the screen %s passes",
    async (screen) => {
      await show(lab.page, { screen, explain: "1" });
      await lab.page.waitForTimeout(500);
      expect(await violations(lab.page)).toEqual([]);
    },
  );

  it("an open row passes", async () => {
    await show(lab.page, { screen: "data" });
    await lab.page.getByTestId("gallery").getByRole("button").first().click();
    await lab.page.getByTestId("row-detail").waitFor();
    expect(await violations(lab.page)).toEqual([]);
  });

  it("the list of keys passes", async () => {
    await show(lab.page, { screen: "runs" });
    await lab.page.keyboard.press("?");
    await lab.page.getByRole("dialog", { name: "Keys" }).waitFor();
    await lab.page.waitForTimeout(300);
    expect(await violations(lab.page)).toEqual([]);
    await lab.page.keyboard.press("Escape");
  });

  it("a narrow window passes", async () => {
    await lab.page.setViewportSize({ width: 390, height: 844 });
    await show(lab.page, { screen: "rollouts" });
    await lab.page.waitForTimeout(500);
    expect(await violations(lab.page)).toEqual([]);
    await lab.page.setViewportSize({ width: 1280, height: 860 });
  });
});
