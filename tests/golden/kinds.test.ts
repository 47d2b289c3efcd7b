/** The tool that compares golden folders recognises by their content which checks apply. */
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findGoldenSets } from "../../tools/parity/kinds.ts";

const GOLDEN = fileURLToPath(new URL(".", import.meta.url));

test("every golden folder is compared by the checks of its kind", async () => {
  const sets = await findGoldenSets(GOLDEN);
  expect(sets.map(({ path, kind }) => [basename(path), kind.name])).toEqual([
    ["arrow", "arrow"],
    ["evaluation", "evaluation"],
    ["grpo", "grpo"],
    ["judge", "judge"],
    ["meteor", "meteor"],
    ["optim", "optim"],
    ["rle", "rle"],
    ["sa2va-ops", "sa2va-ops"],
    ["sa2va-tiny-internlm2", "sa2va"],
    ["sa2va-tiny-phi3", "sa2va"],
    ["sa2va-tiny-qwen2", "sa2va"],
    ["sa2va-tiny-variant", "sa2va"],
    ["trl", "grpo"],
    ["video", "video"],
  ]);
});

test("a part of the evaluation set is one as well", async () => {
  for (const part of ["gcg", "caption", "refer"]) {
    const [set, ...others] = await findGoldenSets(`${GOLDEN}evaluation/${part}`);
    expect([set?.kind.name, others]).toEqual(["evaluation", []]);
  }
});
