/** Hands a value to the browser's downloads as indented JSON. */
export function saveJson(value: unknown, fileName: string): void {
  saveBlob(new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: "application/json" }), fileName);
}

/** Hands a file to the browser's downloads. */
export function saveBlob(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  // By then the download has its own copy of the bytes.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

type PickDirectory = (options: { readonly mode: "read" | "readwrite" }) => Promise<FileSystemDirectoryHandle>;

/** Asks the user for a folder on disk. @returns null when none was selected, undefined in a browser that cannot ask */
export function pickFolder(mode: "read" | "readwrite"): Promise<FileSystemDirectoryHandle | null> | undefined {
  const { showDirectoryPicker } = window as Window & { readonly showDirectoryPicker?: PickDirectory };
  return showDirectoryPicker?.call(window, { mode }).catch((thrown: unknown) => {
    if (thrown instanceof DOMException && thrown.name === "AbortError") return null;
    throw thrown;
  });
}
