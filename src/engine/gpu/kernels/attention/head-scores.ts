/**
 * Token scores straight from hidden states and head, without the N × V logits. Layout: hidden [N, D], head [V, D].
 * Plan: blocks of the vocabulary are multiplied into one scratch array of fixed size and folded (kernels/logprob.ts). The
 * gradient recomputes each block, turns it into slopes in place and multiplies again. A head that needs no gradient
 * costs none. f32, fixed order. Equals `tokenScores(hidden headᵀ, …)`; `linear` without bias is the product.
 */

import { builtInForms } from "../../forms/active.ts";
import { recordProduct } from "../../matmul/matmul-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../../runtime/custom-op.ts";
import { release, unwritten } from "../../runtime/program.ts";
import { type Tensor, tf } from "../../tf.ts";
import { linear } from "../linear.ts";
import { NO_GUARD, SPAN, SpanFold, slopesOf, type TokenScores, tokenScores } from "../logprob.ts";

/** Bytes of a block's scratch array, if set by a test. */
let scratchBytes: number | undefined;

/** For tests. Without bytes, the adapter's default applies again. */
export function setHeadScratch(bytes?: number): void {
  scratchBytes = bytes;
}

/** Maximum bytes of logits per block. Logits that fit are stored whole. */
function blockBytes(): number {
  return scratchBytes ?? builtInForms().runBytes;
}

/**
 * Log-probability of chosen ids and entropy of their distributions, as `tokenScores` of the head's logits.
 * @param hidden [N, D]
 * @param head [V, D]
 * @param ids [N] int32
 * @param temperature τ > 0
 * @param guard clip bound, Infinity for none
 */
export function headScores(hidden: Tensor, head: Tensor, ids: Tensor, temperature: number, guard: number): TokenScores {
  const bytes = (hidden.shape[0] as number) * (head.shape[0] as number) * Float32Array.BYTES_PER_ELEMENT;
  if (!customKernels() || !suits(hidden, head) || bytes <= blockBytes()) {
    const [logp, entropy] = tf.tidy(() => {
      const scores = tokenScores(linear(hidden, head), ids, temperature, guard);
      return [scores.logp, scores.entropy];
    }) as [Tensor, Tensor];
    return { logp, entropy };
  }
  const [logp, entropy] = tf.tidy(() => {
    const bound = Number.isFinite(guard) ? guard : NO_GUARD;
    return customHeadScores({ hidden, head, ids: ids.toInt() }, { temperature, guard: bound }).slice(0, 2);
  }) as [Tensor, Tensor];
  return { logp, entropy };
}

interface Block {
  readonly base: number;
  readonly width: number;
}

function blocksOf(rows: number, vocabulary: number): Block[] {
  const fitting = Math.floor(blockBytes() / (rows * Float32Array.BYTES_PER_ELEMENT * SPAN));
  const step = Math.max(1, fitting) * SPAN;
  const blocks: Block[] = [];
  for (let base = 0; base < vocabulary; base += step) blocks.push({ base, width: Math.min(step, vocabulary - base) });
  return blocks;
}

/** Logits of the block's entries, [N, width] at the start of `into`. */
function blockLogits(hidden: tf.TensorInfo, head: tf.TensorInfo, { base, width }: Block, into: tf.TensorInfo): void {
  const [rows, inner] = hidden.shape as [number, number];
  recordProduct(
    {
      m: rows,
      n: width,
      k: inner,
      batch: 1,
      a: hidden,
      aPlace: { line: inner, step: 1, batch: 0 },
      b: head,
      bPlace: { line: inner, step: 1, batch: 0, offset: base * inner },
      out: { row: width, batch: 0 },
      into,
    },
    [],
  );
}

/** Calls `use` with the slopes of every block, [N, width] at the start of a scratch array. */
function eachSlopes(
  saved: readonly Tensor[],
  dys: readonly Tensor[],
  settings: readonly [temperature: number, guard: number],
  use: (slopes: tf.TensorInfo, block: Block, index: number) => void,
): void {
  const [hidden, head, ids, entropy, lse] = saved as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const [dlogp, dentropy] = dys as [Tensor, Tensor];
  const [rows, vocabulary] = [hidden.shape[0] as number, head.shape[0] as number];
  const blocks = blocksOf(rows, vocabulary);
  const scratch = unwritten([rows * (blocks[0] as Block).width]);
  blocks.forEach((block, index) => {
    blockLogits(hidden, head, block, scratch);
    const inputs = [ids, dlogp, dentropy, entropy, lse] as const;
    slopesOf({ into: scratch }, inputs, [rows, block.width], block.base, ...settings);
    use(scratch, block, index);
  });
  release(scratch);
}

const customHeadScores = defineOp({
  name: "LabHeadScores",
  saved: ["hidden", "head", "ids"],
  savedOutputs: [false, true, true],
  forward(inputs, { temperature, guard }) {
    const { hidden, head, ids } = inputs as Record<"hidden" | "head" | "ids", tf.TensorInfo>;
    const [rows, vocabulary] = [hidden.shape[0] as number, head.shape[0] as number];
    const blocks = blocksOf(rows, vocabulary);
    const slots = blocks.reduce((sum, { width }) => sum + Math.ceil(width / SPAN), 0);
    const fold = new SpanFold(rows, slots, vocabulary, temperature as number, guard as number);
    const scratch = unwritten([rows * (blocks[0] as Block).width]);
    for (const block of blocks) {
      blockLogits(hidden, head, block, scratch);
      fold.add(scratch, ids, block.base, block.width);
    }
    release(scratch);
    return fold.finish();
  },
  gradient(dys, saved, { temperature, guard }) {
    const [hidden, head] = saved as [Tensor, Tensor];
    const [rows, inner] = hidden.shape as [number, number];
    const settings = [temperature as number, guard as number] as const;
    return {
      hidden() {
        const into = unwritten(hidden.shape);
        eachSlopes(saved, dys, settings, (slopes, { base, width }, index) => {
          const a = { line: width, step: 1, batch: 0 };
          const b = { line: 1, step: inner, batch: 0, offset: base * inner };
          const spec = { m: rows, n: inner, k: width, batch: 1, a: slopes, aPlace: a, b: head, bPlace: b };
          recordProduct({ ...spec, out: { row: inner, batch: 0 }, into, end: index > 0 ? "adding" : "alone" }, []);
        });
        return toTensor(into);
      },
      head() {
        const into = unwritten(head.shape);
        eachSlopes(saved, dys, settings, (slopes, { base, width }) => {
          const a = { line: 1, step: width, batch: 0 };
          const b = { line: 1, step: inner, batch: 0 };
          const spec = { m: width, n: inner, k: rows, batch: 1, a: slopes, aPlace: a, b: hidden, bPlace: b };
          recordProduct({ ...spec, out: { row: inner, batch: 0, offset: base * inner }, into }, []);
        });
        return toTensor(into);
      },
    };
  },
});
