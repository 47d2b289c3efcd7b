/** Folders of files that the user selected or dropped, and of files that the page's origin serves. */
import { isRecord } from "../bytes/json.ts";
import { type ByteFolder, type ByteSource, blobSource, checkRange, folderOf, memorySource } from "../bytes/source.ts";
import { distinctNames } from "../bytes/text.ts";
import { badInput } from "../errors.ts";

/** Files up to this size are fetched whole at the first read, to avoid a request per small read. */
const WHOLE = 8 * 2 ** 20;

/**
 * Selected files as a folder, without reading them. Hidden files (a path part that begins with a dot) are left out;
 * duplicate paths are made unique.
 */
export function pickedFolder(files: Iterable<{ readonly path: string; readonly file: Blob }>): ByteFolder {
  const sources = new Map<string, ByteSource>();
  const distinct = distinctNames();
  for (const { path, file } of files) {
    const clean = path.replace(/^\/+/, "");
    if (clean.split("/").some((part) => part.startsWith("."))) continue;
    const name = distinct(clean);
    sources.set(name, blobSource(name, file));
  }
  return folderOf(sources);
}

/**
 * A folder on the page's origin: its `files.json` lists {path, size} of every file.
 * @param baseUrl absolute URL of the folder
 * @throws LabError("bad-input") naming the URL when the list cannot be fetched or parsed
 */
export async function fetchedFolder(baseUrl: string, fetcher: typeof fetch = fetch): Promise<ByteFolder> {
  const base = baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`;
  const url = `${base}files.json`;
  const response = await request(url, {}, fetcher);
  let list: unknown;
  try {
    list = await response.json();
  } catch (thrown) {
    throw badInput(`${url} is not valid JSON: ${(thrown as Error).message}`, url);
  }
  const sources = new Map<string, ByteSource>();
  for (const entry of Array.isArray(list) ? list : [null]) {
    if (!isRecord(entry) || typeof entry.path !== "string" || typeof entry.size !== "number") {
      throw badInput(`${url} is not a list of files with path and size`, url);
    }
    const place = entry.path.split("/").map(encodeURIComponent).join("/");
    sources.set(entry.path, urlSource(entry.path, base + place, entry.size, fetcher));
  }
  return folderOf(sources);
}

/** A file at a URL as a source: fetched whole if it is small or the server does not support ranges, else by ranges. */
export function urlSource(name: string, url: string, size: number, fetcher: typeof fetch = fetch): ByteSource {
  let whole: Promise<ByteSource> | null = null;
  const keep = async (response: Response): Promise<ByteSource> => {
    const bytes = new Uint8Array(await response.arrayBuffer());
    checkSize(name, bytes.length, size);
    return memorySource(name, bytes);
  };
  const remember = (fetched: Promise<ByteSource>): Promise<ByteSource> => {
    whole = fetched;
    // A failed fetch rejects the current readers; the next read tries again.
    fetched.catch(() => {
      whole = null;
    });
    return fetched;
  };
  return {
    name,
    size,
    read: async (start, end) => {
      checkRange(name, size, start, end);
      if (start === end) return new Uint8Array();
      if (whole !== null) return (await whole).read(start, end);
      if (size <= WHOLE) return (await remember(request(url, {}, fetcher).then(keep))).read(start, end);
      const response = await request(url, { headers: { Range: `bytes=${start}-${end - 1}` } }, fetcher);
      if (response.status !== 206) return (await remember(keep(response))).read(start, end);
      const bytes = new Uint8Array(await response.arrayBuffer());
      checkSize(name, bytes.length, end - start);
      return bytes;
    },
  };
}

/** The bytes at a URL of the page's origin. @throws LabError("bad-input") naming the URL and the cause */
export async function fetchBytes(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await request(url, {}, fetch);
  return new Uint8Array(await response.arrayBuffer());
}

/** Several folders as one, each below its unique name; a single folder is returned unchanged. */
export function mergeFolders(folders: readonly { readonly name: string; readonly folder: ByteFolder }[]): ByteFolder {
  const [only] = folders;
  if (folders.length === 1 && only !== undefined) return only.folder;
  const files = new Map<string, ByteSource>();
  const distinct = distinctNames();
  for (const { name, folder } of folders) {
    const unique = distinct(name);
    for (const path of folder.paths) {
      const source = folder.get(path);
      if (source !== undefined) files.set(`${unique}/${path}`, { ...source, name: `${unique}/${path}` });
    }
  }
  return folderOf(files);
}

async function request(url: string, init: RequestInit, fetcher: typeof fetch): Promise<Response> {
  let response: Response;
  try {
    response = await fetcher(url, init);
  } catch (thrown) {
    throw badInput(`${url} could not be fetched: ${(thrown as Error).message}`, url, thrown);
  }
  if (!response.ok) throw badInput(`${url} could not be fetched: the server answered ${response.status}`, url);
  return response;
}

function checkSize(name: string, found: number, expected: number): void {
  if (found === expected) return;
  throw badInput(`${name} has ${found} bytes instead of ${expected}; it was not used`, name);
}
