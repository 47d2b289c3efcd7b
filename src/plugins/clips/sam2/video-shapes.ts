/**
 * Tensors of SAM2 that only video uses, with their shapes (docs/spec/video.md#2-tensors). They are loaded
 * for clips only.
 */

import type { Sam2Config } from "../../../engine/model/sam2/config.ts";
import { linear, norm } from "../../../engine/model/sam2-shapes.ts";
import type { NamedShape } from "../../../engine/model/weights/tensor-shapes.ts";

export const SAM = "grounding_encoder.sam2_model";
/** Channels of the mask before and after each strided convolution of the memory encoder, the same in all models. */
export const MASK_CHANNELS: readonly number[] = [1, 4, 16, 64, 256];

/** Every tensor that tracking and mask prompts need. */
export function videoShapes(config: Sam2Config): NamedShape[] {
  const { hiddenDim: width, memory } = config;
  const layers = Array.from({ length: memory.layers }, (_, at) => attentionLayer(config, at));
  return [
    [`${SAM}.maskmem_tpos_enc`, [memory.maps, 1, 1, memory.dim]],
    [`${SAM}.no_obj_ptr`, [1, width]],
    [`${SAM}.mask_downsample.weight`, [1, 1, 4, 4]],
    [`${SAM}.mask_downsample.bias`, [1]],
    ...[0, 1, 2].flatMap((at) => linear(`${SAM}.obj_ptr_proj.layers.${at}`, width, width)),
    ...memoryEncoder(width, memory.dim),
    ...layers.flat(),
    ...norm(`${SAM}.memory_attention.norm`, width),
  ];
}

function memoryEncoder(width: number, dim: number): NamedShape[] {
  const path = `${SAM}.memory_encoder`;
  const down = `${path}.mask_downsampler.encoder`;
  const last = MASK_CHANNELS.at(-1) as number;
  const steps = MASK_CHANNELS.slice(1).flatMap((out, at): NamedShape[] => [
    [`${down}.${3 * at}.weight`, [out, MASK_CHANNELS[at] as number, 3, 3]],
    [`${down}.${3 * at}.bias`, [out]],
    ...norm(`${down}.${3 * at + 1}`, out),
  ]);
  const fuser = [0, 1].flatMap((at): NamedShape[] => {
    const own = `${path}.fuser.layers.${at}`;
    return [
      [`${own}.dwconv.weight`, [width, 1, 7, 7]],
      [`${own}.dwconv.bias`, [width]],
      ...norm(`${own}.norm`, width),
      ...linear(`${own}.pwconv1`, 4 * width, width),
      ...linear(`${own}.pwconv2`, width, 4 * width),
      [`${own}.g_weight`, [width]],
    ];
  });
  const point = (name: string, out: number, into: number): NamedShape[] => [
    [`${name}.weight`, [out, into, 1, 1]],
    [`${name}.bias`, [out]],
  ];
  return [
    ...steps,
    ...point(`${down}.12`, width, last),
    ...point(`${path}.pix_feat_proj`, width, width),
    ...fuser,
    ...point(`${path}.out_proj`, dim, width),
  ];
}

function attentionLayer({ hiddenDim: width, memory }: Sam2Config, layer: number): NamedShape[] {
  const path = `${SAM}.memory_attention.layers.${layer}`;
  const attention = (name: string, keys: number): NamedShape[] => [
    ...linear(`${path}.${name}.q_proj`, width, width),
    ...linear(`${path}.${name}.k_proj`, width, keys),
    ...linear(`${path}.${name}.v_proj`, width, keys),
    ...linear(`${path}.${name}.out_proj`, width, width),
  ];
  return [
    ...attention("self_attn", width),
    ...attention("cross_attn_image", memory.dim),
    ...linear(`${path}.linear1`, memory.mlp, width),
    ...linear(`${path}.linear2`, width, memory.mlp),
    ...[1, 2, 3].flatMap((at) => norm(`${path}.norm${at}`, width)),
  ];
}
