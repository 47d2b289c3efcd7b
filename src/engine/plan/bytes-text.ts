/** Formats a byte count for a sentence: three digits, in MB, or in GB from 1 GB on. */
export function bytesText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toPrecision(3)} MB` : `${(bytes / 1e9).toPrecision(3)} GB`;
}

/** The search for a GPU's memory stops here, in gigabytes. */
export const MOST_GIGABYTES = 24;
