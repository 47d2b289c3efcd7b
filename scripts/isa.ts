/**
 * Compiles every kernel form with the compilers of AMD's, NVIDIA's and Apple's cards that are not here, and prints what became of it.
 *
 *   npm run isa -- [--family NAME…] [--only TEXT] [--asm NAME] [--step [--layers N]] [--out FILE]
 *
 * Per program: vector registers, spills, scratch and workgroup memory, waves per SIMD, the share of multiply-adds among
 * the vector instructions of the loop that does the work, clamped indices and words of workgroup memory per
 * multiply-add, and a hash of its WGSL. --only compiles the programs whose names contain the text; --asm prints the
 * assembly of one. Without --only or --asm it also writes docs/performance/isa.md (or --out). --step takes a dry step at the
 * shapes of Sa2VA-1B (--layers cuts it) on the null card of the first family, and writes its dispatches and a model of its
 * time on six cards to docs/performance/isa-step.md (or --out). The counts are static: they bound the part of a card's
 * peak that a kernel can reach, and give no times. Needs gcc, apt-get and dpkg; Mesa's drivers are downloaded into
 * .cache/isa once and not installed. Those of NVIDIA and Apple are Debian's newest.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ALL_LAYERS } from "../bench/made-up/inputs.ts";
import { badInput } from "../src/engine/errors.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { failuresOf, familyTable, isaDocument } from "./lib/isa/bounds.ts";
import { compileFor, dryStep, FAMILIES, type FamilyName } from "./lib/isa/null-card.ts";
import { stepReport } from "./lib/isa/step-model.ts";

const OPTIONS = {
  family: { takes: "many" },
  only: { takes: 1 },
  asm: { takes: 1 },
  step: { takes: 0 },
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

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const families = familiesOf(parsed.get("family"));
  const [only, asm] = [one(parsed, "only"), one(parsed, "asm")];
  if (parsed.has("step")) {
    const [family] = families as [FamilyName];
    const layers = whole(parsed, "layers", 1, ALL_LAYERS, ALL_LAYERS);
    const report = stepReport(dryStep(family, layers), FAMILIES[family].title);
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
