/** A stored run and an open data set whose rows have the same ids: neither is shown with the other. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";
import { boxMask, row } from "../unit/data/make.ts";

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
/** Opens rows of the names that the recorded run has, with a mask of this width. */
const openOther = async (width: number): Promise<void> => {
  const mask = boxMask(24, 32, 4, 3, width, 8);
  const other = Array.from({ length: 160 }, (_, n) => row({ mask }, `Box ${n}, ${width} wide.`));
  const buffer = Buffer.from(writeRegionShard(other));
  await show(lab.page, { screen: "data" });
  await lab.page
    .getByTestId("pick-shard-files")
    .setInputFiles([{ name: SHARD, mimeType: "application/octet-stream", buffer }]);
  await lab.page.getByText(`${width} wide`).first().waitFor();
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
    await expect.poll(() => page.getByTestId("missing-data").count()).toBe(0);
    await expect.poll(() => notOpen().count()).toBe(0);
  });
});

describe("with rows of the same names open", () => {
  it("a filter for the rows before hides none of them", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByLabel("Shard", { exact: true }).selectOption("data-00001-of-00002.arrow");
    await openOther(10);
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

  it.each([
    ["Home", { screen: "home" }, "before-after"],
    ["Held-out", { screen: "train", tab: "held-out" }, "eval-row"],
  ])("evaluations on %s say so once and show neither pictures nor masks of other rows", async (_, place, rows) => {
    const { page } = lab;
    // What figures show does not depend on the masks of the open rows.
    const pictures: unknown[] = [];
    for (const width of [3, 20]) {
      await openOther(width);
      await show(page, place);
      const first = page.getByTestId(rows).first();
      await first.scrollIntoViewIfNeeded();
      await first.getByText("no picture").first().waitFor();
      await expect.poll(() => page.getByTestId("missing-data").textContent()).toMatch(/are not open/);
      await page.waitForTimeout(300);
      pictures.push(
        await first.locator("canvas").evaluateAll((all) => all.map((one) => (one as HTMLCanvasElement).toDataURL())),
      );
    }
    expect(pictures[0]).toEqual(pictures[1]);
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
