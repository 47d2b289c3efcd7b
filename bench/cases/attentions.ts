/** Attention of the language models, of Hiera's windows and of the mask decoder. */
import { attention } from "../../src/engine/gpu/kernels/attention/attention.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { OrtFunction } from "../baselines/ort.ts";
import type { Case } from "./case.ts";

type Four = readonly [number, number, number, number];

/** [B, H, T, d] as [B, T, H, d]. */
const byPlace = (x: Tensor): Tensor => x.transpose([0, 2, 1, 3]);
/** [B, H, T, d] as [B, T, H·d]. */
const joined = (x: Tensor): Tensor => byPlace(x).reshape([x.shape[0] as number, x.shape[2] as number, -1]);

/** Causal or grouped attention uses the runtime's GroupQueryAttention, other attention its MultiHeadAttention. */
function ortAttention(q: Four, kv: Four, causal: boolean): OrtFunction {
  const [batch, heads] = q;
  const [, keyHeads, keyLength] = kv;
  if (!causal && heads === keyHeads) {
    return {
      type: "MultiHeadAttention",
      domain: "com.microsoft",
      ints: { num_heads: heads },
      inputs: (...given) => given.map(joined),
      result: joined,
    };
  }
  return {
    type: "GroupQueryAttention",
    domain: "com.microsoft",
    ints: { num_heads: heads, kv_num_heads: keyHeads },
    inputs: (...given) => [
      ...given.map(joined),
      null,
      null,
      tf.fill([batch], keyLength - 1, "int32"),
      tf.tensor1d([keyLength], "int32"),
    ],
    result: joined,
  };
}

/** Products for scores and for values; causality halves them. */
function flopsOf([batch, heads, queries, width]: Four, keys: number, causal: boolean): number {
  return 4 * batch * heads * queries * keys * width * (causal && queries === keys ? (queries + 1) / (2 * queries) : 1);
}

/** Width of a head up to which the runtime's MultiHeadAttention is measured. */
const NARROW_HEAD = 16;

function attend(name: string, q: Four, kv: Four, causal: boolean, gradient = false): Case {
  const scale = 1 / Math.sqrt(q[3]);
  // The runtime accepts new keys only with equally many queries; its program for wide heads without causality compiles
  // for minutes on llvmpipe.
  const asked = !gradient && (causal ? q[2] === kv[2] : q[1] === kv[1] && q[3] <= NARROW_HEAD);
  return {
    name: `${name} ${q.join(" x ")}${q[2] === kv[2] ? "" : ` over ${kv[2]}`}${gradient ? ", with gradient" : ""}`,
    inputs: [q, kv, kv],
    run: (...[a, b, c]) => attention(a as Tensor, b as Tensor, c as Tensor, scale, undefined, causal ? {} : undefined),
    gradient,
    ...(gradient ? {} : { flops: flopsOf(q, kv[2], causal) }),
    jaxLayout: byPlace,
    jax: (jax, ...[a, b, c]) =>
      jax.nn.dotProductAttention(a as NonNullable<typeof a>, b as NonNullable<typeof b>, c as NonNullable<typeof c>, {
        isCausal: causal,
        scale,
      }),
    ...(asked ? { ort: ortAttention(q, kv, causal) } : {}),
  };
}

export function attentions(): Case[] {
  return [
    attend("causal attention", [8, 4, 64, 16], [8, 2, 64, 16], true),
    attend("causal attention", [8, 4, 64, 16], [8, 2, 64, 16], true, true),
    attend("causal attention", [1, 2, 1024, 64], [1, 2, 1024, 64], true),
    attend("causal attention", [1, 2, 1024, 64], [1, 2, 1024, 64], true, true),
    attend("attention", [1, 2, 1024, 64], [1, 2, 1024, 64], false),
    attend("causal attention, 1B", [1, 14, 128, 64], [1, 2, 128, 64], true),
    attend("attention of one token, 1B", [8, 14, 1, 64], [8, 2, 256, 64], false),
    attend("attention, Hiera stage 1 windows", [64, 2, 64, 72], [64, 2, 64, 72], false),
    attend("attention, Hiera stage 3 windows", [4, 8, 196, 72], [4, 8, 196, 72], false),
    attend("decoder cross attention", [4, 8, 9, 16], [4, 8, 1024, 16], false),
    attend("decoder cross attention", [4, 8, 9, 16], [4, 8, 1024, 16], false, true),
  ];
}
