/**
 * Gradients by a tape that frees as it goes: what an operation saved, and the gradients of its outputs, are freed right
 * after its own gradient. `gradients` of TensorFlow.js keeps all of them until the end. Operations and their order are
 * the same, so results are equal bit for bit.
 *
 * Touches private members of tfjs-core 4.22.0: the engine's `startTape`, `endTape`, `state.activeTape` and
 * `state.activeScope`, `state.kernelDepth` and `state.nextTapeNodeId`; tests/gpu/tape.test.ts guards them.
 */
import { LabError } from "../../errors.ts";
import { type Tensor, tf } from "../tf.ts";

interface TapeNode {
  readonly id: number;
  readonly kernelName: string;
  readonly inputs: Readonly<Record<string, Tensor>>;
  readonly outputs: readonly Tensor[];
  /** Copies that belong to the node. */
  readonly saved: readonly Tensor[];
  readonly gradient?: (dys: readonly (Tensor | null)[]) => Readonly<Record<string, () => Tensor>>;
}

interface TapeEngine {
  readonly state: {
    activeTape: TapeNode[] | null;
    readonly gradientDepth: number;
    kernelDepth: number;
    nextTapeNodeId: number;
    readonly activeScope: { readonly id: number };
  };
  startTape(): void;
  endTape(): void;
}

/** A node between the differentiated tensors and the results, and its inputs that need a gradient. */
interface PathNode {
  readonly node: TapeNode;
  readonly needed: readonly (readonly [name: string, input: Tensor])[];
}

const engineOf = (): TapeEngine => tf.engine() as unknown as TapeEngine;

/** Whether a gradient is being recorded, which may use any tensor again. */
export function onTape(): boolean {
  return engineOf().state.gradientDepth > 0;
}

/**
 * Value of a scalar and its gradients; owned by the caller or its tidy. Not inside a recording.
 * @param xs tensors made before
 * @returns gradients in the order of `xs`, undefined for those that do not affect the value
 */
export function gradientsOf(loss: () => Tensor, xs: readonly Tensor[]) {
  const { tape, outputs } = record(() => [loss()]);
  const value = outputs[0] as Tensor;
  return { value, grads: differentiated(tape, outputs, xs, () => tf.ones(value.shape)) };
}

/**
 * Gradients of Σ ⟨output, dy⟩, as those of `gradientsOf`.
 * @param run returns new tensors, which are freed @param dys null for outputs that do not count
 */
export function outputGradients(
  run: () => readonly Tensor[],
  xs: readonly Tensor[],
  dys: readonly (Tensor | null)[],
): readonly (Tensor | undefined)[] {
  const { tape, outputs } = record(run);
  tf.dispose([...outputs]);
  const counting = outputs.filter((_, at) => dys[at] != null);
  const given = dys.filter((dy) => dy != null);
  return differentiated(tape, counting, xs, (at) => (given[at] as Tensor).clone());
}

interface RecordedPart {
  readonly name: string;
  /** Tensors that may need a gradient. */
  readonly inputs: readonly Tensor[];
  /** Tensors that the gradient needs; their copies are passed to it. */
  readonly saved: readonly Tensor[];
  /** Makes the outputs; nothing inside is recorded. */
  run(): Tensor[];
  /** Gradients by all inputs. @param dys null for outputs that the loss does not reach */
  gradient(dys: readonly (Tensor | null)[], saved: readonly Tensor[]): readonly Tensor[];
}

/** Runs a part as one operation of the current recording. */
export function recordPart({ name, inputs, saved, run, gradient }: RecordedPart): Tensor[] {
  const { state } = engineOf();
  state.kernelDepth++;
  try {
    const outputs = tf.tidy(run);
    if (state.kernelDepth > 1) return outputs;
    const copies = saved.map((tensor) => tf.keep(tensor.clone()));
    state.activeTape?.push({
      id: state.nextTapeNodeId++,
      kernelName: name,
      inputs: Object.fromEntries(inputs.map((tensor, at) => [at, tensor])),
      outputs,
      saved: copies,
      gradient: (dys) => {
        const grads = gradient(dys, copies);
        return Object.fromEntries(grads.map((grad, at) => [at, () => grad]));
      },
    });
    return outputs;
  } finally {
    state.kernelDepth--;
  }
}

