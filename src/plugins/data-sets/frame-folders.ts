/** Finds folders of numbered pictures by their content, wherever they are. */

import type { ByteFolder, ByteSource } from "../../engine/bytes/source.ts";
import { byName } from "../../engine/data/shards.ts";
import { withoutArchives } from "../../engine/data/siblings.ts";
import { paletteIndices } from "./palette.ts";

export interface FrameDirectory {
  readonly path: string;
  readonly kind: "pictures" | "annotations";
  /** Names without extension, in order of time: 2 before 10. */
  readonly names: readonly string[];
  get(name: string): ByteSource | undefined;
  /**
   * Palette entries of the first annotated frame, without 0.
   * @throws LabError("bad-input") for colour pictures
   */
  objects(): Promise<number[]>;
}

const FRAME = /\.(?:jpe?g|png|webp)$/i;
/** DAVIS has "Annotations_unsupervised" too. */
const ANNOTATIONS = /(?:^|\/)Annotations(?:_\w+)?(?:\/|$)/;

/** Every folder with pictures, by its path. */
export function frameDirectories(folder: ByteFolder): Map<string, FrameDirectory> {
  const files = new Map<string, Map<string, string>>();
  for (const path of folder.paths) {
    if (!FRAME.test(path)) continue;
    const slash = path.lastIndexOf("/");
    const inside = files.get(path.slice(0, Math.max(slash, 0))) ?? new Map<string, string>();
    inside.set(path.slice(slash + 1).replace(FRAME, ""), path);
    files.set(path.slice(0, Math.max(slash, 0)), inside);
  }
  const made = new Map<string, FrameDirectory>();
  for (const [path, inside] of files) {
    const names = [...inside.keys()].sort(byName);
    const get = (name: string): ByteSource | undefined => folder.get(inside.get(name) ?? "");
    made.set(path, {
      path,
      kind: ANNOTATIONS.test(withoutArchives(path)) ? "annotations" : "pictures",
      names,
      get,
      async objects() {
        const first = get(names[0] ?? "");
        if (first === undefined) return [];
        const { indices } = paletteIndices(await first.read(0, first.size), first.name);
        return [...new Set(indices)].filter((index) => index > 0).sort((a, b) => a - b);
      },
    });
  }
  return made;
}

/** The folder of a clip; if there are several, the one with the split in its path, and under JPEGImages. */
export function directoryFor(
  directories: ReadonlyMap<string, FrameDirectory>,
  clip: string,
  split: string | undefined,
  kind: FrameDirectory["kind"],
): FrameDirectory | undefined {
  const fits = [...directories.values()].filter(
    (directory) => directory.kind === kind && (directory.path === clip || directory.path.endsWith(`/${clip}`)),
  );
  const rank = (directory: FrameDirectory): number => {
    const path = withoutArchives(directory.path);
    return (split !== undefined && path.split("/").includes(split) ? 2 : 0) + (path.includes("JPEGImages/") ? 1 : 0);
  };
  return fits.sort((a, b) => rank(b) - rank(a))[0];
}
