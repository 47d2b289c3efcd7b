/** Folders of region data in many layouts, with each mask as pycocotools reads it (tests/oracle/make_regions.py). */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { rleArea } from "../../src/engine/data/mask/rle.ts";
import { openRegionSet, type RegionSet } from "../../src/engine/data/region-set.ts";

/** A region as pycocotools and hashlib have it. */
export interface ExpectedRegion {
  readonly caption: string;
  readonly counts: string;
  readonly size: readonly [number, number];
  readonly area: number;
  readonly picture: string;
}

/** Expected regions by layout. */
export async function expectedLayouts(directory: string): Promise<[string, ExpectedRegion[]][]> {
  const text = await readFile(join(directory, "expected.json"), "utf8");
  return Object.entries(JSON.parse(text) as Record<string, ExpectedRegion[]>);
}

/** The regions that the engine reads from a layout, in the same form. */
export async function readLayout(directory: string): Promise<{ set: RegionSet; regions: ExpectedRegion[] }> {
  const set = await openRegionSet(await nodeFolder(directory));
  const regions: ExpectedRegion[] = [];
  for (const { index, caption, mask } of set.summaries) {
    const { image } = await set.sample(index);
    const picture = createHash("sha256").update(image.bytes).digest("hex");
    regions.push({ caption, counts: mask.counts, size: mask.size, area: rleArea(mask), picture });
  }
  return { set, regions };
}
