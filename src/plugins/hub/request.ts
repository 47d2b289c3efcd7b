/**
 * One request to a server with a checkpoint: repeated while that may help; if it does not, the error is one sentence.
 */
import { badInput, LabError } from "../../engine/errors.ts";

export interface RemoteDeps {
  /** `fetch` of the page, the worker or Node. */
  readonly fetcher?: typeof fetch | undefined;
  /** Aborts waiting and reading. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the number of bytes as they arrive, for files and tensors alike. */
  readonly onBytes?: ((count: number) => void) | undefined;
  /** Receives a sentence whenever a request is repeated. */
  readonly onRepeat?: ((sentence: string) => void) | undefined;
  /** Milliseconds before each repeat, one entry per repeat; every received byte resets the count. */
  readonly pauses?: readonly number[] | undefined;
  /** Bytes to request beyond a small read. */
  readonly ahead?: number | undefined;
  /** Milliseconds without a byte after which a request is repeated. */
  readonly stall?: number | undefined;
}

const PAUSES = [500, 1000, 2000, 4000, 8000];
const STALL = 30_000;
/** Longest Retry-After that is respected. */
const LONGEST_PAUSE = 60_000;
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** A failure that another attempt may fix. */
export class Passing extends Error {
  /** Milliseconds that the server asked to wait. */
  readonly pause: number | null;

  constructor(why: string, pause: number | null = null) {
    super(why);
    this.pause = pause;
  }
}

/**
 * Repeats an attempt until it succeeds, fails permanently, or has failed once per pause without progress.
 * @param what the file or address, for sentences
 * @param attempt throws Passing if it may be repeated
 * @param progress a number that increases with progress, which resets the count
 * @throws LabError("network") when every attempt failed, LabError("cancelled"), or the error of the attempt
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

/** A response whose body is read with a timeout. */
export interface Answer {
  readonly response: Response;
  /** Pieces of the body; throws Passing when it is interrupted or stalls. */
  pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Leaves the rest of the body unread. */
  close(): void;
}

/**
 * One attempt of one request, without cookies, referrer and browser cache.
 * @returns any response that is not a temporary failure; the caller checks its status
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
    new Passing(stalled ? `no data arrived for ${stall / 1000} s` : `${how} (${causeOf(thrown)})`);
  watch();
  let response: Response;
  try {
    const common: RequestInit = { credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer" };
    response = await fetcher(url, { ...common, ...init, signal: own.signal });
  } catch (thrown) {
    close();
    throw broken(thrown, "no answer");
  }
  // The timeout runs only during reads: a response may stay open between two of them.
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
 * Why there is no answer, as far as a page can tell: a request without CORS distinguishes a missing server from one
 * that refuses pages.
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
      ? `${host} answers, but does not let this page read its files (CORS); download the folder and drop it here, or let the server send Access-Control-Allow-Origin`
      : `${host} could not be reached; check the address and the connection`,
    { subject: url, cause: failure },
  );
}

/** The sentence for a status that a repeat would not change. */
export function refused(url: string, status: number): LabError {
  const why =
    status === 401 || status === 403
      ? `the server refuses it (${status}): the repository does not exist or is private or gated, and the lab sends no key; download the folder and open it from disk`
      : status === 404 || status === 410
        ? `it does not exist (${status})`
        : `the server answered ${status}`;
  return badInput(`${url} could not be fetched: ${why}`, url);
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

/** Node gives the reason in `cause`; browsers give none. */
function causeOf(thrown: unknown): string {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return error.cause instanceof Error ? error.cause.message : error.message;
}
