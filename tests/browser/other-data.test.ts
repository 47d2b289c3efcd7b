/** A stored run and an open data set whose rows have the same ids: neither is shown with the other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";
import { row } from "../unit/data/make.ts";

const SHARD = "data-00000-of-00002.arrow";
const RUN = join(root, "public/pocket/recorded");
const id = (JSON.parse(readFileSync(join(RUN, "files.json"), "utf8")) as { readonly path: string }[])[0]?.path.split(
  "/",
)[0];

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({ screen: "data" });
  await untilReady(lab.page);
});
afterAll(() => lab.close());

/** Opens the rollouts of a step, another one each time: the page then shows when it has read them. */
const openBench = async (step: "20" | "25"): Promise<void> => {
  const { page } = lab;
  await show(page, { screen: "rewards" });
  const name = `step-0000${step}.arrow`;
  const buffer = readFileSync(join(RUN, `${id}/rollouts`, name));
  await page.getByTestId("bench-file").setInputFiles({ name, mimeType: "application/octet-stream", buffer });
  await expect.poll(() => page.getByTestId("bench-source").textContent()).toMatch(new RegExp(`^${name}`));
  await page.getByTestId("bench-groups").getByRole("button").filter({ hasText: SHARD }).first().click();
};
const notOpen = (): ReturnType<OpenPage["page"]["getByText"]> => lab.page.getByText("no picture");

describe("with the rows of the run open", () => {
  it("pictures and masks are shown", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "25" });
    await page.getByTestId("rollout-card").first().waitFor();
    await show(page, { screen: "train", tab: "held-out" });
    await page.locator("[data-testid=panel-held-out] canvas").first().waitFor();
    await openBench("25");
    await page.getByRole("button", { name: "Try it out" }).waitFor();
    await expect.poll(() => page.getByTestId("eval-not-open").count()).toBe(0);
    await expect.poll(() => notOpen().count()).toBe(0);
  });
});

describe("with rows of the same names open", () => {
  it("a filter for the rows before hides none of them", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByLabel("Shard", { exact: true }).selectOption("data-00001-of-00002.arrow");
    const other = Array.from({ length: 160 }, (_, n) => row({}, `Box ${n}.`));
    const buffer = Buffer.from(writeRegionShard(other));
    await page
      .getByTestId("pick-shard-files")
      .setInputFiles([{ name: SHARD, mimeType: "application/octet-stream", buffer }]);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^(\d+ of )?160 rows/);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^160 rows/);
    await expect.poll(() => page.getByTestId("gallery").getByRole("button").count()).toBeGreaterThan(5);
  });

  it("one line says that the rows are not there, with a button, and figures name no error", async () => {
    await show(lab.page, { screen: "train", tab: "rollouts", step: "25" });
    await lab.page.getByTestId("rollout-card").first().waitFor();
    await expect.poll(() => notOpen().count()).toBeGreaterThan(0);
    // Cards are drawn once they are in view.
    for (const card of await lab.page.getByTestId("rollout-card").all()) {
      await card.scrollIntoViewIfNeeded();
      await card.getByText("no picture").waitFor();
    }
    await expect.poll(() => lab.page.getByTestId("missing-data").textContent()).toMatch(/shards, are not open/);
  });

  it("evaluations say so once and show neither pictures nor given masks", async () => {
    await show(lab.page, { screen: "train", tab: "held-out" });
    await lab.page.getByTestId("eval-not-open").waitFor();
    await expect.poll(() => lab.page.getByTestId("eval-not-open").textContent()).toMatch(/\(shards\) are not open/);
  });

  it("the bench offers no picture and no trial of an imported group", async () => {
    const { page } = lab;
    await openBench("20");
    await page.getByText("This row is not open, so its picture cannot be shown").waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Try it out" }).count()).toBe(0);
  });

  it("the button opens the rows of the run, and its pictures are there", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "25" });
    await page
      .getByTestId("missing-data")
      .getByRole("button", { name: /^Open / })
      .click();
    await expect.poll(() => page.getByTestId("missing-data").count()).toBe(0);
    await expect.poll(() => notOpen().count()).toBe(0);
  });

  it("nothing is listed as having failed", async () => {
    expect(await problems(lab.page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
