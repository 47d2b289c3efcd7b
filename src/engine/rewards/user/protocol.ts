/** What passes between the lab and the worker that runs user-written rewards. */

export interface SandboxRequest {
  readonly request: number;
  /** Source as it was written. */
  readonly code: string;
  /** JSON of the rollouts of a group, in order. */
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
  | "stack" // it called itself too deeply
  | "reach" // it reached for something outside, such as fetch
  | "throw" // it threw
  | "value" // it returned no finite number
  | "broken"; // what ran it came to harm

export type SandboxReply =
  /** The rollout at this index starts: the watcher restarts its timer. */
  | { readonly type: "at"; readonly request: number; readonly index: number }
  | { readonly type: "values"; readonly request: number; readonly values: readonly number[] }
  | {
      readonly type: "stopped";
      readonly request: number;
      readonly kind: StopKind;
      /** What it did, as the end of a sentence that begins with "The custom reward". */
      readonly did: string;
      /** Place in the group; null when it did not get as far. */
      readonly index: number | null;
    };
