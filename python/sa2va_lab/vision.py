"""InternViT and the projector's input, with the published tensor names."""

import math
from collections import OrderedDict
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _norm(config: dict[str, Any]) -> nn.Module:
    width, eps = config["hidden_size"], config["layer_norm_eps"]
    return nn.RMSNorm(width, eps) if config["norm_type"] == "rms_norm" else nn.LayerNorm(width, eps)


class _Attention(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.qkv = nn.Linear(width, 3 * width, bias=config["qkv_bias"])
        self.proj = nn.Linear(width, width)
        normed = config["qk_normalization"]
        self.q_norm, self.k_norm = (
            nn.RMSNorm(width, config["layer_norm_eps"]) if normed else nn.Identity() for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        parts = [t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (self.q_norm(q), self.k_norm(k), v)]
        mixed = F.scaled_dot_product_attention(*parts)
        out: Tensor = self.proj(mixed.transpose(1, 2).flatten(2))
        return out


class _Layer(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.attn, parts = _Attention(config), {"fc1": nn.Linear(width, inner), "act": nn.GELU()}
        self.mlp = nn.Sequential(OrderedDict(parts | {"fc2": nn.Linear(inner, width)}))
        self.norm1, self.norm2 = _norm(config), _norm(config)
        self.ls1, self.ls2 = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.ls1 * self.attn(self.norm1(x))
        out: Tensor = x + self.ls2 * self.mlp(self.norm2(x))
        return out


class _Embeddings(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, patch = config["hidden_size"], config["patch_size"]
        self.side = config["image_size"] // patch
        self.class_embedding = nn.Parameter(torch.zeros(1, 1, width))
        self.patch_embedding = nn.Conv2d(3, width, patch, patch)
        self.position_embedding = nn.Parameter(torch.zeros(1, 1 + self.side**2, width))

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.patch_embedding(pixels)
        rows, cols = x.shape[2:]
        table: Tensor = self.position_embedding
        if (rows, cols) != (self.side, self.side):
            grid = table[:, 1:].reshape(1, self.side, self.side, -1).permute(0, 3, 1, 2)
            grid = F.interpolate(grid.float(), (rows, cols), mode="bicubic", align_corners=False).to(x.dtype)
            table = torch.cat([table[:, :1], grid.flatten(2).transpose(1, 2)], 1)
        first = self.class_embedding.expand(len(x), 1, -1)
        return torch.cat([first, x.flatten(2).transpose(1, 2)], 1) + table


class VisionTower(nn.Module):
    """The frozen tower of tiles."""

    def __init__(self, config: dict[str, Any], select_layer: int) -> None:
        """`config` is config.json's vision_config."""
        super().__init__()
        count = config["num_hidden_layers"]
        self.embeddings = _Embeddings(config)
        self.encoder = nn.ModuleDict({"layers": nn.ModuleList(_Layer(config) for _ in range(count))})
        self.last = select_layer % (count + 1)

    def forward(self, pixels: Tensor) -> Tensor:
        """[n, 3, t, t] to patch states [n, patches, width] of the selected layer."""
        x: Tensor = self.embeddings(pixels)
        for layer in list(self.encoder["layers"].children())[: self.last]:
            x = layer(x)
        return x[:, 1:]


def pixel_shuffle(x: Tensor, version: str) -> Tensor:
    """[n, s · s, C] to [n, s · s / 4, 4 C]: four neighbours side by side, by rows (v2) or columns (v1)."""
    n, count, channels = x.shape
    side = math.isqrt(count)
    blocks = x.reshape(n, side // 2, 2, side // 2, 2, channels).permute(0, 1, 3, 2, 4, 5)
    if version == "v1":
        blocks = blocks.transpose(1, 2)
    return blocks.reshape(n, count // 4, 4 * channels)
