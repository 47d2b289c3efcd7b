/**
 * Random access to bytes of any origin: a dropped File, a URL, a Node file, an array. Parsers use only this interface.
 */
export interface ByteSource {
  /** Base name or relative path, for messages ("part1/data-00000-of-00003.arrow"). */
  readonly name: string;
  /** Total bytes. */
  readonly size: number;
  /** Identifies the content without reading it, such as a server's entity tag, if available. */
  readonly identity?: string;
  /** Reading backwards begins a new transfer from the start. */
  readonly sequential?: true;
  /** Bytes [start, end); throws LabError("bad-input") when the range is outside the source. */
  read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A folder as a flat group of sources. */
export interface ByteFolder {
  /** Paths relative to the folder, "/" separated, sorted. */
  readonly paths: readonly string[];
  /** The source at a path, or undefined. */
  get(path: string): ByteSource | undefined;
}

/** The directory of a path with its slash; empty at the top. */
export function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}
