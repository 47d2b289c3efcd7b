/**
 * Every guide of docs/adding works, all on one copy of the tree. The copy then loses the loop question → answer as the
 * guide of loops describes: its folder and its lines in the lists.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { followGuides } from "../support/guide.ts";

function withoutQuestionAnswer(copy: string): void {
  rmSync(join(copy, "src/plugins/question-answer"), { recursive: true });
  for (const list of ["list.ts", "loops.ts"]) {
    const path = join(copy, "src/plugins", list);
    const kept = readFileSync(path, "utf8")
      .replaceAll(/^import .*question-answer.*\n/gm, "")
      .replace(/questionAnswer,\s*/, "")
      .replace("3: ", "");
    writeFileSync(path, kept);
  }
}

test("all guides can be followed, and a loop can be removed", () => {
  followGuides(["metric", "dataset", "mask-policy", "kernel", "reward", "loop"], withoutQuestionAnswer, [
    "tests/unit/rl/step-metrics.test.ts",
    "tests/unit/rewards/composer.test.ts",
    "tests/unit/eval/report.test.ts",
    "tests/unit/app/rollout-view.test.ts",
  ]);
});
