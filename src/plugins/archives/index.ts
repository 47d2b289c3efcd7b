/** Opens tar and zip archives of data as directories. */
import type { DataReaders } from "../../engine/data/readers/reader.ts";
import { mountArchives } from "./mount.ts";

export const archives: DataReaders = { readers: [], samples: [], leaves: [], mount: mountArchives };
