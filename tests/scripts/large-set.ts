/**
 * npx tsx tests/scripts/large-set.ts [--rows N]
 *
 * Opens N rows (100,000 by default) in the page and prints the seconds until they are indexed, filtered, scrolled to the
 * end and a run has drawn its first prompt, and the largest resident size of the browser's processes after each. The rows are
 * lines of JSON with polygons over ten pictures. Times are of this machine with a software adapter.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { CHEAP_RUN, openPage, untilReady } from "../support/page.ts";
import { png } from "../unit/data/make.ts";

const OPTIONS = { rows: { takes: 1 } } as const;
const PICTURES = 10;
const [WIDTH, HEIGHT] = [640, 480];
const LONG = { timeout: 600_000 };

/** A folder of N rows. */
function largeSet(rows: number): string {
  const folder = mkdtempSync(join(tmpdir(), "large-set-"));
  for (let at = 0; at < PICTURES; at++) writeFileSync(join(folder, `${at}.png`), png(WIDTH, HEIGHT, at));
  const lines = Array.from({ length: rows }, (_, at) => {
    const [x, y] = [at % 500, (at * 7) % 400];
    const mask = [[x, y, x + 100, y, x + 100, y + 60, x, y + 60]];
    return JSON.stringify({ file_name: `${at % PICTURES}.png`, mask, caption: `thing ${at} of a large set` });
  });
  writeFileSync(join(folder, "rows.jsonl"), `${lines.join("\n")}\n`);
  return folder;
}

/** Largest resident size of a process so far in MB; 0 for one that has ended. */
function peak(id: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) / 1024;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw thrown;
  }
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const rows = whole(parsed, "rows", 100, 10_000_000, 100_000);
  const folder = largeSet(rows);
  const lab = await openPage({ screen: "data", ...CHEAP_RUN });
  const { page, browser } = lab;
  const client = await browser.newBrowserCDPSession();
  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    const began = performance.now();
    await work();
    const seconds = (performance.now() - began) / 1000;
    const { processInfo } = await client.send("SystemInfo.getProcessInfo");
    const sizes = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => peak(id));
    process.stdout.write(
      `${what}: ${seconds.toFixed(2)} s, page and workers at most ${Math.max(...sizes).toFixed(0)} MB\n`,
    );
  };
  const counts = (text: RegExp): Promise<unknown> =>
    page.getByTestId("data-counts").filter({ hasText: text }).waitFor(LONG);
  const number = rows.toLocaleString("en").replaceAll(",", "[^\\d]?");
  try {
    await timed("page with pocket rows", () => untilReady(page));
    await timed(`index of ${rows} rows`, async () => {
      await page.getByTestId("pick-shards").setInputFiles(folder);
      await counts(new RegExp(`^${number} rows`));
      await untilReady(page);
    });
    await timed("filter to the rows of one caption", async () => {
      await page.getByRole("searchbox").fill(`thing ${rows - 1} `);
      await counts(/^1 of /);
    });
    await timed("filter taken back", async () => {
      await page.getByRole("searchbox").fill("");
      await counts(new RegExp(`^${number} rows`));
    });
    await timed("scroll to the end", async () => {
      await page.evaluate(
        `(() => { const list = document.querySelector("[data-testid=gallery]"); list.scrollTop = list.scrollHeight; })()`,
      );
      await page
        .getByTestId("gallery")
        .getByText(`thing ${rows - 1} `)
        .waitFor(LONG);
    });
    await timed("start of a run to its first group", async () => {
      await page.getByTestId("strip-start").click();
      await page.locator("main[data-screen=train]").waitFor(LONG);
      await page.getByTestId("rollout-card").first().waitFor(LONG);
    });
  } finally {
    await lab.close();
    rmSync(folder, { recursive: true });
  }
  return 0;
});
