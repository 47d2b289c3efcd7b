"""Pictures as the towers see them: bicubic resizing on bytes, tiles and normalised pixels."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .data import Rgb

_BITS = 22
_MEAN = (0.485, 0.456, 0.406)
_STD = (0.229, 0.224, 0.225)


def _cubic(offset: float) -> float:
    t, a = abs(offset), -0.5
    if t < 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return (((t - 5) * t + 8) * t - 4) * a if t < 2 else 0.0


@lru_cache(maxsize=64)
def _taps(size: int, out: int) -> npt.NDArray[np.int64]:
    """Fixed-point weights [out, size]."""
    scale = size / out
    stretch = max(scale, 1.0)
    table = np.zeros((out, size), dtype=np.int64)
    for x in range(out):
        centre = (x + 0.5) * scale
        low = max(math.trunc(centre - 2 * stretch + 0.5), 0)
        high = min(math.trunc(centre + 2 * stretch + 0.5), size)
        taps = [_cubic((i - centre + 0.5) / stretch) for i in range(low, high)]
        total = sum(taps)
        for i, tap in zip(range(low, high), taps, strict=True):
            share = (tap / total if total else tap) * (1 << _BITS)
            table[x, i] = math.trunc(share - 0.5 if share < 0 else share + 0.5)
    return table


def _along(pixels: Rgb, out: int) -> Rgb:
    """Resizes the first axis."""
    if len(pixels) == out:
        return pixels
    sums = np.tensordot(_taps(len(pixels), out), pixels.astype(np.int64), 1)
    return ((sums + (1 << (_BITS - 1))) >> _BITS).clip(0, 255).astype(np.uint8)


def bicubic(pixels: Rgb, width: int, height: int) -> Rgb:
    """Bytes at another size, the horizontal pass first: what bytes clamp in between depends on the order."""
    wide = _along(pixels.transpose(1, 0, 2), width).transpose(1, 0, 2)
    return _along(wide, height)


def choose_grid(width: int, height: int, low: int, high: int, tile: int) -> tuple[int, int]:
    """Columns and rows whose ratio is nearest to the picture's; a tie goes to the larger grid where pixels allow it."""
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


def normalise(pixels: Rgb) -> torch.Tensor:
    """u8 [n, h, w, 3] to float [n, 3, h, w]."""
    values = pixels.astype(np.float64) / 255
    scaled = ((values - np.asarray(_MEAN)) / np.asarray(_STD)).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))
