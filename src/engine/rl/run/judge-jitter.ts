import { STREAM, uniform } from "../../gpu/random.ts";

/** Jitter of the delays before retries of a judge request: a pure function of seed, request and retry. */
export function judgeJitter(seed: number): (call: number, repeat: number) => number {
  return (call, repeat) =>
    uniform({ seed, step: 0, loop: 0, row: call, rollout: repeat, position: 0, stream: STREAM.judge });
}
