/**
 * Settings from an address and from files, under the names of other trainers, and the plan's text about the browser's
 * storage.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { formatShare } from "../../src/app/styles/format.ts";
import { CHEAP_RUN, type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";
import { testWith } from "../support/plugins.ts";

const PHOTOGRAPHS = join(root, "tests", "fixtures", "photographs", "data-00000-of-00001.arrow");

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({ screen: "setup", ...CHEAP_RUN, num_generations: "6", max_steps: "-1" });
  await untilReady(lab.page);
});
afterAll(() => lab.close());

/** The settings as the page exports them. */
async function settings(): Promise<Readonly<Record<string, unknown>>> {
  const [download] = await Promise.all([
    lab.page.waitForEvent("download"),
    lab.page.getByTestId("export-config").click(),
  ]);
  const chunks: Uint8Array[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Uint8Array);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Readonly<Record<string, unknown>>;
}

const pick = (name: string, text: string): Promise<void> =>
  lab.page.getByTestId("pick-config").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(text) });

describe("TRL's names", () => {
  it("are taken from the address where our own are not there", async () => {
    expect(await problems(lab.page)).toEqual([
      "In the address, Other names were translated: num_generations is overridden by numGenerations, max_steps is overridden by steps",
    ]);
    expect(await settings()).toMatchObject({ numGenerations: 2, steps: 2 });
    await lab.page.goto(`${lab.url}#screen=setup&num_generations=6&save_steps=5`);
    await expect.poll(settings).toMatchObject({ numGenerations: 6, saveSteps: 5 });
  });

  it("are taken from flat YAML, all or none", async () => {
    await pick("grpo.yaml", "num_generations: 5\nmax_steps: 9\nuse_vllm: true\n");
    // A name without a counterpart is offered to be left out.
    await expect
      .poll(() => lab.page.getByTestId("skipped-names").locator("li").allTextContents())
      .toEqual(['there is no setting "use_vllm"']);
    await lab.page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    expect(await settings()).toMatchObject({ numGenerations: 6 });
    await pick("bad.json", '{"numGenerations": 5, "temperature": -1}');
    await expect
      .poll(async () => (await problems(lab.page))[0])
      .toMatch(/^bad\.json: temperature .*; the settings are kept$/);
    expect(await settings()).toMatchObject({ numGenerations: 6 });
    await pick("grpo.yaml", "num_generations: 5\nmax_steps: 9\nsave_steps: 3 # as before\neval_strategy: no\n");
    await expect.poll(async () => (await problems(lab.page))[0]).toMatch(/^grpo\.yaml: Other names were translated: /);
    expect(await settings()).toMatchObject({ numGenerations: 5, steps: 9, saveSteps: 3, evalSteps: 0 });
  });
});

