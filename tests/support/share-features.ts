/** A folder for the frozen features that the files of one test run share; it is gone with the run. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "lab-test-features-"));
  process.env.LAB_TEST_FEATURES = folder;
  return () => rm(folder, { recursive: true, force: true });
}
