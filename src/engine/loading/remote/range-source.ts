/**
 * A file on a server that supports ranges: each read requests its range, and small consecutive reads share a request.
 */
import { type ByteSource, checkRange } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { explained, Passing, type RemoteDeps, refused, repeated, request } from "./request.ts";

/** Bytes requested at once for small consecutive reads, and kept. */
export const AHEAD = 8 * 2 ** 20;

export interface RemotePlace {
  /** Path inside the folder. */
  readonly path: string;
  readonly url: string;
  /** Bytes. */
  readonly size: number;
  /** The version in the listing. */
  readonly version?: string | null;
}

function changedFile(path: string, why: string): LabError {
  return badInput(`${path} changed on the server while it was read (${why}); open the address again`, path);
}

/**
 * Compares the entity tag of every answer with the listing's, or else the first answer's. Weak and strong tags count as
 * equal, because compression makes a tag weak. Version names of a hub cannot be compared with them.
 */
export function sameVersion({ path, url, size, version }: RemotePlace): (headers: Headers) => void {
  const told = `${url} ${size} `;
  const strong = (tag: string | undefined): string | undefined => tag?.replace(/^W\//, "");
  const listed = strong(version?.startsWith(told) === true ? version.slice(told.length) : undefined);
  let known = listed?.startsWith('"') === true ? listed : undefined;
  return (headers) => {
    const tag = strong(headers.get("etag") ?? undefined);
    if (known !== undefined && tag !== undefined && tag !== known) throw changedFile(path, "another entity tag");
    known ??= tag;
  };
}

/**
 * @param ahead bytes to request beyond a small read; 0 requests exactly the read
 * @throws in reads LabError("network") after all retries, LabError("bad-input") when the file changed meanwhile
 */
export function rangeSource(place: RemotePlace, deps: RemoteDeps, ahead: number = AHEAD): ByteSource {
  const { path, url, size } = place;
  let held = { start: 0, bytes: new Uint8Array() };
  const checkVersion = sameVersion(place);

  const check = (response: Response, from: number): void => {
    const { status, headers } = response;
    if (status === 416) throw changedFile(path, `it no longer has ${size} bytes`);
    if (status === 200) throw new Passing("the server sent the whole file where a part was requested");
    if (status !== 206) throw refused(url, status);
    const said = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
    if (said !== null && Number(said[1]) !== from) {
      throw badInput(`${path}: the server sent byte ${said[1]} where ${from} was requested`, path);
    }
    if (said !== null && said[2] !== "*" && Number(said[2]) !== size)
      throw changedFile(path, `${said[2]} bytes, not ${size}`);
    checkVersion(headers);
  };

  /** Fills `into` with the bytes from `start` on; an interrupted transfer continues where it stopped. */
  const fill = async (into: Uint8Array, start: number): Promise<void> => {
    let done = 0;
    const attempt = async (): Promise<void> => {
      const range = `bytes=${start + done}-${start + into.length - 1}`;
      const answer = await request(url, { headers: { Range: range } }, deps);
      try {
        check(answer.response, start + done);
        for await (const piece of answer.pieces()) {
          if (done + piece.length > into.length) {
            throw badInput(`${path}: the server sent more bytes than requested (${range})`, path);
          }
          into.set(piece, done);
          done += piece.length;
        }
      } finally {
        answer.close();
      }
      if (done < into.length) throw new Passing(`the answer ended ${into.length - done} bytes early`);
    };
    try {
      await repeated(path, deps, attempt, () => done);
    } catch (thrown) {
      throw thrown instanceof LabError ? await explained(thrown, url, deps) : thrown;
    }
  };

  return {
    name: path,
    size,
    read: async (start, end) => {
      checkRange(path, size, start, end);
      const out = new Uint8Array(end - start);
      // Bytes that are already in memory.
      const offset = start - held.start;
      const have = offset < 0 ? 0 : Math.max(0, Math.min(held.bytes.length - offset, out.length));
      if (have > 0) out.set(held.bytes.subarray(offset, offset + have));
      const from = start + have;
      if (from === end) return out;
      if (end - from > ahead) {
        await fill(out.subarray(have), from);
        return out;
      }
      const window = new Uint8Array(Math.min(size, Math.max(end, from + ahead)) - from);
      await fill(window, from);
      held = { start: from, bytes: window };
      out.set(window.subarray(0, end - from), have);
      return out;
    },
  };
}
