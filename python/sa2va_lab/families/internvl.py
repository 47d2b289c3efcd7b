"""InternViT of transformers: a picture is cut into tiles, whose patches are merged in fours."""

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from transformers import InternVLVisionConfig
from transformers.models.internvl.modeling_internvl import (
    InternVLVisionEmbeddings,
    InternVLVisionEncoder,
    InternVLVisionRMSNorm,
)

from ..data import Rgb
from ..pictures import bicubic, normalise
from .family import Family, Grid

_SHARED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "norm_type",
           "layer_norm_eps", "image_size", "patch_size")  # fmt: skip


class InternVl(Family):
    """Sa2VA on InternVL."""

    runs = "InternVL"
    needed = ("vision_config", "llm_config", "force_image_size", "downsample_ratio", "select_layer", "template")
    language_names, tower_names, projector_names = ("language_model.",), ("vision_model.",), ("mlp1.",)
    # In checkpoints one tensor holds the projections of queries, keys and values.
    patterns: ClassVar = {
        "vision_model": {
            r"cls_token": "class_embedding", r"patch_embeddings\.projection": "patch_embedding",
            r"position_embeddings": "position_embedding", r"encoder\.layer\.": "encoder.layers.",
            r"attention\.projection_layer": "attn.proj", r"attention\.[qkv]_proj": "attn.qkv", r"attention\.": "attn.",
            r"layernorm_before": "norm1", r"layernorm_after": "norm2", r"lambda_": "ls",
        },
        "projector": {"projector": "mlp1"},
    }  # fmt: skip
    wrapped = "language_model."

    def __init__(self, config: dict[str, Any]) -> None:
        """Sizes are those of vision_config."""
        vision, self._config, self.language = config["vision_config"], config, config["llm_config"]
        self.tower = _Tower(vision, config["select_layer"])
        width, wide = self.language["hidden_size"], 4 * vision["hidden_size"]
        self.projector = nn.Sequential(
            nn.LayerNorm(wide, 1e-5), nn.Linear(wide, width), nn.GELU(), nn.Linear(width, width)
        )

    @cached_property
    def _side(self) -> int:
        about = self._config
        return int(about["force_image_size"] // about["vision_config"]["patch_size"] * about["downsample_ratio"])

    def grid(self, height: int, width: int) -> Grid:
        """All tiles are squares of the same size."""
        return self._side, self._side

    def pixels(self, rgb: Rgb, most_tiles: int, twice: bool) -> Tensor:
        """Tiles with the thumbnail last; they are resized once."""
        return normalise(tiles_of(rgb, self._config, most_tiles))

    def see(self, pixels: Tensor) -> Tensor:
        """Patch states of the selected layer, four side by side."""
        return pixel_shuffle(self.tower(pixels), self._config.get("ps_version", "v2"))

    def project(self, vision: Tensor) -> Tensor:
        """Norm, linear, GELU, linear."""
        out: Tensor = self.projector(vision)
        return out


class _Tower(nn.Module):
    def __init__(self, config: dict[str, Any], select_layer: int) -> None:
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


def choose_grid(width: int, height: int, low: int, high: int, tile: int) -> tuple[int, int]:
    """
    Columns and rows whose ratio is nearest to the picture's; a tie goes to the larger grid if the pixels allow it.
    """
    grids = [(c, r) for c in range(1, high + 1) for r in range(1, high // c + 1) if low <= c * r]
    best, gap = (1, 1), math.inf
    for cols, rows in sorted(grids, key=lambda grid: grid[0] * grid[1]):
        distance = abs(width / height - cols / rows)
        large = width * height > 0.5 * tile * tile * cols * rows
        if distance < gap or (distance == gap and large):
            best, gap = (cols, rows), distance
    return best


def tiles_of(rgb: Rgb, config: dict[str, Any], most: int) -> Rgb:
    """Tiles [n, t, t, 3] with the thumbnail last."""
    tile = config["force_image_size"]
    low, high = config.get("min_dynamic_patch", 1), config.get("max_dynamic_patch", 12)
    if not config.get("dynamic_image_size", True):
        low = high = 1
    cols, rows = choose_grid(rgb.shape[1], rgb.shape[0], low, min(high, most), tile)
    whole = bicubic(rgb, tile * cols, tile * rows)
    cut = [whole[r * tile : (r + 1) * tile, c * tile : (c + 1) * tile] for r in range(rows) for c in range(cols)]
    if len(cut) > 1 and config.get("use_thumbnail", True):
        cut.append(bicubic(rgb, tile, tile))
    return np.stack(cut)