testWith("diagnostics")(
  "a dry run measures a step beside the forecast, can be cancelled, and stores nothing",
  async () => {
    const { page } = lab;
    const runs = (): Promise<unknown> =>
      page.evaluate(`(async () => {
      const root = await navigator.storage.getDirectory();
      return Array.fromAsync((await root.getDirectoryHandle("runs")).keys());
    })()`);
    await pick(
      "cheap.json",
      JSON.stringify({ numGenerations: 2, maxCompletionLength: 4, partnerMaxTokens: 4, judge: "off" }),
    );
    const [button, reality] = [page.getByTestId("dry-run"), page.getByTestId("fit-reality")];
    const problemsBefore = await problems(page);
    const forecast = page.getByTestId("forecast");
    await button.click();
    await expect.poll(() => page.getByTestId("dry-run-phase").textContent()).toMatch(/^Step 1 of 2: /);
    await expect.poll(() => page.getByTestId("start-reason").textContent()).toMatch(/^A dry run is in progress/);
    await page.getByTestId("dry-run-cancel").click();
    await button.click();
    await page.getByTestId("fit-details").locator("summary").click();
    await reality.waitFor();
    expect((await reality.locator("tr").allTextContents()).map((row) => row.replace(/\d[\d.]*/g, "#"))).toEqual([
      expect.stringMatching(/^Held between steps# MB# MB$/),
      expect.stringMatching(/^Peak# MB# MB$/),
      expect.stringMatching(/^A step.*#( s| ms)$/),
      expect.stringMatching(/^First step, compiling# s$/),
    ]);
    await expect.poll(() => forecast.textContent()).toMatch(/ in all without evaluations \(measured in the dry run\)$/);
    await show(page, { steps: "12" });
    await expect.poll(settings).toMatchObject({ steps: 12 });
    await expect.poll(() => reality.count()).toBe(1);
    await show(page, { numGenerations: "3" });
    await expect.poll(() => reality.count()).toBe(0);
    await expect.poll(() => forecast.textContent()).not.toMatch(/dry run/);
    await show(page, { evalSteps: "0" });
    await expect.poll(() => forecast.textContent()).toMatch(/ in all \(forecast/);
    await show(page, { evalSteps: "5" });
    await expect.poll(runs).toEqual([]);
    expect(await problems(page)).toEqual(problemsBefore);
  },
);

describe("the preflight", () => {
  const reason = () => lab.page.getByTestId("start-reason").textContent();
  const remedy = () => lab.page.getByTestId("remedy");

  it("offers a longer limit where most captions do not fit", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", maxCompletionLength: "4" });
    await expect.poll(reason).toMatch(/^These rows do not fit/);
    await page.getByText(/^Captions of these rows have \d+ to \d+ tokens, but the model may write 4: /).waitFor();
    await remedy().click();
    await expect.poll(reason).toBe("Ready to start");
    expect(Number((await settings()).maxCompletionLength)).toBeGreaterThan(7);
  });

  it("names a loop that would learn nothing by its label, and offers a weight", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", loops: "2", loop2Weight: "0" });
    await expect.poll(reason).toMatch(/^Loop 2 has weight 0 and would learn nothing\. Raise “Loop 2 weight” /);
    await remedy().filter({ hasText: "Set Loop 2 weight to 1" }).click();
    await expect.poll(reason).toBe("Ready to start");
    expect(await settings()).toMatchObject({ loops: "2", loop2Weight: 1 });
    await show(page, { screen: "setup", loops: "both", loop2Weight: "0.1" });
  });

  it("reads the rows that the filter leaves, and says where it leaves none", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", rowFilter: "zeppelin" });
    const sentence = 'No row passes the row filter "zeppelin"; change it or use all rows';
    await expect.poll(reason).toBe(sentence);
    await page.keyboard.press("p");
    await expect.poll(() => problems(page)).toContain(sentence);
    await show(page, { screen: "setup" });
    await page.getByRole("button", { name: "Train on all rows" }).click();
    await expect.poll(reason).toBe("Ready to start");
    // What a key was refused for goes with its cause.
    await expect.poll(() => problems(page)).not.toContain(sentence);
  });

  it("does not call the pocket model ready for photographs, and offers to load a checkpoint", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByTestId("pick-shard-files").setInputFiles([PHOTOGRAPHS]);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^3 rows/);
    await show(page, { screen: "setup" });
    await expect.poll(reason).toMatch(/^These rows do not fit/);
    await page.getByText(/^The model has no tokens for ".*it was made for other pictures/).waitFor();
    // Home says it before a press starts such a run.
    await show(page, { screen: "home" });
    await expect.poll(() => page.getByTestId("home-warning").textContent()).toMatch(/made for other pictures/);
    expect(await page.getByTestId("open-repair").textContent()).toMatch(/^Let loop 2 repair masks, .* instead of /);
    await show(page, { screen: "setup" });
    await expect.poll(() => remedy().allTextContents()).toEqual(["Load a checkpoint…"]);
    await show(page, { screen: "data" });
    await page.getByRole("button", { name: "Use demo shard" }).first().click();
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^320 rows/);
    await show(page, { screen: "setup" });
    await expect.poll(reason).toBe("Ready to start");
  });
});

it("a mix shows the rows and shares of its sources; it comes from a file, as addresses carry no texts", async () => {
  const { page } = lab;
  await page.goto(`${lab.url}#screen=setup&mixSources=*=2`);
  await expect
    .poll(() => problems(page))
    .toContain("mixSources was left out: an address cannot set text settings; use a settings file");
  await expect.poll(() => page.getByTestId("mix").count()).toBe(0);
  await pick("mix.json", JSON.stringify({ mixSources: "data-00000 = 2, nowhere = 3" }));
  const cells = page.getByTestId("mix").locator("tbody tr").locator("th, td");
  await expect.poll(() => cells.count()).toBe(12);
  const [first, ...rest] = await cells.allTextContents();
  const [rows, others] = [Number(rest[0]), Number(rest[8])];
  const share = formatShare((2 * rows) / (2 * rows + others));
  expect(rows).toBeGreaterThan(0);
  expect([first, ...rest]).toEqual([
    ...["data-00000", `${rows}`, "2", share],
    ...["nowhere", "0", "3", formatShare(0)],
    ...["other files", `${others}`, "1", formatShare(others / (2 * rows + others))],
  ]);
  await pick("mix.json", JSON.stringify({ mixSources: "data-00000 = x" }));
  await page.getByText('mixSources has "data-00000 = x", which is not name=number with').waitFor();
  await expect.poll(() => page.getByTestId("mix").count()).toBe(0);
  await pick("mix.json", JSON.stringify({ mixSources: "" }));
});

it("the plan warns of checkpoints that the browser's storage has no room for, and the run may start anyway", async () => {
  const { page, context } = lab;
  await expect.poll(() => page.getByText(/checkpoints take up to/).count()).toBe(0);
  const client = await context.newCDPSession(page);
  await client.send("Storage.overrideQuotaForOrigin", { origin: new URL(lab.url).origin, quotaSize: 1e6 });
  await pick("more.json", JSON.stringify({ steps: 8, saveSteps: 2, evalSteps: 0, saveTotalLimit: 2 }));
  await expect
    .poll(() => page.getByText(/checkpoints take up to/).allTextContents())
    .toEqual([
      expect.stringMatching(/\(3 of [\d.]+ MB: 2 kept and one being written\), and the storage has [\d.]+ MB free; /),
    ]);
  await untilReady(page);
});
