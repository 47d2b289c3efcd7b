/** Tables decide which kernel runs: only one file of the engine looks at the kind of an adapter. */
import { expect, it } from "vitest";
import { codeOf, isTypeScript, trackedFiles } from "../support/sources.ts";

const BUILT_IN = "src/engine/gpu/forms/built-in.ts";
/** The report shows the adapter to people; the planner's memory and the text of a plan depend on it. */
const TOLD = ["src/engine/gpu/runtime/device.ts", "src/engine/session/plan.ts"];

const engine = trackedFiles((path) => path.startsWith("src/engine/") && isTypeScript(path));

function found(pattern: RegExp): string[] {
  return engine.filter(({ text }) => pattern.test(codeOf(text))).map(({ path }) => path);
}

it("only the built-in table and the report look at what kind of adapter there is", () => {
  expect(found(/\bclassOf\(/)).toEqual([BUILT_IN, "src/engine/gpu/runtime/device.ts"]);
  expect(found(/\breport\.software\b|\bgpu\.software\b|[({ ]software === /)).toEqual(
    TOLD.filter((path) => path.includes("plan.ts")),
  );
  expect(found(/onSoftwareAdapter/)).toEqual([]);
  // Names of adapters are in strings, which `codeOf` leaves out.
  const names = engine.filter(({ text }) => /["'`/](swiftshader|llvmpipe|nvidia|amd|apple)\b/i.test(text));
  expect(names.map(({ path }) => path).filter((path) => path.startsWith("src/engine/gpu/"))).toEqual([
    BUILT_IN,
    "src/engine/gpu/runtime/custom-op.ts",
  ]);
});
