/** A number of bytes to three digits, in MB or from 1 GB on in GB, for sentences. */
export function bytesText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toPrecision(3)} MB` : `${(bytes / 1e9).toPrecision(3)} GB`;
}
