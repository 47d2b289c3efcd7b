/**
 * A read-only, growing run at an address, as `python -m sa2va_lab.serve` serves it. Each call reads the files' current
 * content.
 */

import { isRecord } from "../../engine/bytes/json.ts";
import { folderOf, joinBytes, memorySource } from "../../engine/bytes/source.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import {
  comparePaths,
  folderStore,
  isBelow,
  missingFile,
  namesIn,
  type RunStore,
  type StoredFile,
} from "../../engine/storage/store.ts";
import type { DataPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { remoteAddress } from "../hub/address.ts";

/** Calls of the data worker. */
export const runAddressCalls = (place: () => Promise<DataPlace>) => ({
  /**
   * Opens the growing run of a server. Returns its id.
   * @param token token of the server; "" for none
   */
  async follow(address: string, token: string): Promise<string> {
    const { store, runId } = await addressStore(remoteAddress(address, "").baseUrl, token);
    await (await place()).addRun(runId, store);
    return runId;
  },
});

export type RunAddressCalls = CallsOf<typeof runAddressCalls>;

/** Bytes before the known end of a growing file that are read again, to notice a file that was rewritten. */
const OVERLAP = 256;

interface Answer {
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Null if the server gives none. */
  readonly tag: string | null;
}

/**
 * @param baseUrl of the server, with a slash at its end
 * @param token sent as a bearer token; "" for none. It is stored nowhere else
 * @returns the store, which holds the run under its id
 * @throws LabError("bad-input" | "network") when the address shows no run, or the token is not the server's
 */
export async function addressStore(
  baseUrl: string,
  token: string,
): Promise<{ readonly store: RunStore; readonly runId: string }> {
  const headers: Record<string, string> = token === "" ? {} : { Authorization: `Bearer ${token}` };
  const lost = (what: string, cause: unknown): LabError =>
    new LabError("network", `${baseUrl} ${what}; what was read before is kept`, { subject: baseUrl, cause });
  const ask = async (name: string, more: Record<string, string> = {}): Promise<Answer> => {
    let response: Response;
    try {
      const init: RequestInit = { headers: { ...headers, ...more }, cache: "no-store", redirect: "error" };
      response = await fetch(baseUrl + name, init);
    } catch (cause) {
      throw lost("did not answer: it is not running, or does not allow this page", cause);
    }
    const { status } = response;
    if (status === 401) throw refused(baseUrl, "requires the token that it printed when it started");
    if (!response.ok && status !== 304 && status !== 416) throw refused(baseUrl, `answered ${status} to ${name}`);
    try {
      const bytes = new Uint8Array(await response.arrayBuffer());
      return { status, bytes, tag: response.headers.get("etag") };
    } catch (cause) {
      throw lost(`closed the connection while it sent ${name}`, cause);
    }
  };
  const get = async (name: string) => (await ask(name)).bytes;
  const grown = new Map<string, Answer>();
  /** A growing file: only the bytes after the last read are fetched, or the whole file if its known end has changed. */
  const tail = async (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    const before = grown.get(name);
    let now: Answer;
    if (before === undefined || before.tag === null || before.bytes.length === 0) now = await ask(name);
    else {
      const from = Math.max(0, before.bytes.length - OVERLAP);
      const more = await ask(name, { Range: `bytes=${from}-`, "If-None-Match": before.tag });
      if (more.status === 304) return before.bytes;
      const fits = more.status === 206 && startsWith(more.bytes, before.bytes.subarray(from));
      now = fits ? { ...more, bytes: joinBytes([before.bytes.subarray(0, from), more.bytes]) } : await ask(name);
    }
    grown.set(name, now);
    return now.bytes;
  };
  const json = async (name: string): Promise<unknown> => {
    try {
      return JSON.parse(new TextDecoder().decode(await get(name)));
    } catch (thrown) {
      if (thrown instanceof LabError) throw thrown;
      throw refused(baseUrl, `has a ${name} that is not valid JSON`);
    }
  };
  const manifest = await json("run.json");
  const runId = isRecord(manifest) ? manifest.id : undefined;
  if (typeof runId !== "string" || !/^[A-Za-z0-9][A-Za-z0-9-]*$/.test(runId)) throw refused(baseUrl, "serves no run");
  const list = async (): Promise<StoredFile[]> => {
    const files = await json("files.json");
    if (!Array.isArray(files)) throw refused(baseUrl, "has a files.json that is not a list");
    return files.filter(isFile).map(({ path, size }) => ({ path: `${runId}/${path}`, size }));
  };
  let listing: Promise<StoredFile[]> | null = null;
  /**
   * Fetched again after each read of a file; kept until then, because opening a run requests the names and sizes of
   * many files.
   */
  const listed = (): Promise<StoredFile[]> => {
    const asked = listing ?? list();
    listing = asked;
    asked.catch(() => {
      listing = null;
    });
    return asked;
  };
  const read = async (path: string): Promise<Uint8Array<ArrayBuffer>> => {
    if (!path.startsWith(`${runId}/`)) throw missingFile(path);
    listing = null;
    const name = path
      .slice(runId.length + 1)
      .split("/")
      .map(encodeURIComponent)
      .join("/");
    return await (name.endsWith(".jsonl") ? tail(name) : get(name));
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
    names: async (folder) =>
      namesIn(
        (await listed()).map(({ path }) => path),
        folder,
      ),
  };
  return { store, runId };
}

function startsWith(bytes: Uint8Array, start: Uint8Array): boolean {
  return bytes.length >= start.length && start.every((byte, at) => byte === bytes[at]);
}

function isFile(value: unknown): value is StoredFile {
  return isRecord(value) && typeof value.path === "string" && typeof value.size === "number";
}

function refused(baseUrl: string, what: string): LabError {
  return badInput(`${baseUrl} ${what}; nothing was changed`, baseUrl);
}