function record(run: () => readonly Tensor[]) {
  const engine = engineOf();
  if (onTape()) throw new LabError("internal", "A gradient was asked for while another is recorded");
  // That of a backward pass which computes a part again.
  const outer = engine.state.activeTape;
  engine.startTape();
  const tape = engine.state.activeTape as TapeNode[];
  try {
    return { tape, outputs: tf.tidy(() => [...run()]) };
  } catch (thrown) {
    for (const { saved } of tape) tf.dispose([...saved]);
    throw thrown;
  } finally {
    engine.endTape();
    engine.state.activeTape = outer;
  }
}

function differentiated(
  tape: readonly TapeNode[],
  outputs: readonly Tensor[],
  xs: readonly Tensor[],
  dyOf: (at: number) => Tensor,
): readonly (Tensor | undefined)[] {
  const path = pathOf(tape, xs, outputs);
  const onPath = new Set(path.map(({ node }) => node));
  for (const node of tape) if (!onPath.has(node)) tf.dispose([...node.saved]);
  return tf.tidy(() => {
    const found = new Map(outputs.map(({ id }, at) => [id, dyOf(at)]));
    for (const each of path.reverse()) differentiate(each, found);
    return xs.map(({ id }) => found.get(id)) as Tensor[];
  });
}

/** Adds a node's gradients to those found so far, and frees what it alone needed. */
function differentiate({ node, needed }: PathNode, found: Map<number, Tensor>): void {
  const { kernelName, outputs, saved } = node;
  const dys = outputs.map(({ id }) => found.get(id) ?? null);
  for (const { id } of outputs) found.delete(id);
  tf.tidy(() => {
    const byInput = node.gradient?.(dys);
    const { id: scope } = engineOf().state.activeScope;
    const taken = new Set<Tensor>();
    for (const [name, { id, shape }] of needed) {
      const thunk = byInput?.[name];
      if (thunk === undefined) throw new LabError("internal", `${kernelName} has no gradient by ${name}`);
      const result = tf.tidy(thunk);
      // A gradient that was passed on, or serves two inputs, is freed elsewhere.
      const own = result.scopeId === scope && !taken.has(result) && !result.kept;
      const dx = own ? result : result.clone();
      if (dx.dtype !== "float32" || !tf.util.arraysEqual(dx.shape, shape))
        throw new LabError("internal", `${kernelName} has a gradient by ${name} of another shape or type`);
      taken.add(result);
      const before = found.get(id);
      found.set(id, before === undefined ? dx : before.add<Tensor>(dx));
      // What this node made is freed with its tidy.
      if (before !== undefined && before.scopeId !== scope) before.dispose();
    }
    return needed.map(([, { id }]) => found.get(id) as Tensor);
  });
  tf.dispose(dys.filter((dy) => dy !== null));
  tf.dispose([...saved]);
}

/** Nodes that depend on one of `xs` and affect an output, in the order of the recording. */
function pathOf(tape: readonly TapeNode[], xs: readonly Tensor[], outputs: readonly Tensor[]): PathNode[] {
  const fromXs = new Set(xs.map(({ id }) => id));
  const depending = tape.flatMap((node): PathNode[] => {
    const needed = Object.entries(node.inputs).filter(([, input]) => input != null && fromXs.has(input.id));
    if (needed.length === 0) return [];
    for (const { id } of node.outputs) fromXs.add(id);
    return [{ node, needed }];
  });
  const toOutputs = new Set(outputs.map(({ id }) => id));
  const path: PathNode[] = [];
  for (const each of depending.reverse()) {
    if (!each.node.outputs.some(({ id }) => toOutputs.has(id))) continue;
    for (const [, { id }] of each.needed) toOutputs.add(id);
    path.push(each);
  }
  return path.reverse();
}
