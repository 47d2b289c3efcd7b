"""SAM2's image encoder, prompt encoder and mask decoder as Sa2VA uses them for pictures, published tensor names."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Levels = list[Tensor]
"""Features at stride 4, 8 and 16, [1, C, h, w] each."""


class Decoded(NamedTuple):
    """Mask logits [n, 4, h, w] and predicted IoU [n, 4]; candidate 0 is never used."""

    masks: Tensor
    iou: Tensor


class _Layers(nn.Module):
    """A stack of linear layers under `layers`."""

    def __init__(self, widths: list[int], gelu: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.gelu = gelu

    def forward(self, x: Tensor) -> Tensor:
        for at, layer in enumerate(self.layers):
            x = layer(x)
            if at < len(self.layers) - 1:
                x = F.gelu(x) if self.gelu else F.relu(x)
        return x


def _pool(x: Tensor) -> Tensor:
    return F.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


class _Block(nn.Module):
    """A Hiera block: attention in windows, with pooled queries where a stage begins."""

    def __init__(self, width: int, out: int, heads: int, window: int) -> None:
        super().__init__()
        self.pools, self.heads, self.window = width != out, heads, window
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(out, 1e-6)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(width, 3 * out), "proj": nn.Linear(out, out)})
        self.mlp = _Layers([out, 4 * out, out], gelu=True)
        if self.pools:
            self.proj = nn.Linear(width, out)

    def _attend(self, y: Tensor) -> Tensor:
        n, height, width, channels = y.shape
        window = self.window
        if window:
            y = F.pad(y, (0, 0, 0, -width % window, 0, -height % window))
        rows, cols = (y.shape[1] // window, y.shape[2] // window) if window else (1, 1)
        th, tw = y.shape[1] // rows, y.shape[2] // cols
        y = y.reshape(n, rows, th, cols, tw, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, th, tw, channels)
        q, k, v = self.attn["qkv"](y).chunk(3, -1)
        if self.pools:
            q = _pool(q)
            th, tw, height, width = th // 2, tw // 2, height // 2, width // 2
        q, k, v = (t.flatten(1, 2).unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        a = self.attn["proj"](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        a = a.reshape(n, rows, cols, th, tw, -1).permute(0, 1, 3, 2, 4, 5).reshape(n, rows * th, cols * tw, -1)
        whole: Tensor = a[:, :height, :width]
        return whole

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        shortcut = _pool(self.proj(y)) if self.pools else x
        x = shortcut + self._attend(y)
        out: Tensor = x + self.mlp(self.norm2(x))
        return out


class _Trunk(nn.Module):
    def __init__(self, c: dict[str, Any]) -> None:
        super().__init__()
        width, heads = c["embed_dim"], c["num_heads"]
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, width, 7, 4, 3)})
        side = c["window_pos_embed_bkg_spatial_size"]
        self.pos_embed = nn.Parameter(torch.zeros(1, width, *side))
        self.pos_embed_window = nn.Parameter(torch.zeros(1, width, c["window_spec"][0], c["window_spec"][0]))
        blocks: list[_Block] = []
        for stage, count in enumerate(c["stages"]):
            for inside in range(count):
                first = inside == 0 and stage > 0
                out, heads = (2 * width, 2 * heads) if first else (width, heads)
                window = c["window_spec"][stage - 1 if first else stage]
                blocks.append(_Block(width, out, heads, 0 if len(blocks) in c["global_att_blocks"] else window))
                width = out
        self.blocks = nn.ModuleList(blocks)
        self.ends = [sum(c["stages"][: at + 1]) - 1 for at in range(4)]

    def forward(self, pixels: Tensor) -> list[Tensor]:
        x = self.patch_embed["proj"](pixels)
        size = x.shape[2:]
        background = F.interpolate(self.pos_embed, size=size, mode="bicubic", align_corners=False)
        tile = self.pos_embed_window
        position = background + tile.repeat(1, 1, size[0] // tile.shape[2], size[1] // tile.shape[3])
        x = (x + position).permute(0, 2, 3, 1)
        outputs = []
        for at, block in enumerate(self.blocks):
            x = block(x)
            if at in self.ends:
                outputs.append(x)
        return outputs


class ImageEncoder(nn.Module):
    """The frozen tower of the whole picture."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` is config.json's sam2_config."""
        super().__init__()
        self.trunk = _Trunk(c)
        widths = [c["embed_dim"] * 2**stage for stage in (3, 2, 1, 0)]
        laterals = (nn.ModuleDict({"conv": nn.Conv2d(width, c["hidden_dim"], 1)}) for width in widths)
        self.neck = nn.ModuleDict({"convs": nn.ModuleList(laterals)})

    def forward(self, pixels: Tensor) -> Levels:
        """[1, 3, s, s] to the three feature levels."""
        stages = self.trunk(pixels)
        laterals: list[Any] = list(self.neck["convs"].children())
        pairs = zip(laterals, reversed(stages), strict=True)
        coarse, s16, s8, s4 = (lateral["conv"](x.permute(0, 3, 1, 2)) for lateral, x in pairs)
        return [s4, s8, s16 + F.interpolate(coarse, scale_factor=2.0, mode="nearest")]


