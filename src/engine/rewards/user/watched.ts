/**
 * Runs custom rewards in a disposable worker: the interpreter enforces the limits, and a watchdog ends the worker if
 * the interpreter does not answer.
 */
import { type Rle, rleArea, rleBox, rleRuns } from "../../data/mask/rle.ts";
import { LabError } from "../../errors.ts";
import type { UserRewardPlan } from "../composer/plan.ts";
import type { RewardTerm, RolloutFacts } from "../term.ts";
import type { SandboxReply, SandboxRequest } from "./protocol.ts";

// Input of a custom reward: facts of a rollout, with masks as run lengths that are decoded on demand.

/** Plain data for rollout `at` of a group; ROLLOUT_TYPES in guide.ts documents it. */
function userInput(
  group: readonly RolloutFacts[],
  terms: readonly (readonly RewardTerm[])[],
  at: number,
): Readonly<Record<string, unknown>> {
  const facts = group[at] as RolloutFacts;
  const own = terms[at] ?? [];
  const overlap = own.find((term) => term.iou !== undefined)?.iou;
  return {
    loop: facts.loop,
    caption: facts.caption ?? "",
    reference: facts.reference ?? "",
    given: plainMask(facts.given),
    predicted: plainMask(facts.predicted),
    confidence: facts.confidence,
    truncated: facts.truncated,
    iou:
      overlap === undefined
        ? null
        : { ...overlap, value: overlap.union === 0 ? 0 : overlap.intersection / overlap.union },
    meteor: own.find((term) => term.meteor !== undefined)?.meteor ?? null,
    terms: Object.fromEntries(own.map((term) => [term.name, term.value])),
    group: { index: at, size: group.length, captions: group.map((rollout) => rollout.caption ?? "") },
  };
}

function plainMask(mask: Rle | null) {
  if (mask === null) return null;
  const [height, width] = mask.size;
  return { height, width, area: rleArea(mask), box: rleBox(mask), runs: rleRuns(mask) };
}

/** Runs a custom reward over a group, isolated from everything else. */
export interface UserRewards {
  /** Why the source cannot be read, in a sentence; null if it defines a function reward. */
  check(plan: UserRewardPlan): Promise<string | null>;
  /**
   * @param terms built-in terms of each rollout
   * @returns one finite number per rollout
   * @throws LabError("held") naming what the function did; its sandbox is discarded, nothing else changes
   */
  run(
    plan: UserRewardPlan,
    group: readonly RolloutFacts[],
    terms: readonly (readonly RewardTerm[])[],
  ): Promise<readonly number[]>;
}

/** A worker that contains an interpreter. */
export interface SandboxLink {
  send(request: SandboxRequest): void;
  /** @param failed called when a worker breaks outside any request */
  listen(reply: (reply: SandboxReply) => void, failed: (cause: string) => void): void;
  end(): void;
}

export interface Watch {
  /** Calls back once after a number of milliseconds, unless it is cleared first. */
  set(callback: () => void, milliseconds: number): () => void;
}

/** Milliseconds for a worker to load its interpreter on a busy machine, in addition to the limit of a call. */
const GRACE_MS = 10_000;
/** Milliseconds in addition to the limit of a call, once the interpreter has begun it. */
const CALL_GRACE_MS = 1500;

export function userRewards(open: () => SandboxLink, watch: Watch): UserRewards {
  let link: SandboxLink | null = null;
  let requests = 0;
  let last: Promise<unknown> = Promise.resolve();

  const ask = (request: SandboxRequest): Promise<SandboxReply> =>
    new Promise((resolve) => {
      const own = link ?? open();
      link = own;
      let clear = (): void => undefined;
      let index: number | null = null;
      const stopped = (kind: "time" | "broken", did: string): void => {
        clear();
        resolve({ type: "stopped", request: request.request, kind, did, index });
      };
      const wait = (milliseconds: number, did: string): void => {
        clear();
        clear = watch.set(() => stopped("time", did), milliseconds);
      };
      wait(GRACE_MS, "could not start: its sandbox did not answer");
      own.listen(
        (reply) => {
          if (reply.request !== request.request) return;
          if (reply.type !== "at") {
            clear();
            return resolve(reply);
          }
          index = reply.index;
          wait(request.milliseconds + CALL_GRACE_MS, `ran longer than ${request.milliseconds} ms`);
        },
        (cause) => stopped("broken", `broke its sandbox (${cause})`),
      );
      own.send(request);
    });

  const runNow = async (plan: UserRewardPlan, rollouts: readonly string[]): Promise<readonly number[]> => {
    const { code, milliseconds, mebibytes } = plan;
    const reply = await ask({ request: ++requests, code, rollouts, milliseconds, mebibytes });
    if (reply.type === "values") return reply.values;
    // An interpreter that did not answer, or that has grown to its limit, is discarded.
    if (reply.type === "stopped" && ["time", "memory", "broken"].includes(reply.kind)) {
      link?.end();
      link = null;
    }
    throw stoppedError(reply);
  };

  // One call at a time: the worker has one interpreter, and a call's timer must not run while another call uses it.
  const runNext = (plan: UserRewardPlan, rollouts: readonly string[]): Promise<readonly number[]> => {
    const mine = last.then(() => runNow(plan, rollouts));
    last = mine.catch(() => undefined);
    return mine;
  };

  return {
    check: (plan) =>
      runNext(plan, []).then(
        () => null,
        (thrown: unknown) => {
          if (thrown instanceof LabError) return thrown.message;
          throw thrown;
        },
      ),
    run: (plan, group, terms) =>
      runNext(
        plan,
        group.map((_, at) => JSON.stringify(userInput(group, terms, at))),
      ),
  };
}

function stoppedError(reply: SandboxReply): LabError {
  const stopped = reply.type === "stopped" ? reply : { did: "gave no answer", index: null };
  const where = stopped.index === null ? "" : ` on rollout ${stopped.index + 1} of its group`;
  return new LabError("held", `The custom reward ${stopped.did}${where}`, { subject: "userReward" });
}
