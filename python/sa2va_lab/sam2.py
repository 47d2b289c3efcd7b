"""
SAM2's image encoder, prompt encoder and mask decoder as Sa2VA uses them for pictures, with published tensor names.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Sam2HieraDetConfig, Sam2HieraDetModel, Sam2MaskDecoderConfig, Sam2PromptEncoderConfig
from transformers.models.sam2.modeling_sam2 import Sam2MaskDecoder, Sam2MaskEmbedding, Sam2PositionalEmbedding

Levels = list[Tensor]
"""Features at stride 4, 8 and 16, [1, C, h, w] each."""

SAM2_NAMES = {
    r"projection\.": "proj.", r"mlp\.proj_in": "mlp.layers.0", r"mlp\.proj_out": "mlp.layers.1",
    r"(mlps\.\d|_head)\.layers\.0": r"\1.layers.1", r"(mlps\.\d|_head)\.proj_in": r"\1.layers.0",
    r"(mlps\.\d|_head)\.proj_out": r"\1.layers.2", "downscaling.layer_norm1": "downscaling.1",
    "downscaling.layer_norm2": "downscaling.4", "downscaling.conv1": "downscaling.0",
    "downscaling.conv2": "downscaling.3", "downscaling.conv3": "downscaling.6", "o_proj": "out_proj",
    "upscale_conv1": "output_upscaling.0", "upscale_layer_norm": "output_upscaling.1",
    "upscale_conv2": "output_upscaling.3", "layer_norm_final": "norm_final", "layer_norm": "norm",
    "positional_embedding": "positional_encoding_gaussian_matrix",
}  # fmt: skip
"""Patterns of the names of transformers and their replacements in checkpoints, in order."""


HIERA_L = {
    "image_size": 1024, "embed_dim": 144, "num_heads": 2, "stages": [2, 6, 36, 4], "global_att_blocks": [23, 33, 43],
    "window_spec": [8, 4, 16, 8], "window_pos_embed_bkg_spatial_size": [7, 7], "hidden_dim": 256, "decoder_depth": 2,
    "decoder_num_heads": 8, "decoder_mlp_dim": 2048, "iou_head_hidden_dim": 256, "mask_in_chans": 16,
}  # fmt: skip
"""Sizes of published checkpoints, which do not state them (docs/spec/sa2va.md#3-checkpoint-files)."""


class Decoded(NamedTuple):
    """Mask logits [n, 3, h, w] and predicted IoU [n, 3]."""

    masks: Tensor
    iou: Tensor

    @property
    def best(self) -> Tensor:
        """Logits [n, h, w] of the candidates with the largest predicted IoU."""
        return self.masks[torch.arange(len(self.masks), device=self.iou.device), self.iou.argmax(1)]


class ImageEncoder(nn.Module):
    """The frozen tower over the whole picture."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` has the sizes of HIERA_L."""
        super().__init__()
        widths, heads = ([c[name] * 2**stage for stage in range(4)] for name in ("embed_dim", "num_heads"))
        config = Sam2HieraDetConfig(
            hidden_size=widths[0], embed_dim_per_stage=widths, num_attention_heads_per_stage=heads,
            blocks_per_stage=c["stages"], window_size_per_stage=c["window_spec"],
            global_attention_blocks=c["global_att_blocks"],
            window_positional_embedding_background_size=c["window_pos_embed_bkg_spatial_size"],
        )  # fmt: skip
        self.trunk = Sam2HieraDetModel(config)
        side = c["image_size"] // 4
        for block in self.trunk.blocks:
            # transformers divides by the window of a block that pools: one of the map's size is none.
            block.window_size = block.window_size or (side if block.query_stride else 0)
            side //= 2 if block.query_stride else 1
        laterals = (nn.ModuleDict({"conv": nn.Conv2d(width, c["hidden_dim"], 1)}) for width in reversed(widths))
        self.neck = nn.ModuleDict({"convs": nn.ModuleList(laterals)})

    def forward(self, pixels: Tensor) -> Levels:
        """[1, 3, s, s] to the three feature levels."""
        stages = self.trunk(pixels).intermediate_hidden_states
        laterals: list[Any] = list(self.neck["convs"].children())
        pairs = zip(laterals, reversed(stages), strict=True)
        coarse, s16, s8, s4 = (lateral["conv"](x.permute(0, 3, 1, 2)) for lateral, x in pairs)
        return [s4, s8, s16 + F.interpolate(coarse, scale_factor=2.0, mode="nearest")]


def cell_centres(side: int) -> Tensor:
    """(x, y) in 0 to 1 of the cells of a grid, row by row, [side · side, 2]."""
    axis = (torch.arange(side, dtype=torch.float64) + 0.5) / side
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack([x, y], -1).flatten(0, 1)


class PromptEncoder(nn.Module):
    """Constant prompts; no loss reaches its mask and point branches, but they belong to the trained set."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` has the sizes of HIERA_L."""
        super().__init__()
        width = c["hidden_dim"]
        config = Sam2PromptEncoderConfig(hidden_size=width, mask_input_channels=c["mask_in_chans"])
        self.pe_layer = Sam2PositionalEmbedding(config)
        """Codes [..., C] of places (x, y) in 0 to 1, [..., 2]."""
        self.point_embeddings = nn.ModuleList(nn.Embedding(1, width) for _ in range(4))
        self.not_a_point_embed, self.no_mask_embed = nn.Embedding(1, width), nn.Embedding(1, width)
        self.mask_downscaling = Sam2MaskEmbedding(config)

    def phrases(self, prompts: Tensor) -> Tensor:
        """Tokens [n, 3, C] of language prompts [n, C]: two "not a point" tokens, then the prompt."""
        return torch.cat([self.not_a_point_embed.weight.expand(len(prompts), 2, -1), prompts[:, None]], 1)


class Sam2Model(nn.Module):
    """The used parts of SAM2, under their published names."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` has the sizes of HIERA_L."""
        super().__init__()
        self.image_encoder = ImageEncoder(c)
        self.sam_prompt_encoder = PromptEncoder(c)
        config = Sam2MaskDecoderConfig(
            hidden_size=c["hidden_dim"], num_hidden_layers=c["decoder_depth"], mlp_dim=c["decoder_mlp_dim"],
            num_attention_heads=c["decoder_num_heads"], iou_head_hidden_dim=c["iou_head_hidden_dim"],
            attn_implementation="sdpa",
        )  # fmt: skip
        self.sam_mask_decoder = Sam2MaskDecoder(config)
        for layer in self.sam_mask_decoder.transformer.layers:
            # transformers gives an MLP as many layers as the decoder has; the published one has two.
            del layer.mlp.layers[:]
        self.no_mem_embed = nn.Parameter(torch.zeros(1, 1, c["hidden_dim"]))

    def encode(self, pixels: Tensor) -> Levels:
        """[1, 3, s, s] to the feature levels of a picture without memory, as the lab stores them."""
        fine, middle, coarse = self.image_encoder(pixels)
        return [fine, middle, coarse + self.no_mem_embed.reshape(1, -1, 1, 1)]

    def decode(self, levels: Levels, sparse: Tensor) -> Decoded:
        """Candidate masks of prompt tokens [n, T, C] about one picture."""
        d, p = self.sam_mask_decoder, self.sam_prompt_encoder
        fine = [d.conv_s0(levels[0]), d.conv_s1(levels[1])]
        features, dense = levels[2], p.no_mask_embed.weight.reshape(1, -1, 1, 1)
        side = features.shape[-1]
        position = p.pe_layer(cell_centres(side).to(features.device)).T.reshape(1, -1, side, side)
        masks, iou, *_ = d(features, position.to(features), sparse[None], dense, True, fine)
        return Decoded(masks[0], iou[0])
