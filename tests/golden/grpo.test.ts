import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { grpoParity } from "../../tools/parity/grpo/grpo.ts";
import type { ParityRow } from "../../tools/parity/row.ts";

const FOLDER = fileURLToPath(new URL("./grpo/", import.meta.url));

beforeAll(async () => {
  await tf.setBackend("cpu");
});

test("every stored loss, gradient, advantage, metric, draw and mask action is reproduced, without leaking a tensor", async () => {
  const folder = await nodeFolder(FOLDER);
  const before = tf.memory().numTensors;
  const rows: ParityRow[] = [];
  for await (const row of grpoParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBeGreaterThan(2000);
  const files = new Set(rows.map((row) => row.case.split(" ")[0]));
  expect([...files].sort()).toEqual(folder.paths.filter((path) => path.endsWith(".json")).sort());
  // Differences between TRL 1.16 and the version that recorded these cases, and actions that no policy takes.
  const leftOut = rows.filter((row) => row.tolerance === "not compared").map((row) => `${row.case} ${row.what}`);
  expect(leftOut).toEqual([
    "07_sequence_level.json sequence_level_kl luspo/sequence",
    "10_entropy.json entropy_bonus_on_quantile dapo/token",
    "10_entropy.json entropy_bonus_on_quantile cispo/token",
    "10_entropy.json entropy_bonus_on_quantile vespo/token",
    "26_mask_actions.json categorical_multimask choices",
    "26_mask_actions.json binary_concrete binary_concrete",
  ]);
  expect(tf.memory().numTensors).toBe(before);
});

test("losses, gradients, advantages and metrics equal those of TRL 1.16, every one compared", async () => {
  const rows: ParityRow[] = [];
  const folder = await nodeFolder(fileURLToPath(new URL("./trl/", import.meta.url)));
  for await (const row of grpoParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass || row.tolerance === "not compared")).toEqual([]);
  expect(rows.length).toBe(2247);
});

test("a choice among more masks than the decoder draws is named, not missed", async () => {
  const source = (await nodeFolder(FOLDER)).get("26_mask_actions.json");
  const text = new TextDecoder().decode(await source?.read(0, source.size));
  const json = JSON.parse(text) as { cases: { kind: string; inputs: Record<string, unknown> }[] };
  const choice = json.cases.find(({ kind }) => kind === "categorical_multimask");
  if (choice !== undefined) choice.inputs.scores = [0.1, 0.2, 0.3, 0.4];
  json.cases = json.cases.filter((item) => item === choice);
  const rows: ParityRow[] = [];
  for await (const row of grpoParity(memoryFolder({ "a.json": JSON.stringify(json) }))) rows.push(row);
  expect(rows.map(({ what, tolerance, note }) => [what, tolerance, note])).toEqual([
    ["4 scores", "not compared", "the mask decoder has 3 candidates to choose from"],
  ]);
});

test("a wrong number and an unknown file are reported", async () => {
  const source = (await nodeFolder(FOLDER)).get("25_adaptive_entropy.json");
  const text = new TextDecoder().decode(await source?.read(0, source.size));
  const wrong = JSON.parse(text) as { cases: { steps: { loss: number }[] }[] };
  const step = wrong.cases[0]?.steps[2];
  if (step !== undefined) step.loss += 0.001;
  const folder = memoryFolder({ "a.json": JSON.stringify(wrong), "b.json": '{"schema":"grpo-unheard/1"}' });
  const missed: string[] = [];
  for await (const row of grpoParity(folder)) if (!row.pass) missed.push(`${row.case}: ${row.what}`);
  expect(missed).toEqual(["a.json case 0: step 2 loss", "b.json: recognise the file"]);
});
