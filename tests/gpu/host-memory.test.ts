/** Host memory over steps: what a step allocates can be collected once the step is over. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { collectGarbage } from "../../scripts/lib/node/garbage.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { openTestLab } from "../support/session.ts";

const STEPS = 10;
/** By then pipelines are compiled and pools filled. */
const SETTLED = 4;
/** Less than the smallest picture of a step. */
const SLACK = 32 * 2 ** 10;

it("typed arrays of a step are gone after it, but for the cache of features, which says its size", async () => {
  // On disk: a store in memory would grow with the records.
  const folder = await mkdtemp(join(tmpdir(), "host-memory-"));
  const lab = await openTestLab({ store: nodeStore(folder), features: null });
  const samples: Promise<{ readonly features: number; readonly others: number }>[] = [];
  lab.watch = (event, session) => {
    if (event.type !== "step") return;
    // The test keeps no groups or metrics, which would count as the trainer's.
    lab.events.length = 0;
    samples.push(
      session.system().then(({ memory }) => {
        const features = memory.owners.find(({ owner }) => owner === "features")?.hostBytes ?? 0;
        collectGarbage();
        return { features, others: process.memoryUsage().arrayBuffers - features };
      }),
    );
  };
  try {
    const run = await lab.start({ steps: STEPS });
    await run.done;
    const found = await Promise.all(samples);
    expect(found).toHaveLength(STEPS);
    const settled = found.slice(SETTLED - 1);
    const first = settled[0]?.others as number;
    for (const { others } of settled) expect(others - first).toBeLessThan(SLACK);
    // Meanwhile the cache does grow, so the test would see kept arrays.
    expect((found.at(-1)?.features as number) - (settled[0]?.features as number)).toBeGreaterThan(10 * SLACK);
  } finally {
    lab.session.dispose();
    await rm(folder, { recursive: true, force: true });
  }
});
