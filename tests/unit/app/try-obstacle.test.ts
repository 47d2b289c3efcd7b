/** What stands in the way of trying a judge out: a run keeps the model it started with. */
import { expect, test } from "vitest";
import { tryObstacle } from "../../../src/app/screens/judge/try-obstacle.ts";
import { WEBLLM_DEFAULT } from "../../../src/engine/rewards/judge/webllm-model.ts";

const server = { judge: "questions", judgeProvider: "server", judgeUrl: "http://localhost:1", judgeModel: "" } as const;
const tab = (judgeModel: string) => ({ ...server, judgeProvider: "webllm" as const, judgeModel });

test("a try-out needs an address where the judge is a server, and waits for another try-out", () => {
  expect(tryObstacle(server, false, null)).toBeNull();
  expect(tryObstacle({ ...server, judgeUrl: "" }, false, null)).toBe("Give the judge's address first");
  expect(tryObstacle(server, true, null)).toBe("Another try-out is under way");
});

test("another model in the tab waits for the end of a run that is judged by one", () => {
  const refusal = /^The run in progress keeps .* in this tab/;
  expect(tryObstacle(tab("other"), false, tab("one"))).toMatch(refusal);
  expect(tryObstacle(tab("other"), false, tab(""))).toMatch(refusal);
  expect(tryObstacle(tab(WEBLLM_DEFAULT), false, tab(" "))).toBeNull();
  expect(tryObstacle(tab("one"), false, tab("one"))).toBeNull();
  expect(tryObstacle(tab("other"), false, null)).toBeNull();
  expect(tryObstacle(tab("other"), false, { ...tab("one"), judge: "off" })).toBeNull();
  expect(tryObstacle(tab("other"), false, server)).toBeNull();
  expect(tryObstacle(server, false, tab("one"))).toBeNull();
});
