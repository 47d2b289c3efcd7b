/** The decoder's transformer, in which tokens and image attend to each other (docs/spec/sa2va.md#15-mask-decoder). */
import { attention } from "../../gpu/kernels/attention/attention.ts";
import { layerNorm } from "../../gpu/kernels/norm.ts";
import { repeatRows } from "../../gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Probe } from "../probe.ts";
import { activatedLayer, addLayer, linearLayer } from "../weights/linear-layer.ts";
import type { Weights } from "../weights/weights.ts";
import type { Sam2Config } from "./config.ts";

const NORM_EPS = 1e-5;

export interface TwoWayState {
  /** Tokens [B, T, C]. */
  readonly queries: Tensor;
  /** Image cells [B, h·w, C]. */
  readonly keys: Tensor;
}

/**
 * @param tokens [B, T, C]; every layer adds them again as the positional term of the queries
 * @param image [M, h·w, C]; map m serves the B / M token rows from m · B / M on
 * @param positions positional term of the image cells, [1, h·w, C]
 */
export function twoWayTransformer(
  w: Weights,
  path: string,
  config: Sam2Config,
  tokens: Tensor,
  image: Tensor,
  positions: Tensor,
  probe?: Probe,
): TwoWayState {
  const heads = config.decoderNumHeads;
  const batch = tokens.shape[0] as number;
  let queries = tokens;
  let keys = image;
  for (let index = 0; index < config.decoderDepth; index++) {
    const layer = `${path}.layers.${index}`;
    const attend = (name: string, q: Tensor, k: Tensor, v: Tensor): Tensor =>
      headAttention(w, `${layer}.${name}`, heads, q, k, v);
    const norm = (number: number, x: Tensor): Tensor => normed(w, `${layer}.norm${number}`, x);
    if (index === 0) {
      // The first layer has neither a positional term nor a residual here.
      queries = norm(1, attend("self_attn", queries, queries, queries));
    } else {
      const placed = queries.add(tokens);
      queries = norm(1, queries.add(attend("self_attn", placed, placed, queries)));
    }
    const placedKeys = keys.add(positions);
    const seen = attend("cross_attn_token_to_image", queries.add(tokens), placedKeys, keys);
    queries = norm(2, queries.add(seen));
    queries = norm(3, addMlp(w, `${layer}.mlp.layers`, queries));
    const update = attend("cross_attn_image_to_token", placedKeys, queries.add(tokens), queries);
    keys = norm(4, inRows(keys, batch).add(update));
    probe?.(`decoder.layer.${index}.queries`, queries);
    probe?.(`decoder.layer.${index}.keys`, keys);
  }
  const final = `${path}.final_attn_token_to_image`;
  const last = headAttention(w, final, heads, queries.add(tokens), keys.add(positions), keys);
  return { queries: normed(w, `${path}.norm_final_attn`, queries.add(last)), keys };
}

/** Repeats maps that several rows share, once per row. */
function inRows(x: Tensor, rows: number): Tensor {
  return repeatRows(x, rows / (x.shape[0] as number));
}

/**
 * Multi-head attention with its own projections; the stored weights determine the inner width. Shared rows are
 * projected once: in the first layer all rollouts of a picture read the same map.
 */
function headAttention(w: Weights, path: string, heads: number, q: Tensor, k: Tensor, v: Tensor): Tensor {
  return tf.tidy(() => {
    const batch = Math.max(...[q, k, v].map((x) => x.shape[0] as number));
    const split = (name: string, x: Tensor): Tensor => {
      const y = inRows(linearLayer(w, `${path}.${name}`, x), batch);
      const [, length, width] = y.shape as [number, number, number];
      return y.reshape([batch, length, heads, width / heads]).transpose([0, 2, 1, 3]);
    };
    const queries = split("q_proj", q);
    const depth = queries.shape[3] as number;
    const mixed = attention(queries, split("k_proj", k), split("v_proj", v), 1 / Math.sqrt(depth));
    const length = mixed.shape[2] as number;
    return linearLayer(w, `${path}.out_proj`, mixed.transpose([0, 2, 1, 3]).reshape([batch, length, heads * depth]));
  });
}

function addMlp(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => addLayer(w, `${path}.1`, activatedLayer(w, `${path}.0`, x, "relu"), x));
}

function normed(w: Weights, path: string, x: Tensor): Tensor {
  return layerNorm(x, w.get(`${path}.weight`), w.get(`${path}.bias`), NORM_EPS);
}
