/** Readers of plug-ins: data sets that need their own code. */
import type { DataReaders } from "../engine/data/readers/reader.ts";
import { archives } from "./archives/index.ts";
import { clips } from "./clips/index.ts";
import { dataSets } from "./data-sets/index.ts";
import { OTHER_FILES } from "./exchange/index.ts";

export const PLUGIN_READERS: readonly DataReaders[] = [OTHER_FILES, dataSets, clips, archives];
