/** The automatic part of the accessibility check. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[];
}

const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Rules whose result depends on the theme. */
const COLOUR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * Serious and critical violations as "rule: place (what)"; the page must be open with bypassCSP, which lets axe in.
 * @param rules names of axe's rules; all of WCAG's levels A and AA when absent
 */
export async function violations(page: Page, rules: readonly string[] = LEVELS): Promise<string[]> {
  // Half a megabyte: read once a visit.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = (await page.evaluate(
    (runOnly) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
        .run({ resultTypes: ["violations"], runOnly })
        .then((result) => result.violations),
    [...rules],
  )) as Violation[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(" ")} (${node.failureSummary?.split("\n")[1]?.trim() ?? ""})`),
    );
}

/** Those of the light theme, which the page must show, and those of its colours in the dark one. */
export async function violationsInBothThemes(page: Page): Promise<string[]> {
  const light = await violations(page);
  await switchTheme(page, "dark");
  const dark = await violations(page, COLOUR_RULES);
  await switchTheme(page, "light");
  return [...light, ...dark.map((line) => `dark ${line}`)];
}

async function switchTheme(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html[data-theme=${theme}]`).waitFor({ state: "attached" });
}
