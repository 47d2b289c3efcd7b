/** Reasons why a judge cannot be tried: a run keeps the model it started with. */
import { expect, test } from "vitest";
import { tryBlocker } from "../../../src/app/screens/judge/try-blocker.ts";
import { showProgress, useJudge } from "../../../src/app/stores/judge.ts";
import { WEBLLM_DEFAULT } from "../../../src/engine/rewards/judge/providers/webllm-model.ts";

const server = { judge: "questions", judgeProvider: "server", judgeUrl: "http://localhost:1", judgeModel: "" } as const;
const tab = (judgeModel: string) => ({ ...server, judgeProvider: "webllm" as const, judgeModel });

test("a try-out needs an address where the judge is a server, and waits for another try-out", () => {
  expect(tryBlocker(server, false, null)).toBeNull();
  expect(tryBlocker({ ...server, judgeUrl: "" }, false, null)).toBe("Set the judge's address first");
  expect(tryBlocker(server, true, null)).toBe("Another test is in progress");
});

test("another model in the tab waits for the end of a run that is judged by one", () => {
  const refusal = /^The run in progress uses .* in this tab/;
  expect(tryBlocker(tab("other"), false, tab("one"))).toMatch(refusal);
  expect(tryBlocker(tab("other"), false, tab(""))).toMatch(refusal);
  expect(tryBlocker(tab(WEBLLM_DEFAULT), false, tab(" "))).toBeNull();
  expect(tryBlocker(tab("one"), false, tab("one"))).toBeNull();
  expect(tryBlocker(tab("other"), false, null)).toBeNull();
  expect(tryBlocker(tab("other"), false, { ...tab("one"), judge: "off" })).toBeNull();
  expect(tryBlocker(tab("other"), false, server)).toBeNull();
  expect(tryBlocker(server, false, tab("one"))).toBeNull();
});

test("the progress of a model in the browser ends with its last byte", () => {
  showProgress("Fetching", 0.5);
  expect(useJudge.getState().progress).toEqual({ text: "Fetching", share: 0.5 });
  showProgress("Fetched", 1);
  expect(useJudge.getState().progress).toBeNull();
});
