/**
 * A picked or dropped file with its path relative to the dropped folder. A File is a lazy handle: posting copies no
 * bytes.
 */
export interface PickedFile {
  readonly path: string;
  readonly file: Blob;
}

/** Source of a folder of files: the page's origin (built-in demo), the user's disk, or a server that was contacted. */
export type FolderRef =
  | {
      readonly kind: "built-in" /** Absolute URL of the folder; it holds `files.json`, a list of {path, size}. */;
      readonly baseUrl: string;
    }
  | { readonly kind: "picked"; readonly name: string; readonly files: readonly PickedFile[] }
  /** Opened by a plug-in from its listing of the files. */
  | { readonly kind: "remote"; readonly name: string; readonly listing: unknown };
