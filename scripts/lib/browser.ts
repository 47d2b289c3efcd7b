/** A headless Chromium with WebGPU on its software adapter; collects console errors. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { LabError } from "../../src/engine/errors.ts";
import { ensureChromium } from "./ensure.mjs";

/**
 * Features to disable. Chromium uses only the last list, so this one repeats Playwright's and adds features that an
 * unattended browser does not need: pages behind the address bar, a process per window (a fifth of the processor time
 * of opening the lab) and a spare process.
 */
const DISABLED = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "TcpPortRandomizationWin",
  "ThirdPartyStoragePartitioning",
  "SpareRendererForSitePerProcess",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "WebUIOmniboxPopup",
];

/**
 * Compositing on the processor takes a quarter less processor time than OpenGL on a software adapter. WebGPU canvases would need
 * the adapter for compositing; the page draws in 2D (docs/spec/webgpu.md#11-headless-chromium-with-swiftshader).
 */
export const CHROMIUM_ARGS = [
  "--no-sandbox",
  "--enable-unsafe-webgpu",
  "--disable-gpu-compositing",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  `--disable-features=${DISABLED.join(",")}`,
];

export interface WatchedPage {
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
  /** Console errors and uncaught exceptions so far. */
  readonly consoleErrors: string[];
}

export interface BrowserOptions {
  readonly width: number;
  readonly height: number;
  readonly dark?: boolean;
  /** False leaves WebGPU out, as in a browser that has none. */
  readonly webgpu?: boolean;
  /** Allows scripts that the page's security policy forbids, for checkers. */
  readonly bypassCSP?: boolean;
  /** Folder of a profile, as an installed browser has; without it storage is that of a private window: small, and in memory. */
  readonly profile?: string;
  /** Environment of the browser, in addition to the tool's. */
  readonly env?: Readonly<Record<string, string>>;
}

/** @throws LabError("unsupported") when there is no Chromium on this machine */
export async function openBrowser(options: BrowserOptions): Promise<WatchedPage> {
  const executablePath = ensureChromium();
  if (executablePath === null) {
    throw new LabError(
      "unsupported",
      "No Chromium found: install one (Debian: apt-get install chromium) or set CHROMIUM",
    );
  }
  const args = CHROMIUM_ARGS.filter((arg) => options.webgpu !== false || arg !== "--enable-unsafe-webgpu");
  // Imported here because loading takes half a second, which a wrong argument should not cost.
  const { chromium } = await import("playwright-core");
  const launched = {
    executablePath,
    headless: true,
    args,
    ...(options.env === undefined ? {} : { env: { ...process.env, ...options.env } }),
  };
  const opened = {
    viewport: { width: options.width, height: options.height },
    colorScheme: options.dark === true ? "dark" : "light",
    acceptDownloads: true,
    bypassCSP: options.bypassCSP === true,
  } as const;
  const context =
    options.profile === undefined
      ? await (await chromium.launch(launched)).newContext(opened)
      : await chromium.launchPersistentContext(options.profile, { ...launched, ...opened });
  const browser = context.browser() as Browser;
  const page = context.pages()[0] ?? (await context.newPage());
  return { browser, context, page, consoleErrors: watchErrors(page) };
}

/** Collects console errors and uncaught exceptions of a page. @param errors those of another tab */
export function watchErrors(page: Page, errors: string[] = []): string[] {
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(error.message));
  return errors;
}
