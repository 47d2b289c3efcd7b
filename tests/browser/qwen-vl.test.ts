/**
 * A tiny model on Qwen3-VL, dropped on the page: steps of both loops, stopped and resumed. tests/gpu/qwen-vl-run.test.ts has each
 * kind of region prompt.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WAIT } from "../support/hang.ts";
import {
  CHEAP_RUN,
  dropModel,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";
import { writeTinyQwen } from "../support/tiny-qwen.ts";

const STEPS = 3;
const STOP_AT = 1;
/** Every step has an update of both loops: confidence differs between any two masks. */
const RUN = {
  ...CHEAP_RUN,
  steps: String(STEPS),
  maskPolicy: "candidates",
  loop1Confidence: "1",
  loop2Confidence: "1",
  loop2Weight: "1",
  heldOutShare: "0",
  regionPrompt: "tokens",
};
/** Metrics that differ between equal runs. */
const MEASURED = /^(step_time$|time\/|memory\/)/;

const scratch = mkdtempSync(join(tmpdir(), "lab-qwen-page-"));
const folder = join(scratch, "tiny Qwen3-VL");

/** Steps and what they measured, without what differs between equal runs. */
function stepsOf(events: readonly RunEvent[]): unknown[] {
  return events.flatMap(({ type, step, metrics = {} }) => {
    const own = Object.entries(metrics).filter(([name]) => !MEASURED.test(name));
    return type === "step" ? [{ step, metrics: Object.fromEntries(own) }] : [];
  });
}

let lab: OpenPage;
let events: RunEvent[];
beforeAll(async () => {
  writeTinyQwen(folder, "qwen3");
  ({ lab, events } = await openFollowed({ screen: "setup", ...RUN }));
  await dropModel(lab.page, folder);
  await untilReady(lab.page);
});
afterAll(async () => {
  await lab.close();
  rmSync(scratch, { recursive: true });
});

it("takes steps, and the same ones if it is stopped and resumed", async () => {
  const { page, consoleErrors } = lab;
  await page.getByTestId("strip-start").click();
  await untilEvent(events, 0, ({ type, state }) => type === "state" && state === "finished", 3 * WAIT);
  const whole = stepsOf(events);
  const steps = Array.from({ length: STEPS }, (_, at) => at + 1);
  expect(whole).toEqual(
    steps.map((step) => ({ step, metrics: expect.objectContaining({ loss: expect.any(Number) }) })),
  );
  for (const { type, metrics } of events) if (type === "step") expect(metrics?.grad_norm).toBeGreaterThan(0);

  const from = events.length;
  await untilReady(page);
  await page.getByTestId("strip-start").click();
  await untilEvent(events, from, ({ type, step }) => type === "step" && step === STOP_AT, 3 * WAIT);
  await page.getByTestId("stop").click();
  await untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
  const stopped = stepsOf(events.slice(from)).length;
  expect(stopped).toBeLessThan(STEPS);
  const again = events.length;
  await show(page, { screen: "runs" });
  await page
    .locator("main")
    .getByRole("button", { name: /resume$/i })
    .click();
  await untilEvent(events, again, ({ type, state }) => type === "state" && state === "finished", 3 * WAIT);
  expect(stepsOf(events.slice(from))).toEqual(whole);
  expect(await problems(page)).toEqual([]);
  expect(consoleErrors).toEqual([]);
});
