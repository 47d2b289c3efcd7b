/** Files of an export, generated in pieces while they are written, so that no file is held in memory. */

export interface ExportFile {
  /** Relative, "/" separated. */
  readonly path: string;
  /** The content in pieces; can be read once. */
  pieces(): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** Files in the order of writing. */
export type ExportFiles = AsyncIterable<ExportFile>;

/** A small file, generated at once. */
export function wholeFile(path: string, content: Uint8Array<ArrayBuffer> | string): ExportFile {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return {
    path,
    async *pieces() {
      yield bytes;
    },
  };
}

/** The same files below a folder. */
export async function* below(folder: string, files: ExportFiles): ExportFiles {
  for await (const file of files) yield { path: `${folder}/${file.path}`, pieces: () => file.pieces() };
}
