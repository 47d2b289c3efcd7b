/** Messages between the lab and the worker that runs custom rewards. */

export interface SandboxRequest {
  readonly request: number;
  /** The source as written. */
  readonly code: string;
  /** JSON of the rollouts of a group, in order; none only reads the source. */
  readonly rollouts: readonly string[];
  readonly milliseconds: number;
  readonly mebibytes: number;
}

/** Why a reward was stopped. */
export type StopKind =
  | "syntax" // the source cannot be read
  | "no-function" // it defines no function reward
  | "time" // it ran too long
  | "memory" // it allocated too much
  | "stack" // it called itself without end, or nested data too deeply
  | "reach" // it reached for something outside, such as fetch
  | "throw" // it threw
  | "value" // it returned no finite number
  | "broken"; // its interpreter or worker broke

export type SandboxReply =
  /** The rollout at this index starts, so the watcher restarts its timer. */
  | { readonly type: "at"; readonly request: number; readonly index: number }
  | { readonly type: "values"; readonly request: number; readonly values: readonly number[] }
  | {
      readonly type: "stopped";
      readonly request: number;
      readonly kind: StopKind;
      /** The cause, as the end of a sentence that begins with "The custom reward". */
      readonly did: string;
      /** Index in the group; null if no rollout had started. */
      readonly index: number | null;
    };
