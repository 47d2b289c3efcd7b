/** Pointers of Git LFS: text files that a clone without Git LFS leaves in place of the real files. */
import { badInput } from "../errors.ts";
import type { ByteSource } from "./source.ts";

const START = "version https://git-lfs";

/** The end of a sentence about such a file. */
export const IS_POINTER =
  "is a Git LFS pointer, not the file itself; fetch the real file with `git lfs pull` and add it again";

/** Whether a file with these first bytes, or this text, is a pointer. */
export function isPointer(head: Uint8Array | string): boolean {
  if (typeof head === "string") return head.startsWith(START);
  return [...START].every((char, at) => head[at] === char.charCodeAt(0));
}

/** @throws LabError("bad-input") when the file is a pointer */
export async function refusePointer(source: ByteSource): Promise<void> {
  const head = await source.read(0, Math.min(START.length, source.size));
  if (isPointer(head)) throw badInput(`${source.name} ${IS_POINTER}`, source.name);
}
