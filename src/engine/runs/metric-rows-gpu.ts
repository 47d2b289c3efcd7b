import { row } from "./metric-rows.ts";
import type { Metric } from "./metric-table.ts";

const CONSTANT = "The same in every step of equal shapes; a rise over the steps is work that grows";

/** What a step asks of the GPU, phase by phase. Counted at the device: stock ops, own kernels and decoding alike. */
export const GPU_ROWS: readonly Metric[] = [
  row("gpu/<phase>/dispatches", "Compute dispatches recorded in one phase of the step", "", "dispatches", CONSTANT, 0),
  row("gpu/<phase>/submits", "Command submissions of one phase", "", "submits", "Far below the dispatches", 0),
  row(
    "gpu/<phase>/read_backs",
    "Buffers mapped for reading in one phase; each may wait for the GPU",
    "",
    "read-backs",
    "A few; generation reads once in several tokens",
    0,
  ),
  row(
    "gpu/<phase>/buffers",
    "GPU buffers made in one phase, those taken from the pool left out",
    "",
    "buffers",
    CONSTANT,
    0,
  ),
  row("gpu/<phase>/bytes", "Bytes of the GPU buffers made in one phase", "", "bytes", CONSTANT, 0),
];
