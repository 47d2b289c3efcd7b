/**
 * Drives the real page in headless Chromium: selects shards through the file input, starts a run, prints a line per
 * step, and writes the exported run folder and screenshots of every screen.
 *
 *   npm run lab -- --headless --shards DIR… [--model DIR | --checkpoint ADDRESS] [--hub URL] --steps N [--seed S] [--mode rl|sft] [--loops both|1|2|3] [--preset NAME]
 *                  [--config FILE [--skip-unknown]] [--set NAME=VALUE]… --out DIR [--json] [--timeout SECONDS]
 *                  [--judge URL] [--judge-model NAME] [--judge-kind questions|dlc] [--judge-questions FILE]
 *                  [--allow-judge ORIGIN] [--allow-custom-reward]
 *
 * --set sets any setting of docs/settings.md, also under its name in TRL or the design notes, and overrides flags and
 * file. Such a name is also an option (--kl_coef 0.1). The judge's key is read from the environment variable
 * JUDGE_API_KEY and typed into the judge's field on Rewards, which binds it to the judge's origin. A judge or custom
 * reward that only a file names needs --allow-judge ORIGIN or --allow-custom-reward.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { unzipSync } from "fflate";
import type { Page } from "playwright-core";
import { isUnlinked } from "../src/engine/config/parse.ts";
import { badInput, LabError } from "../src/engine/errors.ts";
import { reachOf } from "../src/engine/rewards/consent.ts";
import type { TrainerMessage } from "../src/protocol/trainer.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { openBrowser, type WatchedPage } from "./lib/browser.ts";
import { CHECKPOINT_OPTIONS, checkpointText, requireHub } from "./lib/checkpoint-source.ts";
import { commandLineConsent, requireConsent } from "./lib/node/node-consent.ts";
import { JUDGE_OPTIONS } from "./lib/node/node-judge.ts";
import { servePage } from "./lib/page-server.ts";
import { photographScreens } from "./lib/screens.ts";
import { chosenSettings, knownWords, SETTINGS_OPTIONS } from "./lib/settings-flags.ts";
import { stepLine } from "./lib/step-line.ts";

const OPTIONS = {
  headless: { takes: 0 },
  shards: { takes: "many" },
  model: { takes: 1 },
  steps: { takes: 1 },
  seed: { takes: 1 },
  mode: { takes: 1 },
  loops: { takes: 1 },
  out: { takes: 1 },
  json: { takes: 0 },
  timeout: { takes: 1 },
  ...SETTINGS_OPTIONS,
  ...CHECKPOINT_OPTIONS,
  ...JUDGE_OPTIONS,
} as const;

/** Options that are settings. */
const FLAGS = (["steps", "seed", "mode", "loops", "hub"] as const).map((name) => [name, name] as const);

/** Default for a short run that shows every screen. */
const DEFAULT_STEPS = 3;

interface Task {
  readonly shards: readonly string[];
  readonly model: string | undefined;
  /** Address or repository, instead of a folder. */
  readonly checkpoint: string | undefined;
  readonly settings: Readonly<Record<string, string>>;
  readonly preset: string;
  readonly out: string;
  readonly json: boolean;
  readonly timeout: number;
  /** The judge's key; "" if its origin is not that of the judge in these settings. */
  readonly key: string;
  /** Whether the settings switch a judge on. */
  readonly asksJudge: boolean;
  /** Consents given on the command line, so that the page need not ask for them. */
  readonly allowed: {
    readonly judges: readonly string[];
    readonly rewards: readonly string[];
    readonly hubs: readonly string[];
  };
}

