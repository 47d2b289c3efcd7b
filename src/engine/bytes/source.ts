/**
 * Random access to bytes, whatever holds them: a dropped File, a URL, a Node file, an array. Parsers only know this.
 */
export interface ByteSource {
  /** Base name or relative path, for messages ("part1/data-00000-of-00003.arrow"). */
  readonly name: string;
  /** Total bytes. */
  readonly size: number;
  /** What tells this content from any other without reading it (a server's entity tag), where there is such a thing. */
  readonly identity?: string;
  /** Bytes [start, end); throws LabError("bad-input") when the range lies outside the source. */
  read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A group of sources that belong together: what a dropped folder is after flattening. */
export interface ByteFolder {
  /** Paths relative to the folder, "/" separated, sorted. */
  readonly paths: readonly string[];
  /** The source at a path, or undefined when there is none. */
  get(path: string): ByteSource | undefined;
}
