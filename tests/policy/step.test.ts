/** docs/step.md follows the code of a step. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const CODE = read("src/engine/rl/step/grpo-step.ts");
const GUIDE = read("docs/step.md");

it("a step is short enough to read", () => {
  expect(CODE.split("\n").length).toBeLessThanOrEqual(200);
});

it("the guide lists the events of a step in the order in which the step yields them", () => {
  const yielded = [...CODE.matchAll(/yield \{ type: "(\w+)"/g)].map(([, type]) => type);
  const listed = [...GUIDE.slice(GUIDE.indexOf("| event |")).matchAll(/^\| `(\w+)` \|/gm)].map(([, type]) => type);
  expect(yielded.length).toBeGreaterThan(3);
  expect(listed).toEqual(yielded);
});

it("the guide names files that the step imports, and leads to every one of its phases", () => {
  const imported = [...CODE.matchAll(/from "\.\/([\w-]+\.ts)"/g)].map(([, file]) => file as string);
  const missing = imported.filter((file) => !GUIDE.includes(`/${file}`));
  expect(missing).toEqual([]);
});
