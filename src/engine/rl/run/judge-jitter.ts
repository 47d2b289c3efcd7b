import { STREAM, uniform } from "../../gpu/random.ts";

/** Scatter of the waits before a judge's call is repeated: a pure function of the seed, the call and the repeat. */
export function judgeJitter(seed: number): (call: number, repeat: number) => number {
  return (call, repeat) =>
    uniform({ seed, step: 0, loop: 0, row: call, rollout: repeat, position: 0, stream: STREAM.judge });
}
