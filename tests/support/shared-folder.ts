/** A folder that the files of one test run share, for frozen features and the small model; it is gone with the run. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeSmallModel } from "./small-model.ts";

export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "lab-test-shared-"));
  process.env.LAB_TEST_FEATURES = join(folder, "features");
  process.env.LAB_TEST_MODEL = join(folder, "model");
  writeSmallModel(process.env.LAB_TEST_MODEL);
  return () => rm(folder, { recursive: true, force: true });
}
