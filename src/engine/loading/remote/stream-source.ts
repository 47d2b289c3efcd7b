/**
 * A file on a server without range support: one response is read from start to end and stays open between reads. Going
 * back means downloading from the start again, so readers should move forward.
 */
import { type ByteSource, checkRange } from "../../bytes/source.ts";
import { LabError } from "../../errors.ts";
import { type RemotePlace, sameVersion } from "./range-source.ts";
import { type Answer, explained, Passing, type RemoteDeps, refused, repeated, request } from "./request.ts";

/** The open response of a folder. There is at most one, because browsers limit connections per server. */
export interface OpenStream {
  close: (() => void) | null;
}

interface Flow {
  readonly answer: Answer;
  readonly pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Bytes read so far. */
  at: number;
  /** The unread rest of the last piece; starts at `at`. */
  rest: Uint8Array<ArrayBuffer>;
}

/** @param open shared by the files of a folder */
export function streamSource(place: RemotePlace, deps: RemoteDeps, open: OpenStream): ByteSource {
  const { path, url, size } = place;
  const checkVersion = sameVersion(place);
  let flow: Flow | null = null;

  const stop = (): void => {
    flow?.answer.close();
    flow = null;
  };
  const begin = async (): Promise<Flow> => {
    open.close?.();
    open.close = stop;
    const answer = await request(url, {}, deps);
    try {
      if (answer.response.status !== 200) throw refused(url, answer.response.status);
      checkVersion(answer.response.headers);
    } catch (thrown) {
      answer.close();
      throw thrown;
    }
    flow = { answer, pieces: answer.pieces(), at: 0, rest: new Uint8Array() };
    return flow;
  };
  /** Advances by the rest of the current piece, at most `most` bytes. */
  const next = async (from: Flow, most: number): Promise<Uint8Array> => {
    if (from.rest.length === 0) {
      const { done, value } = await from.pieces.next();
      if (done === true) throw new Passing(`the answer ended ${size - from.at} bytes early`);
      from.rest = value;
    }
    const taken = from.rest.subarray(0, most);
    from.rest = from.rest.subarray(taken.length);
    from.at += taken.length;
    return taken;
  };

  return {
    name: path,
    size,
    sequential: true,
    read: async (start, end) => {
      checkRange(path, size, start, end);
      const out = new Uint8Array(end - start);
      let done = 0;
      /**
       * Farthest byte that this read's attempts have reached; a file that always stops at the same byte fails in the
       * end.
       */
      let reached = 0;
      const attempt = async (): Promise<void> => {
        try {
          const from = flow !== null && flow.at <= start + done ? flow : await begin();
          while (from.at < start + done) {
            await next(from, start + done - from.at);
            reached = Math.max(reached, from.at);
          }
          while (done < out.length) {
            const piece = await next(from, out.length - done);
            out.set(piece, done);
            done += piece.length;
            reached = Math.max(reached, from.at);
          }
        } catch (thrown) {
          stop();
          throw thrown;
        }
      };
      try {
        if (out.length > 0) await repeated(path, deps, attempt, () => reached);
      } catch (thrown) {
        throw thrown instanceof LabError ? await explained(thrown, url, deps) : thrown;
      }
      // Nothing follows the last byte, so the connection is closed.
      if (end === size) stop();
      return out;
    },
  };
}
