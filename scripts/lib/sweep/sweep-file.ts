/** A sweep's file on disk; its folders are relative to the project's root. */
import { resolve } from "node:path";
import { readSweep, type SweepPlan } from "../../../src/plugins/sweep/plan.ts";
import { root } from "../ensure.mjs";
import { readTextFile } from "../node/node-files.ts";

/**
 * @param tell receives sentences about names translated from TRL
 * @throws LabError("bad-input" | "bad-config") naming the file, and the field or setting
 */
export function readSweepFile(file: string, tell: (sentence: string) => void): SweepPlan {
  const plan = readSweep(readTextFile(file), file, tell);
  return {
    ...plan,
    model: plan.model === null ? null : resolve(root, plan.model),
    shards: plan.shards?.map((folder) => resolve(root, folder)) ?? null,
    build: plan.build.map((build) => ({ ...build, out: resolve(root, build.out) })),
  };
}
