/**
 * Tensor names and shapes of the SAM2 parts that pictures use (docs/spec/sa2va.md#4-tensor-names-and-shapes); the
 * memory parts for video are left out.
 */
import type { DecoderSizes } from "./config.ts";
import type { Sam2Config } from "./sam2/config.ts";
import type { NamedShape } from "./weights/tensor-shapes.ts";

const S = "grounding_encoder.sam2_model";
const VIDEO_ONLY =
  /^grounding_encoder\.sam2_model\.(memory_|mask_downsample\.|maskmem_tpos_enc$|no_mem_pos_enc$|obj_ptr_|no_obj_|sam_mask_decoder_modified\.)/;

/** Whether a tensor belongs to a part that pictures never use. */
export function isVideoOnly(name: string): boolean {
  return VIDEO_ONLY.test(name);
}

/** Every tensor of image encoder, prompt encoder and mask decoder. */
export function sam2Shapes(config: Sam2Config, sizes: DecoderSizes): NamedShape[] {
  return [...trunk(config), ...promptEncoder(config, sizes), ...maskDecoder(config, sizes)];
}

/** Weight and bias of a linear layer. */
export function linear(path: string, out: number, into: number): NamedShape[] {
  return [
    [`${path}.weight`, [out, into]],
    [`${path}.bias`, [out]],
  ];
}

export function norm(path: string, width: number): NamedShape[] {
  return [
    [`${path}.weight`, [width]],
    [`${path}.bias`, [width]],
  ];
}

function conv(path: string, out: number, into: number, side: number): NamedShape[] {
  return [
    [`${path}.weight`, [out, into, side, side]],
    [`${path}.bias`, [out]],
  ];
}

function trunk(config: Sam2Config): NamedShape[] {
  const shapes: NamedShape[] = [];
  const path = `${S}.image_encoder.trunk`;
  const [height, width] = config.posEmbedSize;
  const window = config.windowSpec[0] as number;
  shapes.push(...conv(`${path}.patch_embed.proj`, config.embedDim, 3, 7));
  shapes.push([`${path}.pos_embed`, [1, config.embedDim, height, width]]);
  shapes.push([`${path}.pos_embed_window`, [1, config.embedDim, window, window]]);
  let block = 0;
  config.stages.forEach((depth, stage) => {
    const out = config.embedDim * 2 ** stage;
    for (let i = 0; i < depth; i++, block++) {
      const into = stage > 0 && i === 0 ? out / 2 : out;
      const own = `${path}.blocks.${block}`;
      shapes.push(...norm(`${own}.norm1`, into), ...linear(`${own}.attn.qkv`, 3 * out, into));
      shapes.push(...linear(`${own}.attn.proj`, out, out), ...norm(`${own}.norm2`, out));
      shapes.push(...linear(`${own}.mlp.layers.0`, 4 * out, out), ...linear(`${own}.mlp.layers.1`, out, 4 * out));
      if (into !== out) shapes.push(...linear(`${own}.proj`, out, into));
    }
  });
  for (let level = 0; level < 4; level++) {
    shapes.push(
      ...conv(`${S}.image_encoder.neck.convs.${level}.conv`, config.hiddenDim, config.embedDim * 2 ** (3 - level), 1),
    );
  }
  shapes.push([`${S}.no_mem_embed`, [1, 1, config.hiddenDim]]);
  return shapes;
}

function promptEncoder(config: Sam2Config, sizes: DecoderSizes): NamedShape[] {
  const path = `${S}.sam_prompt_encoder`;
  const dim = config.hiddenDim;
  const points = [0, 1, 2, 3].map((i): NamedShape => [`${path}.point_embeddings.${i}.weight`, [1, dim]]);
  return [
    [`${path}.pe_layer.positional_encoding_gaussian_matrix`, [2, dim / 2]],
    [`${path}.not_a_point_embed.weight`, [1, dim]],
    [`${path}.no_mask_embed.weight`, [1, dim]],
    ...points,
    ...conv(`${path}.mask_downscaling.0`, sizes.maskIn / 4, 1, 2),
    ...norm(`${path}.mask_downscaling.1`, sizes.maskIn / 4),
    ...conv(`${path}.mask_downscaling.3`, sizes.maskIn, sizes.maskIn / 4, 2),
    ...norm(`${path}.mask_downscaling.4`, sizes.maskIn),
    ...conv(`${path}.mask_downscaling.6`, dim, sizes.maskIn, 1),
  ];
}

function attention(path: string, dim: number, inner: number): NamedShape[] {
  const projections = ["q", "k", "v"].flatMap((name) => linear(`${path}.${name}_proj`, inner, dim));
  return [...projections, ...linear(`${path}.out_proj`, dim, inner)];
}

function mlp3(path: string, dim: number, hidden: number, out: number): NamedShape[] {
  return [
    ...linear(`${path}.layers.0`, hidden, dim),
    ...linear(`${path}.layers.1`, hidden, hidden),
    ...linear(`${path}.layers.2`, out, hidden),
  ];
}

function maskDecoder(config: Sam2Config, sizes: DecoderSizes): NamedShape[] {
  const path = `${S}.sam_mask_decoder`;
  const dim = config.hiddenDim;
  const shapes: NamedShape[] = [
    [`${path}.obj_score_token.weight`, [1, dim]],
    [`${path}.iou_token.weight`, [1, dim]],
    [`${path}.mask_tokens.weight`, [4, dim]],
  ];
  for (let layer = 0; layer < config.decoderDepth; layer++) {
    const own = `${path}.transformer.layers.${layer}`;
    shapes.push(...attention(`${own}.self_attn`, dim, dim));
    shapes.push(...attention(`${own}.cross_attn_token_to_image`, dim, dim / 2));
    shapes.push(...attention(`${own}.cross_attn_image_to_token`, dim, dim / 2));
    shapes.push(...linear(`${own}.mlp.layers.0`, sizes.mlp, dim), ...linear(`${own}.mlp.layers.1`, dim, sizes.mlp));
    for (let i = 1; i <= 4; i++) shapes.push(...norm(`${own}.norm${i}`, dim));
  }
  shapes.push(...attention(`${path}.transformer.final_attn_token_to_image`, dim, dim / 2));
  shapes.push(...norm(`${path}.transformer.norm_final_attn`, dim));
  shapes.push(
    [`${path}.output_upscaling.0.weight`, [dim, dim / 4, 2, 2]],
    [`${path}.output_upscaling.0.bias`, [dim / 4]],
  );
  shapes.push(...norm(`${path}.output_upscaling.1`, dim / 4));
  shapes.push(
    [`${path}.output_upscaling.3.weight`, [dim / 4, dim / 8, 2, 2]],
    [`${path}.output_upscaling.3.bias`, [dim / 8]],
  );
  shapes.push(...conv(`${path}.conv_s0`, dim / 8, dim, 1), ...conv(`${path}.conv_s1`, dim / 4, dim, 1));
  for (let i = 0; i < 4; i++) shapes.push(...mlp3(`${path}.output_hypernetworks_mlps.${i}`, dim, dim, dim / 8));
  shapes.push(...mlp3(`${path}.iou_prediction_head`, dim, sizes.iouHidden, 4));
  shapes.push(...mlp3(`${path}.pred_obj_score_head`, dim, dim, 1));
  return shapes;
}
