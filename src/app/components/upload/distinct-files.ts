import { distinctNames } from "../../../engine/bytes/text.ts";
import { markUnseen } from "../../../engine/errors.ts";
import type { PickedFile } from "../../../protocol/common.ts";

/**
 * The files of several items opened together, in order. If two files or folders have the same name, the second gets a
 * number. @param items the files of each item, with paths that begin with the item's name
 */
export function distinctFiles(items: readonly (readonly PickedFile[])[]): readonly PickedFile[] {
  const distinct = distinctNames();
  const files: PickedFile[] = [];
  for (const item of items) {
    const [first] = item;
    if (first === undefined) continue;
    const top = (first.path.split("/")[0] as string).length;
    const name = distinct(first.path.slice(0, top));
    // One by one: a folder may hold more files than a call can take arguments.
    for (const { path, file } of item) files.push({ path: name + markUnseen(path.slice(top)), file });
  }
  return files;
}