class _PositionEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("positional_encoding_gaussian_matrix", torch.zeros(2, width // 2))


class _ChannelNorm(nn.Module):
    """Layer norm over the channels of [n, C, h, w]."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        y = F.layer_norm(x.permute(0, 2, 3, 1), self.weight.shape, self.weight, self.bias, 1e-6)
        return y.permute(0, 3, 1, 2)


def cell_centres(side: int) -> Tensor:
    """(x, y) in 0 to 1 of the cells of a grid, row by row, [side · side, 2]."""
    axis = (torch.arange(side, dtype=torch.float64) + 0.5) / side
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    return torch.stack([x, y], -1).flatten(0, 1)


class PromptEncoder(nn.Module):
    """Constant prompts; its mask and point branches are trained by nothing but belong to the trained set."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` is config.json's sam2_config."""
        super().__init__()
        width, inner = c["hidden_dim"], c["mask_in_chans"]
        self.pe_layer = _PositionEmbedding(width)
        self.point_embeddings = nn.ModuleList(nn.Embedding(1, width) for _ in range(4))
        self.not_a_point_embed, self.no_mask_embed = nn.Embedding(1, width), nn.Embedding(1, width)
        self.mask_downscaling = nn.Sequential(
            nn.Conv2d(1, inner // 4, 2, 2), _ChannelNorm(inner // 4), nn.GELU(),
            nn.Conv2d(inner // 4, inner, 2, 2), _ChannelNorm(inner), nn.GELU(), nn.Conv2d(inner, width, 1),
        )  # fmt: skip

    def codes(self, places: Tensor) -> Tensor:
        """Of places (x, y) in 0 to 1, [..., 2] to [..., C]."""
        matrix = self.get_buffer("pe_layer.positional_encoding_gaussian_matrix")
        z = 2 * math.pi * ((2 * places.to(matrix) - 1) @ matrix)
        return torch.cat([z.sin(), z.cos()], -1)

    def positions(self, side: int) -> Tensor:
        """Codes of the cells of a map, row by row, [side · side, C]."""
        return self.codes(cell_centres(side))

    def phrases(self, prompts: Tensor) -> Tensor:
        """Tokens [n, 3, C] of language prompts [n, C]: two that are no point, then the prompt."""
        return torch.cat([self.not_a_point_embed.weight.expand(len(prompts), 2, -1), prompts[:, None]], 1)

    def clicks(self, points: Tensor) -> Tensor:
        """Tokens [n, 2, C] of one click each at (x, y) in 0 to 1, [n, 2], without language."""
        weight: Any = self.point_embeddings[1].weight
        inside = self.codes(points) + weight
        return torch.stack([inside, self.not_a_point_embed.weight.expand(len(points), -1)], 1)


class _DecoderAttention(nn.Module):
    def __init__(self, width: int, inner: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, inner) for _ in range(3))
        self.out_proj = nn.Linear(inner, width)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        projected = (self.q_proj(q), self.k_proj(k), self.v_proj(v))
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in projected)
        out: Tensor = self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return out


class _TwoWayLayer(nn.Module):
    def __init__(self, c: dict[str, Any]) -> None:
        super().__init__()
        width, heads = c["hidden_dim"], c["decoder_num_heads"]
        self.self_attn = _DecoderAttention(width, width, heads)
        self.cross_attn_token_to_image = _DecoderAttention(width, width // 2, heads)
        self.cross_attn_image_to_token = _DecoderAttention(width, width // 2, heads)
        self.mlp = _Layers([width, c["decoder_mlp_dim"], width])
        self.norm1, self.norm2, self.norm3, self.norm4 = (nn.LayerNorm(width, 1e-5) for _ in range(4))

    def forward(self, q: Tensor, keys: Tensor, tokens: Tensor, position: Tensor, first: bool) -> tuple[Tensor, Tensor]:
        asked = q if first else q + tokens
        attended = self.self_attn(asked, asked, q)
        q = self.norm1(attended if first else q + attended)
        q = self.norm2(q + self.cross_attn_token_to_image(q + tokens, keys + position, keys))
        q = self.norm3(q + self.mlp(q))
        keys = self.norm4(keys + self.cross_attn_image_to_token(keys + position, q + tokens, q))
        return q, keys


class MaskDecoder(nn.Module):
    """Language prompts to four candidate masks and their predicted IoU."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` is config.json's sam2_config."""
        super().__init__()
        width = c["hidden_dim"]
        self.transformer = nn.ModuleDict(
            {
                "layers": nn.ModuleList(_TwoWayLayer(c) for _ in range(c["decoder_depth"])),
                "final_attn_token_to_image": _DecoderAttention(width, width // 2, c["decoder_num_heads"]),
                "norm_final_attn": nn.LayerNorm(width, 1e-5),
            }
        )
        self.iou_token, self.mask_tokens, self.obj_score_token = (nn.Embedding(n, width) for n in (1, 4, 1))
        self.output_upscaling = nn.Sequential(
            nn.ConvTranspose2d(width, width // 4, 2, 2), _ChannelNorm(width // 4), nn.GELU(),
            nn.ConvTranspose2d(width // 4, width // 8, 2, 2), nn.GELU(),
        )  # fmt: skip
        self.output_hypernetworks_mlps = nn.ModuleList(_Layers([width, width, width, width // 8]) for _ in range(4))
        inner = c["iou_head_hidden_dim"]
        self.iou_prediction_head = _Layers([width, inner, inner, 4])
        self.pred_obj_score_head = _Layers([width, width, width, 1])
        self.conv_s0, self.conv_s1 = nn.Conv2d(width, width // 8, 1), nn.Conv2d(width, width // 4, 1)


class Sam2Model(nn.Module):
    """What of SAM2 is used, under its published names."""

    def __init__(self, c: dict[str, Any]) -> None:
        """`c` is config.json's sam2_config."""
        super().__init__()
        self.image_encoder = ImageEncoder(c)
        self.sam_prompt_encoder = PromptEncoder(c)
        self.sam_mask_decoder = MaskDecoder(c)
        self.no_mem_embed = nn.Parameter(torch.zeros(1, 1, c["hidden_dim"]))

    def decode(self, levels: Levels, sparse: Tensor) -> Decoded:
        """Candidate masks of prompts' tokens [n, T, C] about one picture."""
        n, d, p = len(sparse), self.sam_mask_decoder, self.sam_prompt_encoder
        s0, s1 = d.conv_s0(levels[0]), d.conv_s1(levels[1])
        features = levels[2] + self.no_mem_embed.reshape(1, -1, 1, 1)
        side = features.shape[-1]
        fixed = torch.cat([d.obj_score_token.weight, d.iou_token.weight, d.mask_tokens.weight])
        tokens = torch.cat([fixed.expand(n, -1, -1), sparse], 1)
        source = (features + p.no_mask_embed.weight.reshape(1, -1, 1, 1)).expand(n, -1, -1, -1)
        position = p.positions(side).to(source.dtype)
        q, keys = tokens, source.flatten(2).transpose(1, 2)
        for at, layer in enumerate(d.transformer["layers"].children()):
            q, keys = layer(q, keys, tokens, position, at == 0)
        final = d.transformer["final_attn_token_to_image"](q + tokens, keys + position, keys)
        q = d.transformer["norm_final_attn"](q + final)
        up = list(d.output_upscaling)
        x = up[1](up[0](keys.transpose(1, 2).reshape(n, -1, side, side)) + s1)
        x = F.gelu(up[3](F.gelu(x)) + s0)
        factors = torch.stack([mlp(q[:, 2 + k]) for k, mlp in enumerate(d.output_hypernetworks_mlps)], 1)
        masks = torch.einsum("nkc,nchw->nkhw", factors, x)
        return Decoded(masks, d.iou_prediction_head(q[:, 1]).sigmoid())
