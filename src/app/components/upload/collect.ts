/** Collects the files of a drop or a file picker, folders included. */
import { thrownText } from "../../../engine/errors.ts";
import type { PickedFile } from "../../../protocol/common.ts";
import { addProblem } from "../../stores/session.ts";
import { distinctFiles } from "./distinct-files.ts";

/** Files, and the handles that open them again; none where the browser gives none. */
interface Collected {
  readonly files: readonly PickedFile[];
  readonly handles: readonly FileSystemHandle[];
}

/**
 * All files of a drop, folders included, with their paths relative to what was dropped.
 * Call it synchronously in the drop handler: the list of items is empty after the first await.
 */
export async function collectDropped(items: DataTransferItemList): Promise<Collected> {
  const work: Promise<readonly [PickedFile[], FileSystemHandle | null]>[] = [];
  for (const item of items) {
    if (item.kind !== "file") continue;
    const handle = ((item as HandleItem).getAsFileSystemHandle?.() ?? Promise.resolve(null)).catch(() => null);
    const files = collectItem(handle, item.webkitGetAsEntry(), item.getAsFile());
    work.push(Promise.all([files, handle]));
  }
  const found = await Promise.all(work);
  const handles = found.flatMap(([, handle]) => handle ?? []);
  return { files: distinctFiles(found.map(([files]) => files)), handles: handles.length < found.length ? [] : handles };
}

/** All files of handles, folders included. */
export async function collectHandles(handles: readonly FileSystemHandle[]): Promise<readonly PickedFile[]> {
  return distinctFiles(await Promise.all(handles.map((handle) => fromHandle(handle, "").catch(leftOut(handle.name)))));
}

/** Chromium's persistent handle, which the type libraries lack. */
type HandleItem = DataTransferItem & { readonly getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> };

/** The three ways to read an item, best first; a browser may lack any of them. */
async function collectItem(
  handle: Promise<FileSystemHandle | null>,
  entry: FileSystemEntry | null,
  file: File | null,
): Promise<PickedFile[]> {
  const found = await handle;
  if (found !== null) return fromHandle(found, "").catch(leftOut(found.name));
  if (entry !== null) return fromEntry(entry, "").catch(leftOut(entry.name));
  return file === null ? [] : [{ path: file.name, file }];
}

/** Lists a file or folder that cannot be read; the others are opened. */
function leftOut(path: string): (thrown: unknown) => PickedFile[] {
  return (thrown) => {
    const refused = thrown instanceof DOMException && thrown.name === "NotAllowedError";
    const why = refused ? "the browser may not read it; drop it again and allow access" : thrownText(thrown);
    addProblem({ code: "bad-input", message: `${path} was left out: ${why}`, subject: path });
    return [];
  };
}

async function fromHandle(handle: FileSystemHandle, under: string): Promise<PickedFile[]> {
  const path = under + handle.name;
  if (handle instanceof FileSystemFileHandle) return [{ path, file: await handle.getFile() }];
  const found: PickedFile[] = [];
  if (handle instanceof FileSystemDirectoryHandle) {
    // One by one: a folder may hold more files than a call can take arguments.
    for await (const child of handle.values()) {
      const files = fromHandle(child, `${path}/`).catch(leftOut(`${path}/${child.name}`));
      for (const file of await files) found.push(file);
    }
  }
  return found;
}

async function fromEntry(entry: FileSystemEntry, under: string): Promise<PickedFile[]> {
  const path = under + entry.name;
  if (entry instanceof FileSystemFileEntry) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    return [{ path, file }];
  }
  const found: PickedFile[] = [];
  if (entry instanceof FileSystemDirectoryEntry) {
    const reader = entry.createReader();
    for (;;) {
      // One call yields at most 100 entries: only an empty list means the end.
      const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (batch.length === 0) break;
      for (const child of batch) {
        const files = fromEntry(child, `${path}/`).catch(leftOut(`${path}/${child.name}`));
        for (const file of await files) found.push(file);
      }
    }
  }
  return found;
}

/** Files of an input element, with the folder they were picked in when there was one. */
export function collectPicked(list: FileList): readonly PickedFile[] {
  const files = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  const inFolder = files.every(({ path }) => path.includes("/"));
  return distinctFiles(inFolder ? [files] : files.map((file) => [file]));
}
