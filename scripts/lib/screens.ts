/** Pictures of every screen: light and dark, wide and narrow. */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { SCREENS } from "../../src/app/stores/route-text.ts";

const SIZES = [
  { name: "", width: 1440, height: 900 },
  { name: "-narrow", width: 390, height: 844 },
] as const;

/** Writes `<screen>[-dark][-narrow].png` below `folder`. Leaves the page wide and light. */
export async function photographScreens(page: Page, folder: string): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize({ width: size.width, height: size.height });
    for (const dark of [false, true]) {
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
      for (const screen of SCREENS) {
        await page.evaluate(`location.hash = "#screen=${screen}"`);
        // Curves and pictures draw a moment later.
        await page.waitForTimeout(900);
        await page.screenshot({ path: join(folder, `${screen}${dark ? "-dark" : ""}${size.name}.png`) });
      }
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}
