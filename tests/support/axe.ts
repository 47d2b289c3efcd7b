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

/** Serious and critical violations as "rule: place (what)"; the page must be open with bypassCSP, which lets axe in. */
export async function violations(page: Page): Promise<string[]> {
  // Half a megabyte: read once a visit.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = (await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
      .run({ resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })
      .then((result) => result.violations),
  )) as Violation[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(" ")} (${node.failureSummary?.split("\n")[1]?.trim() ?? ""})`),
    );
}
