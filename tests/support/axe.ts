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

const STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Rules that look at colours: all that another theme of the same elements can break. */
export const OF_COLOURS = ["color-contrast", "link-in-text-block"];

/**
 * Serious and critical violations as "rule: place (what)"; the page must be open with bypassCSP, which lets axe in.
 * @param runOnly standards or rules
 */
export async function violations(page: Page, runOnly: readonly string[] = STANDARDS): Promise<string[]> {
  // Half a megabyte: read once a visit.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = (await page.evaluate(
    (only) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
        .run({ resultTypes: ["violations"], runOnly: only })
        .then((result) => result.violations),
    runOnly,
  )) as Violation[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(" ")} (${node.failureSummary?.split("\n")[1]?.trim() ?? ""})`),
    );
}
