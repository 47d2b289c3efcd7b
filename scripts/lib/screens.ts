/** Screenshots of every screen: light and dark, wide, middle and narrow. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { SCREENS, TRAIN_TABS } from "../../src/app/stores/route-text.ts";

/** Every screen by its name, and the tabs of Train by theirs. */
const PLACES = [...SCREENS, ...TRAIN_TABS.slice(1)];

const SIZES = [
  { name: "", width: 1440, height: 900 },
  { name: "-middle", width: 1024, height: 768 },
  { name: "-narrow", width: 390, height: 844 },
] as const;

/** Tallest picture of a whole screen, in pixels. */
const TALLEST = 2600;

export interface Photographs {
  /** All by default. */
  readonly screens?: readonly string[];
  /** Screenshots are as tall as the screen's content, not as the window. */
  readonly whole?: boolean;
  /** Called for every screen, theme and width before the picture is taken. */
  readonly check?: (name: string) => Promise<void>;
}

/** Writes `<screen>[-dark][-middle|-narrow].png` below `folder`. Leaves the page wide and light. */
export async function photographScreens(page: Page, folder: string, options: Photographs = {}): Promise<void> {
  for (const { name: size, width, height } of SIZES) {
    for (const dark of [false, true]) {
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
      for (const screen of options.screens ?? PLACES) {
        await page.setViewportSize({ width, height });
        const tab = TRAIN_TABS.find((name) => name === screen);
        const place = tab === undefined ? `screen=${screen}` : `screen=train&tab=${tab}`;
        await page.evaluate(`location.hash = "#${place}"`);
        // Curves and pictures are drawn a moment later.
        await page.waitForTimeout(900);
        const name = `${screen}${dark ? "-dark" : ""}${size}`;
        await options.check?.(name);
        if (options.whole === true) await growToContent(page, width, height);
        await page.screenshot({ path: join(folder, `${name}.png`) });
      }
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}

/** Makes the window as tall as the screen's content. */
async function growToContent(page: Page, width: number, height: number): Promise<void> {
  const hidden = await page.locator("main").evaluate((main) => main.scrollHeight - main.clientHeight);
  if (hidden <= 0) return;
  await page.setViewportSize({ width, height: Math.min(TALLEST, height + hidden) });
  await page.waitForTimeout(600);
}
