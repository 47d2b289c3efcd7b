import { LabError } from "../../engine/errors.ts";

type PickDirectory = (options: { readonly mode: "read" | "readwrite" }) => Promise<FileSystemDirectoryHandle>;

/**
 * Asks the user for a folder on disk.
 * @param instead what to do in a browser that cannot ask
 * @throws LabError("unsupported") there, LabError("cancelled") when none was selected
 */
export async function chooseFolder(mode: "read" | "readwrite", instead: string): Promise<FileSystemDirectoryHandle> {
  const choose = (window as Window & { readonly showDirectoryPicker?: PickDirectory }).showDirectoryPicker;
  if (choose === undefined) throw new LabError("unsupported", `This browser cannot open folders; ${instead}`);
  return choose.call(window, { mode }).catch((thrown: unknown) => {
    if (thrown instanceof DOMException && thrown.name === "AbortError") {
      throw new LabError("cancelled", "No folder was selected; nothing was changed");
    }
    throw thrown;
  });
}
