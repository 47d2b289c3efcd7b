import { toLabError } from "../src/engine/errors.ts";
import type { WireError } from "../src/protocol/common.ts";

/** Any thrown value as it crosses a worker border. */
export function wireError(thrown: unknown): WireError {
  const { code, message, subject } = toLabError(thrown);
  return subject === undefined ? { code, message } : { code, message, subject };
}
