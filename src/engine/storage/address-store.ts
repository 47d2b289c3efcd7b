/**
 * A run behind an address, read-only and growing: what `python -m sa2va_lab.serve` shows. Files are read as they are at
 * the moment of the call.
 */

import { isRecord } from "../bytes/json.ts";
import { folderOf, memorySource } from "../bytes/memory.ts";
import { LabError } from "../errors.ts";
import { folderStore } from "./folder-store.ts";
import { comparePaths, isBelow, missingFile, type RunStore, type StoredFile } from "./store.ts";

/**
 * @param baseUrl of the server, with a slash at its end
 * @param token sent as a bearer token; "" for none. It is kept here alone
 * @returns the store, in which the run lies under its id
 * @throws LabError("bad-input" | "network") when the address shows no run, or the token is not the server's
 */
export async function addressStore(
  baseUrl: string,
  token: string,
  fetcher: typeof fetch = fetch,
): Promise<{ readonly store: RunStore; readonly runId: string }> {
  const headers: Record<string, string> = token === "" ? {} : { Authorization: `Bearer ${token}` };
  const get = async (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    const response = await fetcher(baseUrl + name, { headers, cache: "no-store", redirect: "error" }).catch(
      (cause: unknown) => {
        throw new LabError(
          "network",
          `${baseUrl} did not answer; is the server running, and does it allow this page?`,
          {
            subject: baseUrl,
            cause,
          },
        );
      },
    );
    if (response.status === 401) throw refused(baseUrl, "asks for the token that it printed when it started");
    if (!response.ok) throw refused(baseUrl, `answered ${response.status} to ${name}`);
    return new Uint8Array(await response.arrayBuffer());
  };
  const json = async (name: string): Promise<unknown> => {
    try {
      return JSON.parse(new TextDecoder().decode(await get(name)));
    } catch (thrown) {
      if (thrown instanceof LabError) throw thrown;
      throw refused(baseUrl, `has a ${name} that is no valid JSON`);
    }
  };
  const manifest = await json("run.json");
  const runId = isRecord(manifest) ? manifest.id : undefined;
  if (typeof runId !== "string" || !/^[A-Za-z0-9][A-Za-z0-9-]*$/.test(runId)) throw refused(baseUrl, "shows no run");
  const listed = async (): Promise<StoredFile[]> => {
    const files = await json("files.json");
    if (!Array.isArray(files)) throw refused(baseUrl, "has a files.json that is no list");
    return files.filter(isFile).map(({ path, size }) => ({ path: `${runId}/${path}`, size }));
  };
  const read = async (path: string): Promise<Uint8Array<ArrayBuffer>> => {
    if (!path.startsWith(`${runId}/`)) throw missingFile(path);
    return await get(
      path
        .slice(runId.length + 1)
        .split("/")
        .map(encodeURIComponent)
        .join("/"),
    );
  };
  const { write, append, remove, usage } = folderStore(folderOf(new Map()));
  const store: RunStore = {
    write,
    append,
    remove,
    usage,
    read,
    readText: async (path) => new TextDecoder().decode(await read(path)),
    open: async (path) => memorySource(path, await read(path)),
    size: async (path) => (await listed()).find((file) => file.path === path)?.size ?? null,
    list: async (prefix) => (await listed()).filter(({ path }) => isBelow(path, prefix)).sort(comparePaths),
  };
  return { store, runId };
}

function isFile(value: unknown): value is StoredFile {
  return isRecord(value) && typeof value.path === "string" && typeof value.size === "number";
}

function refused(baseUrl: string, what: string): LabError {
  return new LabError("bad-input", `${baseUrl} ${what}; nothing was opened`, { subject: baseUrl });
}
