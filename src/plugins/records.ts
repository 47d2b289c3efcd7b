/** Formats of files of records beside JSON. */
import { pickle } from "./pickle/pickle.ts";

/** A format whose files are read whole. */
interface RecordFormat {
  /** Name for messages. */
  readonly name: string;
  /** The end of its files' names. */
  readonly path: RegExp;
  /** Whether the first bytes of a file are of this format. */
  starts(head: Uint8Array): boolean;
  /** Plain data. @throws LabError("bad-input") for a damaged file, or one that is not plain data */
  read(bytes: Uint8Array, name: string): unknown;
}

export const PLUGIN_RECORDS: readonly RecordFormat[] = [pickle];
