"""Pictures as input of the towers: bicubic resizing on bytes, tiles and normalised pixels."""

import math
from typing import Any

import numpy as np
import torch
from PIL import Image

from .data import Rgb

_MEAN = (0.485, 0.456, 0.406)
_STD = (0.229, 0.224, 0.225)


def bicubic(pixels: Rgb, width: int, height: int) -> Rgb:
    """Bytes at another size, resized horizontally first; the order affects how intermediate bytes clamp."""
    wide = Image.fromarray(pixels).resize((width, len(pixels)), Image.Resampling.BICUBIC)
    return np.asarray(wide.resize((width, height), Image.Resampling.BICUBIC))


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


def normalise(pixels: Rgb) -> torch.Tensor:
    """u8 [n, h, w, 3] to float [n, 3, h, w]."""
    values = pixels.astype(np.float64) / 255
    scaled = ((values - np.asarray(_MEAN)) / np.asarray(_STD)).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))
