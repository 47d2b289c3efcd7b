/**
 * Typed calls over a port between the page and its workers. A method that returns a promise is a call with a reply, a
 * method that returns nothing is a notification without one. What a caller sees is derived from what the other side serves
 * (`CallsOf`).
 *
 * Arguments and results are cloned. Three kinds of argument are special: aborting an AbortSignal aborts the signal that
 * the other side received; a function can be called back until the call is answered; a MessagePort is transferred.
 */
import { type ErrorCode, LabError, toLabError } from "../engine/errors.ts";

/** A LabError in the form sent over a port. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly subject?: string;
}

/** Any thrown value in the form sent over a port. */
export function toWire(thrown: unknown): WireError {
  const { code, message, subject } = toLabError(thrown);
  return subject === undefined ? { code, message } : { code, message, subject };
}

function fromWire({ code, message, subject }: WireError): LabError {
  return new LabError(code, message, subject === undefined ? {} : { subject });
}

/** A worker, a worker's own scope or a MessagePort. */
interface Port {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: "message", listener: (event: MessageEvent) => void): void;
  start?(): void;
}

/** The port of this worker to the page, whose programs also read workers for their types and take `self` for a window. */
export function ownPort(): Port {
  return self as unknown as Port;
}

type Answered = (...given: never[]) => Promise<unknown>;
/** The methods with a reply. */
export type Calls<M> = { readonly [K in keyof M as M[K] extends Answered ? K : never]: M[K] };
/** The notifications. */
export type Tells<M> = { readonly [K in keyof M as M[K] extends Answered ? never : K]: M[K] };

/** A side's implementation of its methods; a rejected promise or thrown error rejects the caller with a LabError. */
export type Handlers<M> = {
  readonly [K in keyof M]: M[K] extends (...given: infer A) => Promise<infer R>
    ? (...given: A) => R | Moved<R> | Promise<R | Moved<R>>
    : M[K];
};

type Sent<R> = R extends Moved<infer T> ? T : R;

/** What a caller sees of served methods. @typeParam Served an object of methods, or a function that makes it */
export type CallsOf<Served> = Served extends (place: never) => infer Made
  ? CallsOf<Made>
  : {
      readonly [K in keyof Served]: Served[K] extends (...given: infer A) => Promise<infer R>
        ? (...given: A) => Promise<Sent<R>>
        : Served[K];
    };

/** A result with buffers or bitmaps that are transferred instead of copied. */
export class Moved<T> {
  readonly value: T;
  readonly transfer: Transferable[];

  constructor(value: T, ...transfer: Transferable[]) {
    this.value = value;
    this.transfer = transfer;
  }
}

export interface Connection<Theirs> {
  readonly call: Calls<Theirs>;
  readonly tell: Tells<Theirs>;
  /** Resolves when the other side answers, whatever it serves. */
  ping(): Promise<void>;
  /** Rejects pending calls and, if the other side is gone for good, every later one. */
  fail(error: WireError, forGood: boolean): void;
}

type Message =
  /** `signal` and `functions` are the indices of these arguments. */
  | {
      readonly kind: "call";
      readonly id: number;
      readonly name: string;
      readonly given: readonly unknown[];
      readonly signal: number;
      readonly functions: readonly number[];
    }
  | { readonly kind: "tell"; readonly name: string; readonly given: readonly unknown[] }
  | { readonly kind: "cancel"; readonly id: number }
  | { readonly kind: "ping"; readonly id: number }
  | { readonly kind: "back"; readonly id: number; readonly at: number; readonly given: readonly unknown[] }
  | { readonly kind: "value"; readonly id: number; readonly value: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: WireError };

interface Pending {
  readonly given: readonly unknown[];
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: LabError) => void;
}

type Method = (...given: readonly unknown[]) => unknown;

/**
 * Serves this side's methods and calls those of the other side.
 * @throws LabError each call rejects with the other side's error, or with that of `fail`
 */
