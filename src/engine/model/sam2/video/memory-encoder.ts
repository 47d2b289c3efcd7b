/** Encodes a frame's features and mask as a memory of the frame (docs/spec/video.md#4-memory-encoder). */
import { gelu } from "../../../gpu/kernels/activation.ts";
import { conv2d } from "../../../gpu/kernels/conv.ts";
import { layerNorm } from "../../../gpu/kernels/norm.ts";
import { repeatRows } from "../../../gpu/kernels/repeat.ts";
import { countWork } from "../../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Probe } from "../../probe.ts";
import { activatedLayer, linearLayer } from "../../weights/linear-layer.ts";
import type { Weights } from "../../weights/weights.ts";
import { samSizeLogits } from "../postprocess.ts";
import { MASK_CHANNELS, SAM } from "./video-shapes.ts";

const NORM_EPS = 1e-6;
/** The encoder reads mask values of `SCALE` · sigmoid(logit) + `BIAS`. */
const SCALE = 20;
const BIAS = -10;
const FUSER_LAYERS = 2;

/**
 * @param f16 the frame's map without the no-memory embedding, [1, h, w, C]
 * @param lowRes logits of the selected masks, [B, 4h, 4w]
 * @param size SAM2's input side
 * @returns [B, h, w, M], owned by the caller or its tidy
 */
export function encodeMemory(w: Weights, f16: Tensor, lowRes: Tensor, size: number, probe?: Probe): Tensor {
  const path = `${SAM}.memory_encoder`;
  return tf.tidy(() => {
    const [batch] = lowRes.shape as [number];
    const large = samSizeLogits(lowRes, size).reshape([batch, size, size, 1]);
    const mask = maskFeatures(w, `${path}.mask_downsampler.encoder`, large.sigmoid().mul(SCALE).add(BIAS), probe);
    probe?.("memory_encoder.down.12", mask);
    const picture = point(w, `${path}.pix_feat_proj`, f16);
    probe?.("memory_encoder.pix_feat_proj", picture);
    let x = mask.add(repeatRows(picture, batch));
    for (let layer = 0; layer < FUSER_LAYERS; layer++) {
      x = x.add(fuserBranch(w, `${path}.fuser.layers.${layer}`, x));
      probe?.(`memory_encoder.fuser.${layer}`, x);
    }
    return point(w, `${path}.out_proj`, x);
  });
}

/** Four convolutions of stride 2, then one to the features' number of channels: [B, S, S, 1] → [B, S/16, S/16, C]. */
function maskFeatures(w: Weights, path: string, mask: Tensor, probe: Probe | undefined): Tensor {
  let x = mask;
  for (let step = 0; step < MASK_CHANNELS.length - 1; step++) {
    const [conv, norm] = [`${path}.${3 * step}`, `${path}.${3 * step + 1}`];
    const y = conv2d(x, w.get(`${conv}.weight`), w.get(`${conv}.bias`), 2, 1);
    probe?.(`memory_encoder.down.${3 * step}`, y);
    x = gelu(layerNorm(y, w.get(`${norm}.weight`), w.get(`${norm}.bias`), NORM_EPS));
  }
  return point(w, `${path}.12`, x);
}

/** 7 × 7 depth-wise convolution, norm, two linear layers, and a factor per channel. */
function fuserBranch(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => {
    const weight = w.get(`${path}.dwconv.weight`);
    countWork((x.size * weight.size) / (weight.shape[0] as number));
    const kernel = weight.transpose([2, 3, 0, 1]) as tf.Tensor4D;
    const mixed = tf.depthwiseConv2d(x as tf.Tensor4D, kernel, 1, "same").add(w.get(`${path}.dwconv.bias`));
    const normed = layerNorm(mixed, w.get(`${path}.norm.weight`), w.get(`${path}.norm.bias`), NORM_EPS);
    const hidden = activatedLayer(w, `${path}.pwconv1`, normed, "gelu");
    return linearLayer(w, `${path}.pwconv2`, hidden).mul(w.get(`${path}.g_weight`));
  });
}

function point(w: Weights, path: string, x: Tensor): Tensor {
  return conv2d(x, w.get(`${path}.weight`), w.get(`${path}.bias`), 1, 0);
}
