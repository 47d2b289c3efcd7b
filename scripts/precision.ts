/**
 * npm run precision -- [--golden DIR…] [--out FILE]
 *
 * Runs golden models in every weight storage and writes the errors against the recorded f32 numbers, by stage.
 */
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { badInput } from "../src/engine/errors.ts";
import type { Arithmetic } from "../src/engine/gpu/packed/half.ts";
import { packedBytes, WEIGHT_STORAGES, type WeightStorage } from "../src/engine/gpu/packed/storage.ts";
import { setAdapterKind } from "../src/engine/gpu/runtime/custom-op.ts";
import { loadDeps } from "../tools/parity/deps.ts";
import { findGoldenSets, type GoldenSet } from "../tools/parity/kinds.ts";
import type { ParityRow } from "../tools/parity/row.ts";
import { BUDGETS, STAGES, type Stage, stageOf, withBudget } from "../tools/parity/storage-budget.ts";
import { one, parseArguments, requireWritable, runTool } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { openNodeDevice } from "./lib/node/node-gpu.ts";

const OPTIONS = { golden: { takes: "many" }, out: { takes: 1 } } as const;
const DEFAULT_SETS = ["qwen2", "variant", "internlm2", "phi3"].map((name) => `tests/golden/sa2va-tiny-${name}`);

const TEXT = `# Precision of packed weights

Made by \`npm run precision\`; do not edit by hand. Adapter: {adapter}.

Linear layers, embedding and head of the frozen model can be held in f32, f16, q8 or q4; norms, biases, convolutions,
adapters and everything that trains stay f32, and every sum is f32. f16 holds half-precision numbers under one power of
two a block of rows, so weights that were stored in bfloat16 lose nothing unless they span more than 28 powers of two. q8
and q4 hold whole numbers of 8 and 4 bits in groups of 32 along a row, each group under a half-precision scale.

The last column has products in half precision as well (\`halfProducts\`, on cards with \`shader-f16\`): products of more
than eight rows with packed matrices multiply in f16, sum eight products in f16 and those sums in f32; every row of the
other operand has its own power of two. The towers are computed in f32 in training, here they are in f16 too.

{bytes}

## Errors against the recorded f32 numbers

Largest error of any array of the stage in units of the array's largest element; for texts, masks and other choices, how
many are not the same. The recorded models are small and random: no weight is redundant, so this is the worst case.

{sections}

## Budgets

\`npm run parity -- --golden DIR --storage f16|q8|q4\` judges by these. "exact": nothing may differ; "reported": printed,
never a miss.

{budgets}
`;

/** A column of the tables. */
interface Numbers {
  readonly title: string;
  readonly storage: WeightStorage;
  readonly arithmetic: Arithmetic;
}

async function rowsOf(set: GoldenSet, { storage, arithmetic }: Numbers): Promise<ParityRow[]> {
  const deps = { ...(await loadDeps()), storage: { language: storage, towers: storage }, arithmetic };
  const rows: ParityRow[] = [];
  for (const check of set.kind.modules) {
    for await (const row of await check.open(set.folder, deps)) rows.push(row);
  }
  return rows;
}

/** A cell: the largest error if the stage has arrays, and the number of choices that differ. */
function cell(all: readonly ParityRow[], { storage, arithmetic }: Numbers, stage: Stage): string {
  const rows = all.filter((row) => stageOf(row) === stage);
  const choices = rows.filter((row) => row.tolerance.startsWith("exact"));
  // Gradients that are zero up to rounding have no relative error; f32's tolerance covers them.
  const sized = rows.filter(
    (row) => !row.tolerance.startsWith("exact") && !/^greedy/.test(row.case) && !(row.pass && row.maxRel > 0.1),
  );
  const worst = sized.reduce((most, row) => Math.max(most, row.maxRel), 0);
  const differ = choices.filter((row) => !row.pass).length;
  // Budgets hold for storage alone.
  const missed = arithmetic === "f16" ? 0 : rows.filter((row) => !withBudget(row, storage).pass).length;
  const parts = [
    ...(sized.length > 0 && Number.isFinite(worst) ? [worst.toExponential(1)] : []),
    ...(choices.length > 0 ? [differ === 0 ? "equal" : `${differ} of ${choices.length} differ`] : []),
    ...(missed > 0 ? [`**${missed} missed**`] : []),
  ];
  return parts.join(", ") || "–";
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...lines.map(line)].join("\n");
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const out = one(parsed, "out") ?? join(root, "docs", "precision.md");
  requireWritable(out);
  const paths = parsed.get("golden") ?? DEFAULT_SETS.map((path) => join(root, path));
  const found = (await Promise.all(paths.map(findGoldenSets))).flat();
  const sets = found.filter((set) => set.kind.name === "sa2va");
  if (sets.length === 0) throw badInput("None of the folders is a complete golden model");
  const device = await openNodeDevice();
  const sections: string[] = [];
  const columns: Numbers[] = WEIGHT_STORAGES.map((storage) => ({ title: storage, storage, arithmetic: "f32" }));
  if (device.report.features.includes("shader-f16")) {
    columns.push({ title: "f16, products in f16", storage: "f16", arithmetic: "f16" });
  }
  for (const set of sets) {
    const lines = new Map<Stage, string[]>(STAGES.map((stage) => [stage, [stage]]));
    for (const numbers of columns) {
      const { title, arithmetic } = numbers;
      process.stderr.write(`${basename(set.path)} in ${title}\n`);
      // Software adapters can run these programs too, but choose others.
      setAdapterKind(arithmetic === "f32" && device.report.software);
      const rows = await rowsOf(set, numbers);
      device.check();
      for (const stage of STAGES) lines.get(stage)?.push(cell(rows, numbers, stage));
    }
    sections.push(
      `### ${basename(set.path)}\n\n${table(["stage", ...columns.map(({ title }) => title)], [...lines.values()])}`,
    );
  }
  const packed = WEIGHT_STORAGES.filter((storage) => storage !== "f32");
  const budgets = STAGES.map((stage) => [stage, ...packed.map((storage) => String(BUDGETS[storage][stage]))]);
  const element = (storage: WeightStorage): string => (packedBytes(storage, [1024, 1024]) / 2 ** 20).toFixed(4);
  const text = TEXT.replace(
    "{bytes}",
    table(["", ...WEIGHT_STORAGES], [["bytes an element", ...WEIGHT_STORAGES.map(element)]]),
  )
    .replace("{budgets}", table(["stage", ...packed], budgets))
    .replace("{sections}", sections.join("\n\n"))
    .replace("{adapter}", device.report.description || device.report.vendor);
  writeFileSync(out, text);
  device.close();
  return 0;
});
