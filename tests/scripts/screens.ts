/**
 * npx tsx tests/scripts/screens.ts --out DIR [--states NAME…] [--screens NAME…] [--axe]
 *
 * Photographs every screen in every state, in both themes at 1440, 1024 and 390 pixels, into DIR/STATE. Prints errors of the
 * console by state, and with --axe the findings of axe. Exit 0: none; 1: some.
 */
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { one, parseArguments, runTool } from "../../scripts/lib/arguments.ts";
import { photographScreens } from "../../scripts/lib/screens.ts";
import { badInput } from "../../src/engine/errors.ts";
import { violations } from "../support/axe.ts";
import { CHEAP_RUN, type OpenPage, openPage, show, untilReady } from "../support/page.ts";

/** A run long enough to be photographed while it runs, with groups of the usual size. */
const RUN = {
  ...CHEAP_RUN,
  numGenerations: "6",
  maxCompletionLength: "12",
  steps: "400",
  evalSteps: "2",
  evalRows: "4",
};

interface State {
  /** Address that the page opens at. */
  readonly hash?: Readonly<Record<string, string>>;
  readonly webgpu?: boolean;
  /** Before the page is opened again. */
  readonly before?: (page: Page) => Promise<unknown>;
  /** Leads the page to the state. */
  readonly reach: (page: Page) => Promise<void>;
}

async function begin(page: Page): Promise<void> {
  await untilReady(page);
  await page.getByTestId("strip-start").click();
}

/** Waits until that many steps are done. */
async function untilStep(page: Page, least: number): Promise<void> {
  const done = async (): Promise<number> => Number((await page.getByTestId("step").textContent())?.split("/")[0]);
  while ((await done()) < least) await page.waitForTimeout(200);
}

/** A click on the overlap over the frames shows the frame below the pointer. */
async function clickCurve(page: Page): Promise<void> {
  await show(page, { screen: "train", tab: "rollouts" });
  const curve = page.getByTestId("frame-curve").first();
  for (const [at, part] of [0.99, 0.41, 0.01].entries()) {
    const { width, height } = (await curve.boundingBox()) ?? { width: 0, height: 0 };
    await curve.click({ position: { x: part * width, y: height / 2 } });
    await page
      .getByText(`Frame ${[6, 3, 1][at]} of 6`)
      .first()
      .waitFor();
  }
}

const STATES: Readonly<Record<string, State>> = {
  /** Neither recorded run nor rows: the screens' empty states. */
  empty: {
    before: (page) => page.route(/\/pocket\/(recorded|shards|clips)\//, (route) => route.abort()),
    reach: (page) => page.waitForTimeout(3000),
  },
  /** The model never arrives. */
  loading: {
    before: (page) => page.route(/\/pocket\/model\/.*safetensors/, () => undefined),
    reach: (page) => page.waitForTimeout(3000),
  },
  "no-webgpu": { webgpu: false, reach: (page) => page.waitForTimeout(3000) },
  /** The recorded run, read-only. */
  recorded: { reach: untilReady },
  running: {
    hash: RUN,
    reach: async (page) => {
      await begin(page);
      await untilStep(page, 3);
    },
  },
  paused: {
    hash: RUN,
    reach: async (page) => {
      await begin(page);
      await untilStep(page, 2);
      await page.getByTestId("pause").click();
      await page.locator("[data-testid=run-state][data-state=paused]").waitFor();
    },
  },
  finished: {
    hash: { ...RUN, steps: "4" },
    reach: async (page) => {
      await begin(page);
      await page.locator("[data-testid=run-state][data-state=finished]").waitFor();
    },
  },
  /** Another visit, after a run. */
  returned: {
    hash: { ...RUN, steps: "4", evalRows: "8" },
    reach: async (page) => {
      await begin(page);
      await page.locator("[data-testid=run-state][data-state=finished]").waitFor();
      const { href } = new URL("#", page.url());
      await page.goto("about:blank");
      await page.goto(href);
      await untilReady(page);
    },
  },
  /** Ten steps of both loops over the demo clips, whose player follows clicks on its curve; the rollouts that are shown are those of the last step. */
  clips: {
    hash: { screen: "data", preset: "clips", steps: "10", evalSteps: "5" },
    reach: async (page) => {
      await untilReady(page);
      await page.getByRole("button", { name: "Use demo clips" }).first().click();
      await page
        .getByTestId("gallery")
        .getByRole("img", { name: /of the clip$/ })
        .first()
        .waitFor();
      await begin(page);
      await page.locator("[data-testid=run-state][data-state=finished]").waitFor();
      await clickCurve(page);
    },
  },
  /** The trainer's worker fails in the middle of a run. */
  failed: {
    hash: RUN,
    before: async (page) => {
      await page.addInitScript(`{
        const Real = Worker;
        globalThis.Worker = class extends Real {
          constructor(url, options) { super(url, options); if (String(url).includes("trainer")) globalThis.trainerWorker = this; }
        };
      }`);
    },
    reach: async (page) => {
      await begin(page);
      await untilStep(page, 2);
      await page.evaluate(`trainerWorker.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }))`);
      await page.locator("[data-testid=problems] p").first().waitFor();
    },
  },
};

interface Asked {
  readonly axe: boolean;
  /** All by default. */
  readonly screens: readonly string[] | undefined;
}

async function photograph(name: string, state: State, out: string, { axe, screens }: Asked): Promise<string[]> {
  const lab: OpenPage = await openPage(state.hash ?? {}, {
    bypassCSP: true,
    width: 1440,
    height: 900,
    webgpu: state.webgpu !== false,
  });
  try {
    const { page } = lab;
    await page.emulateMedia({ reducedMotion: "reduce" });
    await state.before?.(page);
    if (state.before !== undefined) await page.reload();
    await state.reach(page);
    const folder = join(out, name);
    mkdirSync(folder, { recursive: true });
    const found: string[] = [];
    await photographScreens(page, folder, {
      whole: true,
      ...(screens === undefined ? {} : { screens }),
      check: async (screen) => {
        if (axe) for (const text of await violations(page)) found.push(`${name} ${screen}: ${text}`);
      },
    });
    return [...found, ...lab.consoleErrors.map((text) => `${name}: console: ${text}`)];
  } finally {
    await lab.close();
  }
}

const OPTIONS = {
  out: { takes: 1 },
  states: { takes: "many" },
  screens: { takes: "many" },
  axe: { takes: 0 },
} as const;

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const out = one(parsed, "out");
  if (out === undefined) throw badInput("--out DIR is needed", "out");
  const wanted = parsed.get("states") ?? Object.keys(STATES);
  const asked = { axe: parsed.has("axe"), screens: parsed.get("screens") };
  let findings = 0;
  for (const name of wanted) {
    const state = STATES[name];
    if (state === undefined) throw badInput(`--states: ${name} is none of ${Object.keys(STATES).join(", ")}`, name);
    const found = await photograph(name, state, resolve(out), asked);
    findings += found.length;
    process.stdout.write(`${name}: ${found.length} findings\n${found.map((line) => `  ${line}\n`).join("")}`);
  }
  return findings === 0 ? 0 : 1;
});
