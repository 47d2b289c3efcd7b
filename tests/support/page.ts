/** The built page in a real Chromium, for the browser tests. */
import { basename } from "node:path";
import type { Download, Locator, Page } from "playwright-core";
import { type BrowserOptions, openBrowser, type WatchedPage } from "../../scripts/lib/browser.ts";
import type { PageServer } from "../../scripts/lib/page-server.ts";
import { WAIT } from "./hang.ts";

/** The cheapest run that trains both loops; a software adapter needs seconds for a step. */
export const CHEAP_RUN = {
  steps: "2",
  numGenerations: "2",
  promptsPerStep: "1",
  maxCompletionLength: "4",
  partnerMaxTokens: "4",
  loraR: "4",
  warmupSteps: "0",
  saveSteps: "0",
  evalSteps: "0",
  loop2Weight: "0.1",
};

/** Every screen of the page. */
export const SCREENS = ["home", "data", "setup", "rewards", "train", "runs"];

export interface OpenPage extends WatchedPage {
  readonly url: string;
  close(): Promise<void>;
}

/** The server that the browser tests share (build-page.ts), or one of the caller's own where there is none. */
export async function pageServer(): Promise<PageServer> {
  const url = process.env.LAB_PAGE;
  if (url !== undefined) return { url, close: async () => undefined };
  const { servePage } = await import("../../scripts/lib/page-server.ts");
  return servePage();
}

/**
 * Serves and opens the page at a hash, such as { screen: "setup" }.
 * @param before what the page needs before it is opened, such as scripts; opening it again would take as long as the first time
 */
export async function openPage(
  hash: Readonly<Record<string, string>> = {},
  options: Partial<BrowserOptions> = {},
  before: (page: Page) => Promise<void> = async () => undefined,
): Promise<OpenPage> {
  const server = await pageServer();
  const watched = await openBrowser({ width: 1280, height: 860, ...options });
  watched.context.setDefaultTimeout(WAIT);
  await before(watched.page);
  await watched.page.goto(`${server.url}#${new URLSearchParams(hash)}`);
  return {
    ...watched,
    url: server.url,
    async close() {
      await watched.browser.close();
      await server.close();
    },
  };
}

/** Drops a model folder on the middle of Setup. */
export async function dragModel(page: Page, folder: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files: [folder], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await devtools.send("Input.dispatchDragEvent", { type, x: 640, y: 430, data });
}

/** Drops a model folder and waits until the page shows it as the loaded model. */
export async function dropModel(page: Page, folder: string): Promise<void> {
  await dragModel(page, folder);
  const facts = page.getByTestId("model-facts").filter({ hasText: basename(folder) });
  await facts.waitFor({ state: "attached" });
}

/** Waits until rows and model are there and the start button can be pressed. */
export async function untilReady(page: Page): Promise<void> {
  await page.locator("[data-testid=strip-start]:not([aria-disabled])").waitFor();
}

const ROUTE_KEYS = ["tab", "run", "step", "rollout", "group", "row", "panel"];

/** Opens a place of the page as an edited address does; the settings in it stay. */
export async function show(page: Page, place: Readonly<Record<string, string>>): Promise<void> {
  // From the page itself: the driver's address lags behind changes that the page makes.
  const hash = new URLSearchParams(String(await page.evaluate("location.hash.slice(1)")));
  for (const key of ROUTE_KEYS) hash.delete(key);
  for (const [key, value] of Object.entries(place)) hash.set(key, value);
  await page.evaluate(`location.hash = ${JSON.stringify(`#${hash}`)}`);
  if (place.screen !== undefined) await page.locator(`main[data-screen=${place.screen}]`).waitFor();
}

/** Presses Tab until this has the focus, then Enter, as a person without a pointer. @throws Error when Tab does not reach it */
export async function tabToAndPress(target: Locator): Promise<void> {
  const keyboard = target.page().keyboard;
  await target.waitFor();
  for (let press = 0; press < 200; press++) {
    if (await target.evaluate((element) => element.matches(":focus"))) return await keyboard.press("Enter");
    await keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${target}`);
}

/** Sum of the layout shifts since the page was opened that no input caused, as the browser counts them. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        type Shift = PerformanceEntry & { readonly value: number; readonly hadRecentInput: boolean };
        new PerformanceObserver((list) => {
          const shifts = list.getEntries() as Shift[];
          resolve(shifts.reduce((sum, { value, hadRecentInput }) => sum + (hadRecentInput ? 0 : value), 0));
        }).observe({ type: "layout-shift", buffered: true });
        // Without any shift the observer is never called.
        setTimeout(() => resolve(0), 500);
      }),
  );
}

/** The failures that the page lists. */
export async function problems(page: Page): Promise<readonly string[]> {
  return (await page.locator("[data-testid=problems] p").allTextContents()).map((text) => text.trim());
}

/** An event of the trainer without its arrays. */
export interface RunEvent {
  readonly type: string;
  readonly step?: number;
  readonly state?: string;
  readonly metrics?: Readonly<Record<string, number>>;
  readonly error?: { readonly message: string };
}

/** Follows the trainer's events across reloads; call before the page is opened. @param events what another tab has told */
export async function followTrainer(page: Page, events: RunEvent[] = []): Promise<RunEvent[]> {
  await page.exposeFunction("keepEvent", (event: RunEvent) => events.push(event));
  await page.addInitScript(`addEventListener("lab:trainer", ({ detail }) => {
    if (["state", "step", "checkpoint", "eval", "failed"].includes(detail.type)) keepEvent(detail);
  })`);
  return events;
}

/** `openPage` with the trainer's events followed; waits until a run can be started. */
export async function openFollowed(
  hash: Readonly<Record<string, string>> = {},
  options: Partial<BrowserOptions> = {},
  before: (page: Page) => Promise<void> = async () => undefined,
): Promise<{ readonly lab: OpenPage; readonly events: RunEvent[] }> {
  let events: RunEvent[] = [];
  const lab = await openPage(hash, options, async (page) => {
    events = await followTrainer(page);
    await before(page);
  });
  await untilReady(lab.page);
  return { lab, events };
}

/** Waits for an event after the first `from` ones, at most `wait` milliseconds. @throws Error when the run fails instead */
export async function untilEvent(
  events: readonly RunEvent[],
  from: number,
  wanted: (event: RunEvent) => boolean,
  wait = WAIT,
): Promise<RunEvent> {
  const deadline = Date.now() + wait;
  for (;;) {
    const fresh = events.slice(from);
    const found = fresh.find(wanted);
    if (found !== undefined) return found;
    const failed = fresh.find((event) => event.type === "failed");
    if (failed !== undefined) throw new Error(`The run failed: ${failed.error?.message}`);
    if (Date.now() > deadline) throw new Error(`No such event within ${wait / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Saves an export of the newest run on the Runs screen. @param form as the menu names it */
export async function saveExport(page: Page, form = "Whole run (zip)"): Promise<Download> {
  await page.getByTestId("export-run").first().click();
  const entry = page.getByRole("menuitem", { name: form });
  const [download] = await Promise.all([page.waitForEvent("download"), entry.click()]);
  return download;
}
