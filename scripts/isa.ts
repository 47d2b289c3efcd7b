/**
 * Compiles every kernel form for AMD's, NVIDIA's and Apple's cards that are not here, and prints what became of it.
 *
 *   npm run isa -- [--family NAME…] [--only TEXT] [--asm NAME] [--step [--model NAME…] [--layers N]] [--out FILE]
 *
 * Per program: vector registers, spills, scratch and workgroup memory, waves per SIMD, the share of multiply-adds among
 * the vector instructions of the loop that does the work, clamped indices and words of workgroup memory per
 * multiply-add, and a hash of its WGSL. --only compiles the programs whose names contain the text; --asm prints the
 * assembly of one. Without --only or --asm it also writes docs/performance/isa.md (or --out). --step takes a dry step at the
 * shapes of Sa2VA-1B, and of each --model (a release on Qwen-VL, such as qwen3-vl-2b), on the null card of the first family
 * (--layers cuts them), and writes their dispatches, peaks, waits and a model of their time on six cards to
 * docs/performance/isa-step.md (or --out). The counts are static: they bound the part of a card's peak that a kernel can
 * reach, and give no times. Needs gcc, apt-get and dpkg; Mesa's drivers are downloaded into .cache/isa once and not
 * installed. Those of NVIDIA and Apple are Debian's newest.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ALL_LAYERS } from "../bench/made-up/inputs.ts";
import { QWEN_RELEASES } from "../bench/made-up/qwen.ts";
import { badInput } from "../src/engine/errors.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { failuresOf, familyTable, isaDocument } from "./lib/isa/bounds.ts";
import { compileFor, dryStep, FAMILIES, type FamilyName } from "./lib/isa/null-card.ts";
import { SA2VA_1B, stepReport } from "./lib/isa/step-model.ts";

const OPTIONS = {
  family: { takes: "many" },
  only: { takes: 1 },
  asm: { takes: 1 },
  step: { takes: 0 },
  model: { takes: "many" },
  layers: { takes: 1 },
  out: { takes: 1 },
} as const;
const USUAL: readonly FamilyName[] = ["navi31", "navi23", "polaris10", "ga102", "m1"];

function familiesOf(given: readonly string[] | undefined): readonly FamilyName[] {
  const unknown = given?.find((name) => !(name in FAMILIES));
  if (unknown !== undefined) {
    throw badInput(`--family must be ${Object.keys(FAMILIES).join(", ")}, not "${unknown}"`, unknown);
  }
  return (given as readonly FamilyName[] | undefined) ?? USUAL;
}

function releasesOf(given: readonly string[] = []): readonly string[] {
  const unknown = given.find((name) => !QWEN_RELEASES.some((release) => release === name));
  if (unknown !== undefined) throw badInput(`--model must be ${QWEN_RELEASES.join(", ")}, not "${unknown}"`, unknown);
  return given;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const families = familiesOf(parsed.get("family"));
  const [only, asm] = [one(parsed, "only"), one(parsed, "asm")];
  if (parsed.has("step")) {
    const [family] = families as [FamilyName];
    const layers = whole(parsed, "layers", 1, ALL_LAYERS, ALL_LAYERS);
    const models = [SA2VA_1B, ...releasesOf(parsed.get("model"))];
    const steps = models.map((model) => dryStep(family, model, layers));
    const report = stepReport(steps, FAMILIES[family].title);
    process.stdout.write(report);
    writeFileSync(one(parsed, "out") ?? join(root, "docs", "performance", "isa-step.md"), report);
    return 0;
  }
  if (asm !== undefined) {
    const [family] = families as [FamilyName];
    const found = compileFor(family, { only: asm, assembly: true }).programs.find(({ name }) => name === asm);
    if (found === undefined) throw badInput(`No program of ${family} is named "${asm}"; --only lists names`, asm);
    process.stdout.write(`${found.assembly}\n`);
    return 0;
  }
  const compiled = families.map((family) => compileFor(family, only === undefined ? {} : { only }));
  for (const each of compiled) {
    process.stdout.write(`${familyTable(each)}\n`);
    for (const failure of failuresOf(each)) process.stdout.write(`${failure}\n`);
  }
  if (only === undefined) {
    writeFileSync(one(parsed, "out") ?? join(root, "docs", "performance", "isa.md"), isaDocument(compiled));
  }
  return 0;
});
