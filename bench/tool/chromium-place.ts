/** The bench in a page of headless Chromium, on SwiftShader or, with LAB_VK=lavapipe, on llvmpipe. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { build, preview } from "vite";
import { openBrowser, type WatchedPage } from "../../scripts/lib/browser.ts";
import { ensurePackages, root } from "../../scripts/lib/ensure.mjs";
import { LabError } from "../../src/engine/errors.ts";
import type { BenchRow } from "../row.ts";
import type { SuiteEnd } from "../run-suite.ts";
import { browserClock, descendants } from "./browser-clock.ts";
import type { BenchPlace, Listener } from "./place.ts";

const CACHE = join(root, "node_modules", ".cache", "bench");
const PAGE = join(root, "bench", "page");

/** Name of the driver that the tool substitutes for the browser's SwiftShader. */
export const LAVAPIPE = "llvmpipe (in the place of Chromium's SwiftShader)";

/** Isolated; otherwise clocks tick in tenths of milliseconds. */
const HEADERS = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };

interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** A separate build, so that the lab's page contains nothing of the bench. */
async function serveBench(): Promise<Served> {
  // onnxruntime-web has 140 MB that nothing else needs.
  ensurePackages(join(root, "bench"));
  const config = {
    root: PAGE,
    configFile: false as const,
    publicDir: join(root, "public"),
    logLevel: "error" as const,
    base: "./",
  };
  const out = join(CACHE, "page");
  await build({
    ...config,
    build: { target: "esnext", outDir: out, emptyOutDir: true, minify: false, chunkSizeWarningLimit: 1e6 },
  });
  const server = await preview({
    ...config,
    build: { outDir: out },
    preview: { port: 0, strictPort: false, open: false, headers: HEADERS },
  });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new LabError("internal", "The page server has no port");
  return { url: `http://localhost:${address.port}/`, close: () => server.close() };
}

/** Path of lavapipe.c, compiled, to preload. @throws LabError("unsupported") when it cannot be compiled here */
export function lavapipeLibrary(): string {
  mkdirSync(CACHE, { recursive: true });
  const library = join(CACHE, "lavapipe.so");
  const source = join(root, "bench", "tool", "lavapipe.c");
  const { status, stderr } = spawnSync("cc", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], {
    encoding: "utf8",
  });
  if (status === 0 && existsSync(library)) return library;
  throw new LabError(
    "unsupported",
    `Chromium on lavapipe needs a C compiler and Vulkan's headers (Debian: gcc libvulkan-dev): ${(stderr ?? "").trim()}`,
  );
}

async function openPage(url: string, env: Readonly<Record<string, string>>): Promise<WatchedPage> {
  const watched = await openBrowser({ width: 400, height: 300, env });
  await watched.page.goto(url);
  await watched.page.waitForFunction("typeof runBench === 'function'");
  return watched;
}

/** Calls a function of the page and rethrows its errors here. */
async function call<T>({ page, browser, consoleErrors }: WatchedPage, name: string, argument: unknown): Promise<T> {
  try {
    return (await page.evaluate(`${name}(${JSON.stringify(argument)})`)) as T;
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    const all = [...consoleErrors, said].map((text) => text.split("\n")[0]).join("; ");
    throw new LabError("gpu", `The page stopped: ${all}`, { cause: thrown });
  } finally {
    await browser.close();
  }
}

export async function chromiumPlace(driver: string | undefined): Promise<BenchPlace> {
  const served = await serveBench();
  const lavapipe = driver === "lavapipe";
  const others = new Set(descendants(process.pid));
  // A first step must find no compiled programs in Mesa's disk cache.
  const open = async (listener: Listener | null, processorTime: boolean): Promise<WatchedPage> => {
    const driverEnv = lavapipe ? { LD_PRELOAD: lavapipeLibrary() } : {};
    const cacheEnv = listener === null ? { MESA_SHADER_CACHE_DISABLE: "true" } : {};
    const watched = await openPage(served.url, { ...driverEnv, ...cacheEnv });
    const { page } = watched;
    if (listener !== null) {
      await page.exposeFunction("benchRow", (row: BenchRow) => listener.onRow(row));
      await page.exposeFunction("benchLeftOut", (what: string, why: string) => listener.onLeftOut(what, why));
    }
    if (processorTime) await page.exposeFunction("benchClock", browserClock(others));
    return watched;
  };
  return {
    async run(options, listener) {
      const watched = await open(listener, options.processorTime);
      return await call<SuiteEnd>(watched, "runBench", {
        ...options,
        disguised: lavapipe ? LAVAPIPE : options.disguised,
      });
    },
    async first(task) {
      return await call<number>(await open(null, task.processorTime), "runFirst", task);
    },
    close: () => served.close(),
  };
}