async function taskOf(words: readonly string[]): Promise<Task> {
  const parsed = parseArguments(knownWords(words, OPTIONS), OPTIONS);
  if (!parsed.has("headless")) {
    throw badInput("Only --headless is available; npm start opens the lab in a browser", "headless");
  }
  const out = one(parsed, "out");
  if (out === undefined) throw badInput("--out DIR is needed", "out");
  // The run is unpacked into this folder, where later steps of an earlier run would remain.
  if (existsSync(join(out, "run.json"))) throw badInput(`--out ${out} holds a run already; name another folder`, "out");
  const shards = (parsed.get("shards") ?? []).map((path) => folder(path, "--shards"));
  const model = one(parsed, "model");
  const say = (sentence: string): void => void process.stderr.write(`${sentence}\n`);
  const { preset, config, given } = chosenSettings(parsed, FLAGS, say);
  const consent = await commandLineConsent(parsed, process.env);
  const from = one(parsed, "config") ?? "The command line";
  await requireConsent(config, consent, from, say);
  requireHub(parsed, config.hub, from);
  const { judge, reward } = await reachOf(config);
  const settings = Object.entries({ steps: DEFAULT_STEPS, ...given }).map(([key, value]) => [key, String(value)]);
  return {
    shards,
    model: model === undefined ? undefined : folder(model, "--model"),
    checkpoint: checkpointText(parsed),
    settings: Object.fromEntries(settings),
    preset,
    out: resolve(out),
    json: parsed.has("json"),
    timeout: whole(parsed, "timeout", 1, 86_400, 3600),
    key: judge === null ? "" : consent.key(judge),
    asksJudge: config.judge !== "off" && judge !== null,
    allowed: {
      judges: judge !== null && consent.judge(judge) ? [judge] : [],
      rewards: reward !== null && consent.reward(reward.hash) ? [reward.hash] : [],
      hubs: [config.hub],
    },
  };
}

function folder(path: string, option: string): string {
  if (!existsSync(path)) throw badInput(`${option} ${path} does not exist`, path);
  return resolve(path);
}

/** One folder for the file input; several are copied into a temporary folder, which is used instead. */
function gathered(paths: readonly string[]): { readonly path: string; readonly remove: () => void } {
  const [only] = paths;
  if (paths.length === 1 && only !== undefined && statSync(only).isDirectory()) return { path: only, remove: () => {} };
  const parent = mkdtempSync(join(tmpdir(), "lab-shards-"));
  paths.forEach((path, i) => {
    cpSync(path, join(parent, `${i + 1}-${basename(path)}`), { recursive: true });
  });
  return { path: parent, remove: () => rmSync(parent, { recursive: true, force: true }) };
}

/** Follows the trainer's events; settles at the end of the run. */
async function followRun(page: Page, task: Task): Promise<{ readonly ended: Promise<string> }> {
  let settle: (state: string) => void = () => {};
  let refuse: (error: Error) => void = () => {};
  const ended = new Promise<string>((resolve, reject) => {
    settle = resolve;
    refuse = reject;
  });
  ended.catch(() => undefined); // awaited later
  await page.exposeFunction("labEvent", (event: TrainerMessage) => {
    if (event.type === "step") process.stdout.write(`${stepLine(event, task.json)}\n`);
    if (event.type === "alarm") process.stderr.write(`step ${event.alarm.step}: ${event.alarm.message}\n`);
    if (event.type === "failed") refuse(new LabError(event.error.code, event.error.message));
    if (event.type === "state" && (event.state === "finished" || event.state === "failed")) settle(event.state);
  });
  await page.addInitScript(`addEventListener("lab:trainer", (event) => labEvent(event.detail))`);
  return { ended };
}

/** The first problem that the page lists, if any. */
async function problemOn(page: Page): Promise<string | undefined> {
  const list = page.getByTestId("problems");
  if ((await list.count()) === 0) return undefined;
  return ((await list.first().textContent()) ?? "").replace(/\s+/g, " ").trim() || undefined;
}

/** Waits for a condition of the page; throws with the page's problem if it does not come true. */
async function until(page: Page, what: string, ready: () => Promise<boolean>, seconds: number): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (!(await ready())) {
    if (Date.now() > deadline) {
      throw new LabError(
        "internal",
        `${what} did not finish within ${seconds} s; the page says: ${(await problemOn(page)) ?? "nothing"}`,
      );
    }
    await page.waitForTimeout(200);
  }
}

