"""InternViT of transformers and the projector's input, with the published tensor names."""

import math
from typing import Any

from torch import Tensor, nn
from transformers import InternVLVisionConfig
from transformers.models.internvl.modeling_internvl import (
    InternVLVisionEmbeddings,
    InternVLVisionEncoder,
    InternVLVisionRMSNorm,
)

VISION_NAMES = {
    r"cls_token": "class_embedding", r"patch_embeddings\.projection": "patch_embedding",
    r"position_embeddings": "position_embedding", r"encoder\.layer\.": "encoder.layers.",
    r"attention\.projection_layer": "attn.proj", r"attention\.[qkv]_proj": "attn.qkv", r"attention\.": "attn.",
    r"layernorm_before": "norm1", r"layernorm_after": "norm2", r"lambda_": "ls",
}  # fmt: skip
"""
Patterns of the names of transformers and their replacements in checkpoints, where one tensor holds the projections of
queries, keys and values.
"""
_SHARED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "norm_type",
           "layer_norm_eps", "image_size", "patch_size")  # fmt: skip


class VisionTower(nn.Module):
    """The frozen tower of tiles."""

    def __init__(self, config: dict[str, Any], select_layer: int) -> None:
        """`config` is config.json's vision_config."""
        super().__init__()
        own = InternVLVisionConfig(
            attention_bias=config["qkv_bias"], use_qk_norm=config["qk_normalization"], attn_implementation="sdpa",
            **{name: config[name] for name in _SHARED},
        )  # fmt: skip
        self.embeddings, self.encoder = InternVLVisionEmbeddings(own), InternVLVisionEncoder(own)
        del self.encoder.layer[select_layer % (own.num_hidden_layers + 1) :]
        for norm in self.modules():
            if isinstance(norm, InternVLVisionRMSNorm):
                norm.variance_epsilon = own.layer_norm_eps

    def forward(self, pixels: Tensor) -> Tensor:
        """[n, 3, t, t] to patch states [n, patches, width] of the selected layer."""
        states: Tensor = self.encoder(self.embeddings(pixels)).last_hidden_state
        return states[:, 1:]


def pixel_shuffle(x: Tensor, version: str) -> Tensor:
    """[n, s · s, C] to [n, s · s / 4, 4 C]: four neighbours side by side, by rows (v2) or columns (v1)."""
    n, count, channels = x.shape
    side = math.isqrt(count)
    blocks = x.reshape(n, side // 2, 2, side // 2, 2, channels).permute(0, 1, 3, 2, 4, 5)
    if version == "v1":
        blocks = blocks.transpose(1, 2)
    return blocks.reshape(n, count // 4, 4 * channels)
