/** Files and sizes of a checkpoint on a server, found before any weight is downloaded. */
import * as z from "zod/mini";
import { checkShape, intactJson, isRecord } from "../../engine/bytes/json.ts";
import { badInput, type LabError, quote, toLabError } from "../../engine/errors.ts";
import { parseSa2vaConfig, type Sa2vaConfig } from "../../engine/model/config.ts";
import { isCodeFile, MAX_CODE_BYTES, MAX_CODE_FILES, remoteCode } from "../../engine/model/remote-code.ts";
import { WEIGHT_INDEX } from "../../engine/model/weights/checkpoint.ts";
import type { RemoteAddress } from "./address.ts";
import { explained, type RemoteDeps, refused, repeated, request } from "./request.ts";

const INDEX = "model.safetensors.index.json";
const SINGLE = "model.safetensors";
/** Optional files besides config.json and the weights. */
const SIDE_FILES = [
  "generation_config.json",
  // Not read here, but a copy on disk has them, and the fingerprint covers every config.json.
  "preprocessor_config.json",
  "video_preprocessor_config.json",
  "processor_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "tokenizer.model",
  "added_tokens.json",
  "special_tokens_map.json",
  "chat_template.jinja",
  "vocab.json",
  "merges.txt",
];
/** The user is waiting, so there are fewer retries than for weights. */
const PAUSES = [300, 1000];
/** Small files are read whole; larger ones are refused. */
const MAX_SIDE_BYTES = 64 * 2 ** 20;

export interface RemoteFile {
  readonly path: string;
  readonly size: number;
  /** Version of the content from the server or hub; null if it gives none. */
  readonly version: string | null;
}

/** A checkpoint folder on a server; a plain object that can be sent to workers. */
export interface RemoteListing extends RemoteAddress {
  readonly files: readonly RemoteFile[];
  /** Bytes of all files. */
  readonly bytes: number;
  /** Whether the server supports ranges; without them files are read from start to end. */
  readonly ranges: boolean;
}

export interface Asked {
  readonly listing: RemoteListing;
  readonly config: Sa2vaConfig;
}

/**
 * Requests sizes and versions. The only contents read are config.json, the index of the weights and, if no hub lists
 * them, the Python files that config.json needs.
 * @throws LabError naming the file that is missing, refused, of unknown size, or a config.json of another model
 */
export async function askRemote(address: RemoteAddress, options: RemoteDeps = {}): Promise<Asked> {
  const deps = { ...options, pauses: options.pauses ?? PAUSES };
  const { baseUrl, listUrl } = address;
  try {
    const listed = listUrl === null ? null : await hubFiles(listUrl, deps);
    const find = async (path: string): Promise<RemoteFile | undefined> =>
      listed === null ? fileFacts(path, baseUrl + path, deps) : listed.find((file) => file.path === path);
    const config = await find("config.json");
    if (config === undefined) throw badInput(`${baseUrl} is not a checkpoint folder: config.json is missing`, baseUrl);
    const json = await fetchJson("config.json", baseUrl, deps);
    const parsed = parseSa2vaConfig(json);
    const code = listed === null ? await codeFiles(json, baseUrl, find, deps) : listedCode(listed);
    const sides = await Promise.all(SIDE_FILES.map(find));
    // As for a folder on disk, a single file takes precedence over an index.
    const single = await find(SINGLE);
    const index = single === undefined ? await find(INDEX) : undefined;
    const shards = index === undefined ? [SINGLE] : shardNames(await fetchJson(INDEX, baseUrl, deps));
    const weights: RemoteFile[] = [];
    for (const path of shards) {
      const file = path === SINGLE ? single : await find(path);
      if (file === undefined) throw missingWeights(path, index !== undefined, baseUrl);
      weights.push(file);
    }
    const files = [config, ...sides, ...code, index, ...weights].filter((file) => file !== undefined);
    const listing = {
      ...address,
      files,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
      ranges: await sendsRanges(baseUrl + (weights[0] as RemoteFile).path, deps),
    };
    return { listing, config: parsed };
  } catch (thrown) {
    throw await explained(toLabError(thrown), `${baseUrl}config.json`, deps);
  }
}

/** Python files that the hub lists in the root of the repository, within the limits. */
function listedCode(listed: readonly RemoteFile[]): readonly RemoteFile[] {
  return listed.filter(({ path, size }) => isCodeFile(path) && size <= MAX_CODE_BYTES).slice(0, MAX_CODE_FILES);
}

/** Python files that config.json needs, on a server without a list. */
async function codeFiles(
  config: unknown,
  baseUrl: string,
  find: (path: string) => Promise<RemoteFile | undefined>,
  deps: RemoteDeps,
): Promise<readonly RemoteFile[]> {
  const files: RemoteFile[] = [];
  await remoteCode([config], async (path) => {
    const file = await find(path);
    if (file === undefined || file.size > MAX_CODE_BYTES) return null;
    files.push(file);
    return new TextDecoder().decode(await fetchSmall(path, baseUrl, deps));
  });
  return files;
}

function missingWeights(path: string, indexed: boolean, baseUrl: string): LabError {
  const why = indexed
    ? `${INDEX} lists ${path}, which is not on the server`
    : `there is neither ${SINGLE} nor ${INDEX}; other forms of weights cannot be read`;
  return badInput(`${baseUrl} is not a usable checkpoint folder: ${why}`, path);
}

/** More than any published checkpoint has; each shard is requested separately. */
const MOST_SHARDS = 1024;

