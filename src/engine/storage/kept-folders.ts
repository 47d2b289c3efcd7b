/** Folders that the user opened, kept in this browser, so that one click opens them again after a reload. */

/** What was opened from disk under a name, and when. */
export interface KeptFolder {
  readonly kind: "data" | "model";
  readonly name: string;
  readonly handles: readonly FileSystemHandle[];
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const STORE = "folders";

const settled = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB failed"));
  });

/** What stands for a database that the browser refuses, as in private windows. */
const unlessRefused =
  <T>(value: T) =>
  (thrown: unknown): T => {
    if (thrown instanceof DOMException) return value;
    throw thrown;
  };

async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const opening = indexedDB.open("sa2va-lab", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    return await settled(work(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

/** Keeps the handles of what was opened; without handles, or where the browser stores nothing, it does nothing. */
export async function keepFolder(folder: KeptFolder): Promise<void> {
  if (folder.handles.length === 0) return;
  await inStore("readwrite", (store) => store.put(folder, `${folder.kind} ${folder.name}`)).catch(
    unlessRefused(undefined),
  );
}

/** Kept folders, newest first; none where the browser stores nothing. */
export async function keptFolders(): Promise<readonly KeptFolder[]> {
  const all = await inStore<KeptFolder[]>("readonly", (store) => store.getAll()).catch(unlessRefused([]));
  return all.sort((a, b) => b.at - a.at);
}
