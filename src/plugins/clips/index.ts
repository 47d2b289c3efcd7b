/** Reads rows with several frames. */
import type { DataReaders } from "../../engine/data/readers/reader.ts";
import { clipRegion } from "./clip-row.ts";
import { videoCells, videoProbes } from "./video-cells.ts";

export const clips: DataReaders = {
  readers: [],
  samples: [],
  leaves: [],
  frames: { region: clipRegion, probes: videoProbes, pictures: videoCells },
};
