/** Requests under way to a worker, matched to their answers by number. */

import { LabError, toLabError } from "../../engine/errors.ts";
import type { RequestId, WireError } from "../../protocol/common.ts";

/** A LabError again on this side of the border. */
export function fromWire(error: WireError): LabError {
  return new LabError(error.code, error.message, error.subject === undefined ? {} : { subject: error.subject });
}

export function toWire(thrown: unknown): WireError {
  const { code, message, subject } = toLabError(thrown);
  return subject === undefined ? { code, message } : { code, message, subject };
}

interface Waiting<A> {
  readonly resolve: (answer: A) => void;
  readonly reject: (error: LabError) => void;
}

export class Requests<A> {
  #next: RequestId = 1;
  readonly #waiting = new Map<RequestId, Waiting<A>>();
  /** Set when nothing will ever be answered. */
  #end: WireError | null = null;

  /** Sends a request under a new number and waits for the answer that carries it. */
  ask(send: (request: RequestId) => void): Promise<A> {
    if (this.#end !== null) return Promise.reject(fromWire(this.#end));
    const request = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(request, { resolve, reject });
      send(request);
    });
  }

  answer(request: RequestId, answer: A): void {
    this.#waiting.get(request)?.resolve(answer);
    this.#waiting.delete(request);
  }

  fail(request: RequestId, error: WireError): void {
    this.#waiting.get(request)?.reject(fromWire(error));
    this.#waiting.delete(request);
  }

  /** The worker failed outside any request; when it is gone for good, later requests fail as well. */
  failAll(error: WireError, forGood: boolean): void {
    if (forGood) this.#end = error;
    for (const waiting of this.#waiting.values()) waiting.reject(fromWire(error));
    this.#waiting.clear();
  }
}
