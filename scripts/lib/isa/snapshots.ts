/**
 * The WGSL of every card program, one file each below `tests/golden/wgsl`: a change of a generator shows in a review as
 * the change of the shaders that it makes. `npm run docs` writes them.
 */
import { builtInForms, setAdapterClass } from "../../../src/engine/gpu/forms/active.ts";
import { shaderSource } from "../../../src/engine/gpu/runtime/pipelines.ts";
import { cardPrograms } from "./card-programs.ts";

export const SNAPSHOTS = "tests/golden/wgsl";

/** A card that fits every form, with the subgroup matrices that most cards list. */
const ANY_CARD = {
  maxComputeWorkgroupStorageSize: 32_768,
  maxComputeInvocationsPerWorkgroup: 256,
  maxStorageBuffersPerShaderStage: 10,
  unit: { m: 16, n: 16, k: 16, lanes: 32 },
};

/** Shader text without indentation and empty lines. */
const plain = (source: string): string =>
  source
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("\n");

/** Paths relative to the repository, and texts. The class of this thread's adapter stays as it was. */
export function wgslSnapshots(): readonly { readonly path: string; readonly text: string }[] {
  const before = builtInForms();
  setAdapterClass("amd");
  try {
    return cardPrograms(ANY_CARD, true).map(({ program }) => ({
      path: `${SNAPSHOTS}/${program.name.replace(/-literal$/, "")}.wgsl`,
      text: `${plain(shaderSource(program))}\n`,
    }));
  } finally {
    setAdapterClass("amd", undefined, before);
  }
}
