/** One request to a server that holds a checkpoint: repeated when it may help, and one sentence when it does not. */
import { LabError } from "../../errors.ts";

export interface RemoteDeps {
  /** `fetch` of the page, the worker or Node. */
  readonly fetcher?: typeof fetch | undefined;
  /** Ends waiting and reading. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes as they arrive, files and tensors alike. */
  readonly onBytes?: ((count: number) => void) | undefined;
  /** A sentence whenever a request is repeated. */
  readonly onRepeat?: ((sentence: string) => void) | undefined;
  /** Milliseconds before each repeat; as many repeats as entries, counted anew after every byte that arrived. */
  readonly pauses?: readonly number[] | undefined;
  /** Bytes that a small read fetches beyond what it asks for. */
  readonly ahead?: number | undefined;
  /** Milliseconds without a byte after which a request is given up and repeated. */
  readonly stall?: number | undefined;
}

const PAUSES = [500, 1000, 2000, 4000, 8000];
const STALL = 30_000;
/** A server that asks for more patience than this is not waited for. */
const LONGEST_PAUSE = 60_000;
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A failure that another try may mend. */
export class Passing extends Error {
  /** What the server asked for, milliseconds. */
  readonly pause: number | null;

  constructor(why: string, pause: number | null = null) {
    super(why);
    this.pause = pause;
  }
}

/**
 * Tries something until it succeeds, fails for good, or has failed as often as there are pauses without progress.
 * @param what the file or address, for sentences
 * @param attempt throws Passing for what may be tried again
 * @param progress a number that grows with what was gained; growth starts the count anew
 * @throws LabError("network") when every try failed, LabError("cancelled"), or what the attempt throws
 */
export async function repeated<T>(
  what: string,
  deps: RemoteDeps,
  attempt: () => Promise<T>,
  progress: () => number = () => 0,
): Promise<T> {
  const { pauses = PAUSES, onRepeat, signal } = deps;
  let failed = 0;
  for (;;) {
    stopIf(signal);
    const before = progress();
    try {
      return await attempt();
    } catch (thrown) {
      stopIf(signal);
      if (!(thrown instanceof Passing)) throw thrown;
      if (progress() > before) failed = 0;
      const pause = Math.max(pauses[failed++] ?? Number.NaN, thrown.pause ?? 0);
      if (!(pause <= LONGEST_PAUSE)) {
        const tries = pauses.length === 0 ? "" : ` in ${failed} tries`;
        throw new LabError("network", `${what} could not be fetched${tries}: ${thrown.message}`, {
          subject: what,
          cause: thrown,
        });
      }
      onRepeat?.(`${what}: ${thrown.message}; trying again (${failed} of ${pauses.length})`);
      await wait(pause, signal);
    }
  }
}

/** An answer whose body is read with a watch over it. */
export interface Answer {
  readonly response: Response;
  /** Pieces of the body; throws Passing when it breaks off or stalls. */
  pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Leaves the rest of the body unread. */
  close(): void;
}

/**
 * One try of one request. Cookies and referrer stay at home, and the browser's own cache is left alone.
 * @returns any answer that is no failure of the kind that passes; the caller judges its status
 */
export async function request(url: string, init: RequestInit, deps: RemoteDeps): Promise<Answer> {
  const { fetcher = fetch, signal, stall = STALL, onBytes } = deps;
  const own = new AbortController();
  const abort = (): void => own.abort();
  signal?.addEventListener("abort", abort);
  let stalled = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      stalled = true;
      own.abort();
    }, stall);
  };
  const close = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
    own.abort();
  };
  const broken = (thrown: unknown, how: string): Passing =>
    new Passing(stalled ? `nothing came for ${stall / 1000} s` : `${how} (${causeOf(thrown)})`);
  watch();
  let response: Response;
  try {
    const common: RequestInit = { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };
    response = await fetcher(url, { ...common, ...init, signal: own.signal });
  } catch (thrown) {
    close();
    throw broken(thrown, "no answer");
  }
  // The watch runs only while somebody waits: an answer may lie open between two reads.
  clearTimeout(timer);
  if (PASSING.has(response.status)) {
    const pause = Number(response.headers.get("retry-after") ?? Number.NaN) * 1000;
    close();
    throw new Passing(`the server answered ${response.status}`, Number.isFinite(pause) ? pause : null);
  }
  return {
    response,
    close,
    async *pieces() {
      const reader = response.body?.getReader();
      try {
        while (reader !== undefined) {
          watch();
          const { done, value } = await reader.read().catch((thrown: unknown) => {
            throw broken(thrown, "the connection broke off");
          });
          clearTimeout(timer);
          if (done) break;
          onBytes?.(value.length);
          yield value;
        }
      } finally {
        close();
      }
    },
  };
}

/**
 * Why nothing answers, as far as a page can find out: a request without CORS tells a server that is not there from one
 * that keeps pages out.
 */
export async function explained(failure: LabError, url: string, deps: RemoteDeps): Promise<LabError> {
  if (failure.code !== "network" || !(failure.cause instanceof Passing)) return failure;
  if (!/^no answer/.test(failure.cause.message) || !("document" in globalThis || "WorkerGlobalScope" in globalThis)) {
    return failure;
  }
  const { fetcher = fetch } = deps;
  const there = await fetcher(url, { mode: "no-cors", method: "HEAD", credentials: "omit" }).then(
    () => true,
    () => false,
  );
  const host = new URL(url).host;
  return new LabError(
    "network",
    there
      ? `${host} is there, but does not let this page read its files (CORS); download the folder and drop it here, or let the server send Access-Control-Allow-Origin`
      : `${host} could not be reached; check the address and the connection`,
    { subject: url, cause: failure },
  );
}

/** The sentence for a status that no repeat will change. */
export function refused(url: string, status: number): LabError {
  const why =
    status === 401 || status === 403
      ? `the server refuses it (${status}): the repository is not there, private or gated, and the lab sends no key; download the folder and open it from disk`
      : status === 404 || status === 410
        ? `it is not there (${status})`
        : `the server answered ${status}`;
  return new LabError("bad-input", `${url} could not be fetched: ${why}`, { subject: url });
}

function stopIf(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new LabError("cancelled", "The download was stopped");
}

function wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
  });
}

/** Node hides the reason in the cause, browsers tell none. */
function causeOf(thrown: unknown): string {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return error.cause instanceof Error ? error.cause.message : error.message;
}