export function connect<Theirs, Mine = unknown>(port: Port, handlers: Handlers<Mine>): Connection<Theirs> {
  const methods = new Map(Object.entries(handlers as Record<string, Method>));
  const pending = new Map<number, Pending>();
  const stops = new Map<number, AbortController>();
  let next = 1;
  let ended: WireError | null = null;
  const post = (message: Message, transfer: Transferable[] = []): void => port.postMessage(message, transfer);

  function call(name: string, given: readonly unknown[]): Promise<unknown> {
    if (ended !== null) return Promise.reject(fromWire(ended));
    const id = next++;
    const signal = given.find((one) => one instanceof AbortSignal);
    const cancel = (): void => post({ kind: "cancel", id });
    return new Promise((resolve, reject) => {
      const isFunction = (at: number): boolean => typeof given[at] === "function";
      post(
        {
          kind: "call",
          id,
          name,
          given: given.map((one) => (one === signal || typeof one === "function" ? undefined : one)),
          signal: signal === undefined ? -1 : given.indexOf(signal),
          functions: [...given.keys()].filter(isFunction),
        },
        portsOf(given),
      );
      pending.set(id, { given, resolve, reject });
      signal?.addEventListener("abort", cancel);
      if (signal?.aborted) cancel();
    }).finally(() => signal?.removeEventListener("abort", cancel));
  }

  async function serve({ id, name, given, signal, functions }: Extract<Message, { kind: "call" }>): Promise<void> {
    const stop = new AbortController();
    stops.set(id, stop);
    try {
      const values = [...given];
      if (signal >= 0) values[signal] = stop.signal;
      for (const at of functions) values[at] = (...back: unknown[]) => post({ kind: "back", id, at, given: back });
      const result = await methodOf(name)(...values);
      if (result instanceof Moved) post({ kind: "value", id, value: result.value }, result.transfer);
      else post({ kind: "value", id, value: result });
    } catch (thrown) {
      post({ kind: "error", id, error: toWire(thrown) });
    } finally {
      stops.delete(id);
    }
  }

  function methodOf(name: string): Method {
    const method = methods.get(name);
    if (method === undefined) throw new LabError("internal", `Nothing answers the call "${name}"`);
    return method;
  }

  port.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    const asked = "id" in data ? pending.get(data.id) : undefined;
    if (data.kind === "call") void serve(data);
    else if (data.kind === "ping") post({ kind: "value", id: data.id, value: undefined });
    else if (data.kind === "tell") methodOf(data.name)(...data.given);
    else if (data.kind === "cancel") stops.get(data.id)?.abort();
    else if (data.kind === "back") (asked?.given[data.at] as Method | undefined)?.(...data.given);
    else {
      pending.delete(data.id);
      if (data.kind === "value") asked?.resolve(data.value);
      else asked?.reject(fromWire(data.error));
    }
  });
  port.start?.();

  return {
    call: methodsBy<Calls<Theirs>>(call),
    tell: methodsBy<Tells<Theirs>>((name, given) => post({ kind: "tell", name, given }, portsOf(given))),
    ping() {
      if (ended !== null) return Promise.reject(fromWire(ended));
      const id = next++;
      return new Promise((resolve, reject) => {
        pending.set(id, { given: [], resolve: () => resolve(), reject });
        post({ kind: "ping", id });
      });
    },
    fail(error, forGood) {
      if (forGood) ended = error;
      for (const { reject } of pending.values()) reject(fromWire(error));
      pending.clear();
    },
  };
}

function portsOf(given: readonly unknown[]): MessagePort[] {
  return given.filter((one) => one instanceof MessagePort);
}

/**
 * An object on which every method call sends the method's name and arguments. It has no "then", so that a promise can
 * resolve to it.
 */
function methodsBy<T>(send: (name: string, given: readonly unknown[]) => unknown): T {
  const get = (_: object, name: string | symbol): Method | undefined =>
    typeof name === "symbol" || name === "then" ? undefined : (...given) => send(name, given);
  return new Proxy({}, { get }) as T;
}
