/** A run on another machine: the page reads it from its server and shows new steps as they arrive. */
import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type OpenPage, openPage, show } from "../support/page.ts";
import { python } from "../support/tools.ts";

const RECORDED = join(root, "public", "pocket", "recorded");
const LATER = "step-000005.arrow";
const needed = await python("-c", "import http.server");
if (needed.code !== 0) console.warn("Skipped: no Python; set PYTHON to one");

describe.skipIf(needed.code !== 0)("a run behind an address", () => {
  let lab: OpenPage;
  let server: ChildProcess;
  let scratch: string;
  let run: string;
  let lines: readonly string[];
  let evaluations: readonly string[];
  let address = "";
  let token = "";

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "lab-follow-"));
    const [name] = (await readdir(RECORDED)).filter((entry) => !entry.includes("."));
    run = join(scratch, "run");
    await cp(join(RECORDED, name as string), run, { recursive: true });
    await cp(join(run, "rollouts", LATER), join(scratch, LATER));
    for (const name of await readdir(join(run, "rollouts"))) {
      if (name !== "step-000001.arrow") await rm(join(run, "rollouts", name));
    }
    // Not the id of the recorded run, which the page has anyway.
    const manifest = JSON.parse(await readFile(join(run, "run.json"), "utf8")) as object;
    await writeFile(join(run, "run.json"), JSON.stringify({ ...manifest, id: "far-1", title: "Far away" }));
    lines = (await readFile(join(run, "metrics.jsonl"), "utf8")).split("\n").slice(0, 5);
    await writeFile(join(run, "metrics.jsonl"), `${lines.slice(0, 3).join("\n")}\n`);
    evaluations = (await readFile(join(run, "eval.jsonl"), "utf8")).trim().split("\n");
    await writeFile(join(run, "eval.jsonl"), `${evaluations[0]}\n`);
    lab = await openPage({ screen: "runs" }, { webgpu: false });
    const words = ["-m", "sa2va_lab.serve", run, "--port", "0", "--origin", new URL(lab.page.url()).origin];
    server = spawn(process.env.PYTHON ?? "python3", words, { cwd: join(root, "python") });
    const said = await new Promise<string>((resolve, reject) => {
      let text = "";
      server.stdout?.on("data", (data: Buffer) => {
        text += data.toString();
        if (text.includes("token ") && text.endsWith("\n")) resolve(text);
      });
      server.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    address = /^http\S+/.exec(said)?.[0] ?? "";
    token = /token (\w+)/.exec(said)?.[1] ?? "";
  });
  afterAll(async () => {
    server.removeAllListeners("exit");
    server.kill();
    await lab.close();
    await rm(scratch, { recursive: true, force: true });
  });

  const open = async (word: string): Promise<void> => {
    const form = lab.page.getByTestId("open-address");
    if ((await form.count()) === 0) await lab.page.getByTestId("open-run-address").click();
    await form.getByLabel("Address of a run").fill(address);
    await form.getByLabel("Token").fill(word);
    await form.getByRole("button", { name: "Open run from address" }).click();
  };

  it("is not shown without its token", async () => {
    await open("wrong");
    await lab.page.getByText("requires the token that it printed").waitFor();
  });

  it("is shown, and grows", async () => {
    await show(lab.page, { screen: "runs" });
    await open(token);
    const screen = lab.page.getByTestId("screen-train");
    await screen.getByText("computed on another machine, 3 steps so far, read-only").waitFor();
    const whole = `${lines.join("\n")}\n`;
    // Half of the last line: the page shows one more step and no error.
    await writeFile(join(run, "metrics.jsonl"), whole.slice(0, -40));
    await screen.getByText("computed on another machine, 4 steps so far").waitFor();
    await writeFile(join(run, "metrics.jsonl"), whole);
    await screen.getByText("computed on another machine, 5 steps so far").waitFor();
    await expect.poll(() => screen.getByText("Cannot read this run").count()).toBe(0);
    expect(lab.page.url()).not.toContain(token);
  });

  it("shows rollouts that arrive while it is viewed", async () => {
    await show(lab.page, { screen: "train", tab: "rollouts", run: "far-1" });
    const head = lab.page.getByTestId("screen-train").locator("header");
    await head.getByText("step 1", { exact: true }).waitFor();
    await cp(join(scratch, LATER), join(run, "rollouts", LATER));
    await head.getByText("step 5", { exact: true }).waitFor();
  });

  it("shows evaluations as they are computed", async () => {
    await show(lab.page, { screen: "train", tab: "held-out", run: "far-1" });
    const screen = lab.page.getByTestId("panel-held-out");
    await screen.getByText(/report rows, after 0 steps/).waitFor();
    const { step } = (JSON.parse(evaluations.at(-1) as string) as { report: { step: number } }).report;
    expect(step).toBeGreaterThan(0);
    await writeFile(join(run, "eval.jsonl"), `${evaluations.join("\n")}\n`);
    await screen.getByText(new RegExp(`report rows, after ${step} steps`)).waitFor();
  });

  it("keeps what it showed when the server is gone, and says so in one sentence", async () => {
    await show(lab.page, { screen: "train", run: "far-1" });
    server.removeAllListeners("exit");
    server.kill();
    const screen = lab.page.getByTestId("screen-train");
    await screen.getByText(/^Cannot read this run: .*did not answer: it is not running/).waitFor();
    await screen.getByText("computed on another machine, 5 steps so far").waitFor();
  });
});
