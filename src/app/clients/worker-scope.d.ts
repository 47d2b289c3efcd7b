/** Types of a worker's scope that the page's library lacks: the page reads the types of what its workers serve. */
interface FileSystemSyncAccessHandle {
  close(): void;
  flush(): void;
  getSize(): number;
  read(into: AllowSharedBufferSource, options?: { readonly at?: number }): number;
  truncate(size: number): void;
  write(bytes: AllowSharedBufferSource, options?: { readonly at?: number }): number;
}

interface FileSystemFileHandle {
  createSyncAccessHandle(): Promise<FileSystemSyncAccessHandle>;
}