async function drive(watched: WatchedPage, url: string, task: Task): Promise<void> {
  const { page } = watched;
  const run = await followRun(page, task);
  // Text settings are not part of the address; they are stored where the page keeps them between visits.
  const all = Object.entries(task.settings);
  const texts = Object.fromEntries(all.filter(([key]) => isUnlinked(key)));
  await page.addInitScript(
    `localStorage.setItem("sa2va-lab/1", ${JSON.stringify(JSON.stringify({ texts, allowed: task.allowed }))})`,
  );
  const settings = new URLSearchParams({
    screen: "data",
    preset: task.preset,
    ...Object.fromEntries(all.filter(([key]) => !isUnlinked(key))),
  });
  await page.goto(`${url}#${settings}`);
  // The address switches on a judge, so the page asks for consent, which the command line has given.
  if (task.asksJudge) await page.getByTestId("consent-allow").click();
  const enabled = () =>
    page
      .getByTestId("strip-start")
      .isEnabled()
      .catch(() => false);
  await until(page, "Loading the built-in model and shards", enabled, 180);
  if (task.shards.length > 0) {
    const source = gathered(task.shards);
    try {
      await page.getByTestId("pick-shards").setInputFiles(source.path);
      await page.waitForTimeout(300);
      await until(page, "Reading the shards", enabled, 600);
    } finally {
      source.remove();
    }
  }
  if (task.model !== undefined) {
    await page.getByTestId("pick-model").setInputFiles(task.model);
    await page.waitForTimeout(300);
    await until(page, "Loading the checkpoint", enabled, 1800);
  }
  if (task.checkpoint !== undefined) await loadByAddress(page, task.checkpoint, enabled);
  await enterKey(page, task.key);
  await page.getByTestId("strip-start").click();
  const timeout = new Promise<never>((_, reject) => {
    setTimeout(
      () => reject(new LabError("internal", `The run did not end within ${task.timeout} s`)),
      task.timeout * 1000,
    ).unref();
  });
  const state = await Promise.race([run.ended, timeout]);
  if (state !== "finished")
    throw new LabError("internal", `The run ended as ${state}: ${(await problemOn(page)) ?? "no reason given"}`);

  mkdirSync(join(task.out, "screens"), { recursive: true });
  await photographScreens(page, join(task.out, "screens"));
  await exportRun(page, task.out);
}

/** Types an address into the Setup screen, prints the size, and loads the checkpoint. */
async function loadByAddress(page: Page, address: string, enabled: () => Promise<boolean>): Promise<void> {
  await page.getByTestId("nav-setup").click();
  await page.getByTestId("open-address").click();
  await page.getByTestId("address").fill(address);
  await page.getByTestId("ask-address").click();
  const load = page.getByTestId("load-address");
  const known = async (): Promise<boolean> => {
    const problem = await problemOn(page);
    if (problem !== undefined) throw badInput(problem);
    return (await load.count()) > 0;
  };
  await until(page, "Asking for the checkpoint's size", known, 120);
  process.stderr.write(`${await page.getByTestId("address-size").textContent()}\n`);
  await load.click();
  await page.waitForTimeout(300);
  await until(page, "Loading the checkpoint", enabled, 1800);
  const problem = await problemOn(page);
  if (problem !== undefined) throw badInput(problem);
}

/** Types the judge's key, if there is one, into its field. */
async function enterKey(page: Page, key: string): Promise<void> {
  if (key === "") return;
  await page.getByTestId("nav-rewards").click();
  await page.getByTestId("judge-key").fill(key);
  await page.getByTestId("judge-key-use").click();
}

/** Exports the newest run through the Runs screen and unpacks it. */
async function exportRun(page: Page, out: string): Promise<void> {
  await page.goto(`${page.url().split("#")[0]}#screen=runs`);
  const button = page.getByTestId("export-run").first();
  await button.waitFor({ timeout: 30_000 });
  await button.click();
  const whole = page.getByRole("menuitem", { name: "Whole run (zip)" });
  const [download] = await Promise.all([page.waitForEvent("download", { timeout: 120_000 }), whole.click()]);
  const files = unzipSync(new Uint8Array(readFileSync(await download.path())));
  for (const [path, bytes] of Object.entries(files)) {
    if (path.endsWith("/")) continue;
    const place = join(out, path.split("/").slice(1).join("/") || path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, bytes);
  }
}

await runTool(async () => {
  const task = await taskOf(process.argv.slice(2));
  const server = await servePage();
  const watched = await openBrowser({ width: 1440, height: 900 });
  try {
    await drive(watched, server.url, task);
  } catch (thrown) {
    mkdirSync(join(task.out, "screens"), { recursive: true });
    await watched.page.screenshot({ path: join(task.out, "screens", "failed.png") }).catch(() => undefined);
    throw thrown;
  } finally {
    await watched.browser.close();
    await server.close();
  }
  // The browser logs every 404, also for optional files of a checkpoint.
  const expected = (line: string): boolean => task.checkpoint !== undefined && /status of 404/.test(line);
  const errors = watched.consoleErrors.filter((line) => !expected(line));
  for (const line of errors) process.stderr.write(`console: ${line}\n`);
  return errors.length === 0 ? 0 : 1;
});
