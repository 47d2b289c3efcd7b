/**
 * Dawn's Node binding asks for the end of GPU work again and again, without a pause, so a waiting process takes a whole
 * core, from software adapters one that they compute with: a pocket step took 0.60 instead of 0.65 s on lavapipe and
 * 1.4 instead of 2.2 s on SwiftShader when long waits slept between the questions (two cores, steps of one run in turn).
 * There a demo run of six steps took 34 s with sleeps in proportion to the wait, and 39 s with sleeps of 0.1 ms after 8 ms.
 */

/** Of the binding's classes, the methods whose promises it asks for so. */
const WAITS = { GPUBuffer: ["mapAsync"], GPUQueue: ["onSubmittedWorkDone"], GPUDevice: ["createComputePipelineAsync"] };

/** Of the time that a wait has lasted, the share that it sleeps before it asks again: an answer comes so much later at most. */
const SHARE = 1 / 32;

/** Milliseconds that it sleeps at most. */
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
  // The binding's next question is in the same queue of immediates, so every turn sleeps once before it.
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
