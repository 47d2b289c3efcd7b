/** The zip of a damaged run: complete with every file unchanged, or a sentence. */
import { unzipSync } from "fflate";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { zipRun } from "../../../src/engine/runs/zip.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { group, manifest } from "../../unit/runs/sample-run.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage, LINE_DAMAGE } from "../json.ts";
import { check, type Target } from "../target.ts";
import { intoStore, storeFiles } from "../valid.ts";

const RUN = "brave-otter";
const whole = memoryStore();
const folder = await createRun(whole, manifest(RUN));
for (const step of [1, 2]) await folder.appendStep(step, { loss: 1 / step, "loop1/kl": Number.NaN });
await folder.appendGroups(1, [group(1, 1, 0)]);

export const zip: Target = {
  ...casesOf({ run: await storeFiles(whole, RUN) }, (path) =>
    path.endsWith(".json") ? jsonDamage() : path.endsWith(".jsonl") ? LINE_DAMAGE : undefined,
  ),
  async read(files) {
    const store = memoryStore();
    await intoStore(store, files);
    const parts: Uint8Array[] = [];
    for await (const part of zipRun(store, RUN)) parts.push(part);
    const entries = unzipSync(new Uint8Array(Buffer.concat(parts)));
    for (const [path, bytes] of Object.entries(files)) {
      check(Buffer.from(entries[path] ?? []).equals(Buffer.from(bytes)), `${path} is not in the zip as it is`);
    }
    const csv = new TextDecoder().decode(entries[`${RUN}/metrics.csv`]).trimEnd().split("\n");
    // Commas within quotes are part of a name.
    const cells = (line: string): number => line.replace(/"(?:[^"]|"")*"/g, "").split(",").length;
    check(
      csv.every((line) => cells(line) === cells(csv[0] ?? "")),
      "rows of metrics.csv differ in width",
    );
  },
};
