/**
 * The one error type that reaches people. `message` is one sentence that names the file or setting, the cause
 * and what was kept; `code` is stable and tells callers how to react.
 */
export type ErrorCode =
  | "bad-input" // a file, row or argument the user gave is wrong
  | "bad-config" // a setting is out of range or does not fit the model
  | "unsupported" // right in form, not handled here; the message says what would be
  | "gpu" // device error, device lost, no adapter
  | "cancelled" // the user stopped it
  | "held" // a reward cannot be given now: the run pauses before anything of the step is kept, and can go on
  | "storage" // OPFS, quota, file system
  | "network" // a server did not answer or broke off; what arrived whole is kept, trying again may help
  | "internal"; // an invariant of ours is broken

export class LabError extends Error {
  readonly code: ErrorCode;
  /** File, row or setting the message is about, when there is one. */
  readonly subject: string | undefined;

  constructor(code: ErrorCode, message: string, options: { subject?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "LabError";
    this.code = code;
    this.subject = options.subject;
  }
}

/** Any thrown value as a LabError; foreign errors become `internal` with their own message. */
export function toLabError(thrown: unknown, code: ErrorCode = "internal"): LabError {
  if (thrown instanceof LabError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new LabError(code, message, { cause: thrown });
}
