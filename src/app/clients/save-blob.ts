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
