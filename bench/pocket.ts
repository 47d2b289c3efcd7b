/** Inputs of a training step from outside the engine: opened from disk under Node, over HTTP in a page. */
import type { ByteFolder } from "../src/engine/bytes/source.ts";
import type { RowSource } from "../src/engine/data/training-row.ts";
import type { Wordnet } from "../src/engine/rewards/wordnet.ts";
import type { RowList } from "../src/engine/runs/run-rows.ts";

export interface Pocket {
  readonly rows: RowSource;
  readonly list: RowList;
  readonly wordnet: Wordnet;
  readonly model: ByteFolder;
}
