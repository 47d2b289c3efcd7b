import type { RemoteListing } from "../engine/loading/remote/listing.ts";

/** A file picked or dropped, with its path relative to what was dropped. A File is a lazy handle: posting copies no bytes. */
export interface PickedFile {
  readonly path: string;
  readonly file: Blob;
}

/** Where a folder of files comes from: the page's own origin (built-in demo), the user's disk, or a server that was asked. */
export type FolderRef =
  | {
      readonly kind: "built-in" /** Absolute URL of the folder; it holds `files.json`, a list of {path, size}. */;
      readonly baseUrl: string;
    }
  | { readonly kind: "picked"; readonly name: string; readonly files: readonly PickedFile[] }
  | { readonly kind: "remote"; readonly listing: RemoteListing };