function shardNames(json: unknown): string[] {
  const names = [...new Set(Object.values(checkShape(json, WEIGHT_INDEX, INDEX).weight_map))].sort();
  if (names.length > MOST_SHARDS) {
    throw badInput(`${INDEX} lists ${names.length} files of weights, but at most ${MOST_SHARDS} can be read`, INDEX);
  }
  const odd = names.find((name) => !/^\w[\w.-]*\.safetensors$/.test(name));
  if (odd !== undefined || names.length === 0) {
    throw badInput(
      `${INDEX} lists ${odd === undefined ? "no file" : quote(odd)}, which is not a weight file in the folder`,
      INDEX,
    );
  }
  return names;
}

/** The files of a repository as its hub lists them, or null when there is no such list. */
async function hubFiles(url: string, deps: RemoteDeps): Promise<readonly RemoteFile[] | null> {
  return repeated(url, deps, async () => {
    const answer = await request(url, {}, deps);
    const { status } = answer.response;
    if (status !== 200) {
      answer.close();
      if (status === 401 || status === 403) throw refused(url, status);
      return null;
    }
    const list = parsedJson(await wholeBody(url, answer.pieces()));
    if (!Array.isArray(list)) return null;
    return list.flatMap((entry: unknown): RemoteFile[] => {
      if (!isRecord(entry) || entry.type !== "file" || typeof entry.path !== "string") return [];
      const lfs = isRecord(entry.lfs) ? entry.lfs : undefined;
      const size = lfs?.size ?? entry.size;
      const id = lfs?.oid ?? entry.oid;
      if (!isSize(size)) return [];
      return [{ path: entry.path, size, version: typeof id === "string" ? id : null }];
    });
  });
}

/** Size and version of a file, or undefined when the server has none. */
async function fileFacts(path: string, url: string, deps: RemoteDeps): Promise<RemoteFile | undefined> {
  return repeated(url, deps, async () => {
    const { response, close } = await request(url, { method: "HEAD" }, deps);
    close();
    const { status, headers } = response;
    // Some stores answer 403 for a missing file; the first file, which must exist, distinguishes the two.
    if (status === 404 || status === 410 || (status === 403 && path !== "config.json")) return undefined;
    if (status === 405 || status === 501) return partFacts(path, url, deps);
    if (!response.ok) throw refused(url, status);
    const size = headers.get("content-length");
    if (size === null || !isSize(Number(size))) return partFacts(path, url, deps);
    return { path, size: Number(size), version: versionOf(url, headers, Number(size)) };
  });
}

/** `fileFacts` from the response to a request for the first byte. */
async function partFacts(path: string, url: string, deps: RemoteDeps): Promise<RemoteFile | undefined> {
  const { response, close } = await request(url, { headers: { Range: "bytes=0-0" } }, deps);
  close();
  const { status, headers } = response;
  if (status === 404 || status === 410) return undefined;
  if (!response.ok) throw refused(url, status);
  const total = /\/(\d+)$/.exec(headers.get("content-range") ?? "")?.[1] ?? headers.get("content-length");
  const size = Number(total ?? Number.NaN);
  const named = (bytes: number): RemoteFile => ({ path, size: bytes, version: versionOf(url, headers, bytes) });
  if (isSize(size) && (status !== 206 || headers.get("content-range") !== null)) return named(size);
  // Servers that compress texts while they send them report no length.
  if (!path.endsWith(".safetensors")) return named((await fetchSmall(path, url.slice(0, -path.length), deps)).length);
  throw badInput(`The server does not say how large ${url} is; no weights were fetched`, path);
}

/** Entity tags and dates are valid only for their address. */
function versionOf(url: string, headers: Headers, size: number): string | null {
  const mark = headers.get("etag") ?? headers.get("last-modified");
  return mark === null ? null : `${url} ${size} ${mark}`;
}

/** Whether a request for the first byte returns one byte. */
async function sendsRanges(url: string, deps: RemoteDeps): Promise<boolean> {
  return repeated(url, deps, async () => {
    const { response, close } = await request(url, { headers: { Range: "bytes=0-0" } }, deps);
    close();
    if (!response.ok) throw refused(url, response.status);
    return response.status === 206;
  });
}

/** A small file of a folder. @throws LabError naming it */
export async function fetchSmall(path: string, baseUrl: string, deps: RemoteDeps): Promise<Uint8Array<ArrayBuffer>> {
  return repeated(path, deps, async () => {
    const answer = await request(baseUrl + path, {}, deps);
    if (answer.response.status !== 200) {
      answer.close();
      throw refused(baseUrl + path, answer.response.status);
    }
    return wholeBody(path, answer.pieces());
  });
}

async function fetchJson(path: string, baseUrl: string, deps: RemoteDeps): Promise<unknown> {
  const json = parsedJson(await fetchSmall(path, baseUrl, deps));
  if (json !== undefined) return json;
  throw badInput(`${baseUrl}${path} is not JSON: the address may lead to a page instead of files`, path);
}

async function wholeBody(
  path: string,
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const most = isCodeFile(path) ? MAX_CODE_BYTES : MAX_SIDE_BYTES;
  const found: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > most) throw badInput(`${path} has more than ${most} bytes and was not read`, path);
    found.push(piece);
  }
  return new Uint8Array(await new Blob(found).arrayBuffer());
}

/** Undefined if it is not JSON. */
const parsedJson = (bytes: Uint8Array): unknown => intactJson(new TextDecoder().decode(bytes), z.unknown());

function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
