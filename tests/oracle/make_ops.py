"""python make_ops.py --seed S --out DIR: a golden folder of single operators and preprocessing with random odd sizes."""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

import model
import preprocess
import resize
import sam2


def interpolate(x, size, mode):
    return F.interpolate(x, size=size, mode=mode, align_corners=False)


def sine(channels, height, width):
    """Normalised sine embedding, y first: angles grow from 1 cell to 2 pi, sine and cosine take turns."""
    half = channels // 2
    power = 10000 ** (2 * (torch.arange(half) // 2) / half)

    def axis(count):
        angle = (torch.arange(1, count + 1) / (count + 1e-6) * 2 * math.pi)[:, None] / power
        return torch.stack([angle[:, 0::2].sin(), angle[:, 1::2].cos()], 2).flatten(1)

    y = axis(height)[:, None].expand(-1, width, -1)
    x = axis(width)[None].expand(height, -1, -1)
    return torch.cat([y, x], -1).permute(2, 0, 1)[None]


def operators(random, pick):
    def normal(*shape):
        return torch.randn(*shape, generator=random)

    out = {}
    a, b, c, d = (pick(1, 9) for _ in range(4))
    out["bicubic.in"] = x = normal(1, c, pick(2, 9), pick(2, 9))
    for h, w in ((pick(20, 33), 0), (pick(3, 30), pick(31, 50))):
        out[f"bicubic.out_{h}x{w}" if w else f"bicubic.out_{h}"] = interpolate(x, (h, w or h), "bicubic")
    out["bilinear.in"] = x = normal(1, d, a + 1, a + 1)
    side = pick(10, 40)
    out[f"bilinear.out_{side}"] = big = interpolate(x, (side, side), "bilinear")
    for h, w in ((pick(1, 30), pick(41, 60)), (pick(45, 90), pick(1, 20))):
        out[f"bilinear.out_{h}x{w}"] = interpolate(big, (h, w), "bilinear")
    out["nearest2x.in"] = x = normal(b, c, pick(1, 6), pick(1, 6))
    out["nearest2x.out"] = F.interpolate(x, scale_factor=2.0, mode="nearest")
    out["point_sample.in"] = x = normal(a, 1, pick(1, 9), pick(1, 9))
    out["point_sample.coords"] = points = torch.rand(a, pick(1, 50), 2, generator=random)
    grid = 2 * points[:, :, None] - 1
    out["point_sample.out"] = F.grid_sample(x, grid, align_corners=False)[..., 0]
    norm = {"weight": normal(c), "bias": normal(c)}
    out |= {f"layernorm2d.{k}": v for k, v in norm.items()}
    out["layernorm2d.in"] = x = normal(a, c, pick(1, 6), pick(1, 6))
    out["layernorm2d.out"] = sam2.norm_channels({f"n.{k}": v for k, v in norm.items()}, "n", x)
    out["convtranspose.in"], weight, bias = normal(a, c, pick(1, 6), pick(1, 6)), normal(c, d, 2, 2), normal(d)
    out["convtranspose.weight"], out["convtranspose.bias"] = weight, bias
    out["convtranspose.out"] = F.conv_transpose2d(out["convtranspose.in"], weight, bias, 2)
    for name, k, stride, pad in (("conv7s4p3", 7, 4, 3), ("patch14", 14, 14, 0)):
        x, weight, bias = normal(a, 3, stride * pick(1, 5), stride * pick(1, 5)), normal(b, 3, k, k) / k, normal(b)
        out |= {f"{name}.in": x, f"{name}.weight": weight, f"{name}.bias": bias}
        out[f"{name}.out"] = F.conv2d(x, weight, bias, stride, pad)
    out["maxpool2.in"] = x = normal(a, d, 2 * pick(1, 6), 2 * pick(1, 6))
    out["maxpool2.out"] = F.max_pool2d(x, 2)
    out["gelu.in"] = x = torch.cat([8 * normal(pick(50, 90)), torch.tensor([0.0, -30.0, 30.0])])
    out["gelu.out"], out["silu.out"] = F.gelu(x), F.silu(x)
    out["rmsnorm.in"], out["rmsnorm.weight"] = normal(a, b + 1), normal(b + 1)
    out["rmsnorm.out"] = model.rms_norm(out["rmsnorm.weight"], out["rmsnorm.in"], 1e-6)
    side = 2 * pick(1, 5)
    out["pixel_shuffle.in"] = x = normal(a, side, side, c)
    for version in ("v1", "v2"):
        out[f"pixel_shuffle.{version}"] = model.pixel_shuffle(x.flatten(1, 2), version)
    h, w, channels = pick(1, 7), pick(1, 9), 4 * pick(1, 5)
    out[f"sine_pe.out_{h}x{w}"] = sine(channels, h, w)
    out["fourier_pe.matrix"] = matrix = normal(2, pick(2, 9))
    axes = torch.meshgrid((torch.arange(h) + 0.5) / h, (torch.arange(w) + 0.5) / w, indexing="ij")
    z = 2 * math.pi * ((2 * torch.stack(axes[::-1], -1) - 1) @ matrix)
    out[f"fourier_pe.out_{h}x{w}"] = torch.cat([z.sin(), z.cos()], -1).permute(2, 0, 1)
    groups, shared, length, size = pick(1, 4), pick(1, 4), pick(1, 12), 2 * pick(1, 8)
    start = pick(0, 40)
    out["rope.positions"] = torch.arange(start, start + length, dtype=torch.int32)
    q, k, v = normal(1, groups * shared, length, size), normal(1, groups, length, size), normal(1, groups, length, size)
    out |= {"rope.q": q, "rope.k": k, "rope.v": v}

    def rotated(x):
        padded = torch.cat([torch.zeros(x.shape[1], start, size), x[0]], 1)
        return model.rotate(padded, {"rope_theta": 1e6}, x.shape[-1])[None, :, start:]

    out["rope.q_out"], out["rope.k_out"] = q, k = rotated(q), rotated(k)
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    future = torch.ones(length, length, dtype=torch.bool).triu(1)
    out["gqa.out"] = model.softmax_attention(q, k, v, future)
    return {name: t.contiguous().clone() for name, t in out.items()}


def main(seed, out):
    out.mkdir(parents=True, exist_ok=True)
    numbers = np.random.default_rng(seed)

    def pick(low, high):
        return int(numbers.integers(low, high))

    save_file(operators(torch.Generator().manual_seed(seed), pick), out / "ops.safetensors")

    sizes = [(1, 1, 7, 5), (1, 40, 13, 1), (60, 3, 1, 9), (33, 1, 33, 20), (5, 90, 8, 90), (120, 7, 11, 7), (9, 9, 9, 9)]
    sizes += [tuple(pick(1, 130) for _ in range(4)) for _ in range(8)]
    arrays = {}
    for i, (h, w, to_h, to_w) in enumerate(sizes):
        source = numbers.integers(0, 256, (h, w, 3), dtype=np.uint8)
        if i % 3 == 0:
            source = np.where(source > 127, 255, 0).astype(np.uint8)
        arrays[f"resize.{i}.in"] = torch.from_numpy(source.copy())
        arrays[f"resize.{i}.out"] = torch.from_numpy(np.array(resize.bicubic(source, to_w, to_h), order="C"))
    save_file(arrays, out / "pil_bicubic.safetensors")

    rows = []
    for _ in range(400):
        w, h, low, high = pick(1, 3000), pick(1, 3000), pick(1, 3), pick(3, 17)
        if pick(0, 3) == 0:
            # An exact ratio, for which the tie rule decides.
            w, h = 32 * pick(1, 12) * pick(1, 8), 32 * pick(1, 12) * pick(1, 8)
        cols, lines = preprocess.choose_grid(w, h, low, high, 448)
        tiles = cols * lines
        rows.append([w, h, low, high, cols, lines, tiles + (tiles > 1)])
    columns = "width height min_patches max_patches cols rows tiles_with_thumbnail".split()
    (out / "tiling.json").write_text(json.dumps({"columns": columns, "tile_size": 448, "rows": rows}))

    entries, grids = [], {}
    for i in range(10):
        h, w, side = pick(1, 200), pick(1, 200), 16
        mask = numbers.random((h, w)) < numbers.random() if i % 2 else np.zeros((h, w), dtype=bool)
        if i % 2 == 0:
            mask[pick(0, h) :, pick(0, w) :] = True
        grid = preprocess.nearest(mask, side, side)
        grids[f"grid.{i}"] = grid
        entries.append(preprocess.rle_encode(mask) | {"area": int(mask.sum()), "tokens": int(grid.sum())})
    (out / "region_masks.json").write_text(json.dumps(entries))
    save_file(grids, out / "region_grid.safetensors")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    main(given.seed, given.out)
