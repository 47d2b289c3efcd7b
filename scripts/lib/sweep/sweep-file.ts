/** A sweep's file on disk; its folders are relative to the project's root. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { badInput } from "../../../src/engine/errors.ts";
import { readSweep, type SweepPlan } from "../../../src/engine/sweep/plan.ts";
import { root } from "../ensure.mjs";

/**
 * @param tell receives sentences about names translated from TRL
 * @throws LabError("bad-input" | "bad-config") naming the file, and the field or setting
 */
export function readSweepFile(file: string, tell: (sentence: string) => void): SweepPlan {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw badInput(`${file} cannot be read`, file, cause);
  }
  const plan = readSweep(text, file, tell);
  return {
    ...plan,
    model: plan.model === null ? null : resolve(root, plan.model),
    shards: plan.shards?.map((folder) => resolve(root, folder)) ?? null,
    build: plan.build.map((build) => ({ ...build, out: resolve(root, build.out) })),
  };
}
