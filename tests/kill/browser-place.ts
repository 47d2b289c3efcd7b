/** Runs in the page, whose whole browser is killed after an event of the trainer drawn by the seed. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { type Browser, chromium, type Page } from "playwright-core";
import { CHROMIUM_ARGS } from "../../scripts/lib/browser.ts";
import { ensureChromium } from "../../scripts/lib/ensure.mjs";
import { LabError } from "../../src/engine/errors.ts";
import { WAIT } from "../support/hang.ts";
import { CHEAP_RUN, pageServer, saveExport, untilReady } from "../support/page.ts";
import { type Life, type Place, type Run, SETTINGS } from "./place.ts";

interface OpenBrowser {
  readonly page: Page;
  /** Ends every process of the browser at once. */
  kill(): Promise<void>;
}

async function openBrowser(executable: string, profile: string): Promise<OpenBrowser> {
  const portFile = join(profile, "DevToolsActivePort");
  rmSync(portFile, { force: true });
  const flags = [
    ...CHROMIUM_ARGS,
    "--headless",
    "--disable-extensions",
    "--disable-default-apps",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
  ];
  // A process group of its own, so that one signal reaches all its children.
  const child: ChildProcess = spawn(executable, [...flags, "about:blank"], { detached: true, stdio: "ignore" });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  // The file exists before its first line, the port, is written.
  const port = (): string | undefined =>
    existsSync(portFile) ? /^(\d+)\n/.exec(readFileSync(portFile, "utf8"))?.[1] : undefined;
  for (let waited = 0; port() === undefined; waited += 50) {
    if (child.exitCode !== null || waited > WAIT) throw new LabError("internal", "Chromium did not start");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const browser: Browser = await chromium.connectOverCDP(`http://127.0.0.1:${port()}`);
  const [context] = browser.contexts();
  if (context === undefined) throw new LabError("internal", "Chromium opened no window");
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(WAIT);
  return {
    page,
    async kill() {
      process.kill(-(child.pid as number), "SIGKILL");
      await exited;
      await browser.close().catch(() => undefined);
    },
  };
}

/** Counts the trainer's events and calls back at each; `state` is the last reported state. */
async function follow(page: Page, heard: (type: string, state: string | undefined) => void): Promise<void> {
  await page.exposeFunction("killEvent", heard);
  await page.addInitScript(
    `addEventListener("lab:trainer", ({ detail }) => killEvent(detail.type, detail.state ?? detail.error?.message))`,
  );
}

/** @throws LabError("unsupported") when there is no Chromium */
export async function browserPlace(): Promise<Place> {
  const executable = ensureChromium();
  if (executable === null) throw new LabError("unsupported", "No Chromium found: install one or set CHROMIUM");
  const server = await pageServer();
  const hash = new URLSearchParams({
    screen: "runs",
    ...CHEAP_RUN,
    ...Object.fromEntries(Object.entries(SETTINGS).map(([name, value]) => [name, String(value)])),
  });
  /** Events of an undisturbed run. */
  let events = 0;
  const open = async (): Promise<Run> => {
    const profile = mkdtempSync(join(tmpdir(), "lab-kill-profile-"));
    let kept = new Map<string, Uint8Array>();
    /** The stored run's own buttons; null when nothing was stored. */
    const begin = async (page: Page): Promise<void> => {
      const row = page.getByTestId("runs-table").locator("tbody tr");
      if ((await row.count()) === 0) return page.getByTestId("strip-start").click();
      const resume = row.first().getByRole("button", { name: "Resume", exact: true });
      if ((await resume.getAttribute("aria-disabled")) !== "true") return resume.click();
      // It was killed before its first checkpoint, so the run begins anew.
      await row.first().getByTestId("more-of-run").click();
      await page.getByRole("menuitem", { name: "Delete…" }).click();
      await page.getByRole("button", { name: /^Delete \d/ }).click();
      await row.first().waitFor({ state: "detached" });
      return page.getByTestId("strip-start").click();
    };
    const live = async (moment: number | null): Promise<Life> => {
      const browser = await openBrowser(executable, profile);
      const { page } = browser;
      const at = moment === null ? Number.POSITIVE_INFINITY : Math.floor(moment * events);
      let begun = false;
      let count = 0;
      let settle: (life: Life) => void = () => undefined;
      let fail: (error: Error) => void = () => undefined;
      const ended = new Promise<Life>((resolve, reject) => {
        settle = resolve;
        fail = reject;
      });
      ended.catch(() => undefined); // awaited below
      await follow(page, (type, state) => {
        if (begun && count++ === at) settle({ killed: `event ${at} of ${events} (${type})` });
        if (type === "failed") fail(new Error(`The run failed: ${state}`));
        if (type === "state" && state === "finished") settle({ killed: null });
      });
      try {
        await page.goto(`${server.url}#${hash}`);
        await untilReady(page);
        begun = true;
        await begin(page);
        const life = await ended;
        if (life.killed === null) {
          events = Math.max(events, count);
          kept = await exported(page, server.url);
        }
        return life;
      } finally {
        await browser.kill();
      }
    };
    // The last processes of a killed browser may write for a moment longer, so removal of the folder is repeated.
    const close = async () => rmSync(profile, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
    return { live, files: async () => kept, close };
  };
  return { open, close: () => server.close() };
}

/** The newest run's files, through the export of the page. */
async function exported(page: Page, url: string): Promise<Map<string, Uint8Array>> {
  await page.goto(`${url}#screen=runs`);
  const download = await saveExport(page);
  const entries = Object.entries(unzipSync(new Uint8Array(readFileSync(await download.path()))));
  return new Map(entries.map(([path, bytes]) => [path.split("/").slice(1).join("/"), bytes]));
}
