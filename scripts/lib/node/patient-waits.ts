/**
 * Makes long waits for the GPU sleep. Dawn's Node binding polls for the end of GPU work without a pause, so a waiting
 * process takes a whole core, which a software adapter needs for computing. With sleeps a pocket step took 0.60 instead
 * of 0.65 s on lavapipe and 1.4 instead of 2.2 s on SwiftShader (two cores, steps of one run in turn). On SwiftShader,
 * a demo run of six steps took 34 s with sleeps in proportion to the wait, and 39 s with sleeps of 0.1 ms after 8 ms.
 */

/** Methods, by class of the binding, whose promises it polls for. */
const WAITS = { GPUBuffer: ["mapAsync"], GPUQueue: ["onSubmittedWorkDone"], GPUDevice: ["createComputePipelineAsync"] };

/** Sleep before the next poll, as a share of the wait so far; it delays an answer by at most this share. */
const SHARE = 1 / 32;

/** Maximum milliseconds of a sleep. */
const LONGEST = 1;

type Wait = (...parameters: unknown[]) => Promise<unknown>;

let patient = false;

/** Makes the binding's waits sleep, for the whole process and once. @param globals the classes that the package `webgpu` exports */
export function waitPatiently(globals: object): void {
  if (patient) return;
  patient = true;
  const bell = new Int32Array(new SharedArrayBuffer(4));
  let waits = 0;
  let turning = false;
  let since = 0;
  // The binding's next poll is in the same queue of immediates, so every turn sleeps once before it.
  const turn = () => {
    turning = waits > 0;
    if (!turning) return;
    Atomics.wait(bell, 0, 0, Math.min(LONGEST, SHARE * (performance.now() - since)));
    setImmediate(turn);
  };
  const begin = () => {
    if (waits === 0) since = performance.now();
    waits++;
    if (!turning) setImmediate(turn);
    turning = true;
  };
  const end = () => {
    waits--;
  };
  for (const [name, methods] of Object.entries(WAITS)) {
    const { prototype } = (globals as Record<string, { prototype: Record<string, Wait> }>)[name] as {
      prototype: Record<string, Wait>;
    };
    for (const method of methods) {
      const ask = prototype[method] as Wait;
      prototype[method] = function (...parameters) {
        const answer = ask.apply(this, parameters);
        begin();
        void answer.then(end, end);
        return answer;
      };
    }
  }
}
