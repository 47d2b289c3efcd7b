"""Region masks, [height, width] of 0 and 1: COCO's compressed run lengths, overlaps and nearest-pixel resizing."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from pycocotools import mask as coco

Mask = npt.NDArray[np.uint8]
Rle = dict[str, Any]
"""COCO's compressed text `counts` and the `size` [height, width]."""


def encode_rle(mask: Mask) -> Rle:
    """Run lengths of a mask."""
    rle = coco.encode(np.asfortranarray(mask))
    return {"counts": rle["counts"].decode(), "size": list(mask.shape)}


def decode_rle(rle: Rle) -> Mask:
    """The mask of run lengths."""
    return np.ascontiguousarray(coco.decode(rle))


def overlap(a: Mask, b: Mask) -> tuple[int, int]:
    """Number of pixels in both masks and in either."""
    return int(np.logical_and(a, b).sum()), int(np.logical_or(a, b).sum())


def iou(a: Mask, b: Mask) -> float:
    """Intersection over union; 0 for two empty masks."""
    both, either = overlap(a, b)
    return both / either if either else 0.0


def nearest(mask: Mask, rows: int, cols: int) -> Mask:
    """PyTorch's "nearest" resize."""
    found: Mask = F.interpolate(torch.from_numpy(mask)[None, None], (rows, cols))[0, 0].numpy()
    return found


def region_cells(mask: Mask, grid: tuple[int, int], keep_tiny: bool) -> Mask:
    """
    Visual tokens [rows, cols] that a mask covers; with `keep_tiny` a mask that covers none gets the cell that holds
    most of it.
    """
    rows, cols = grid
    cells = nearest(mask, rows, cols)
    if keep_tiny and not cells.any() and mask.any():
        height, width = mask.shape
        ys, xs = np.nonzero(mask)
        places = (ys * rows // height) * cols + xs * cols // width
        cells.reshape(-1)[np.bincount(places, minlength=rows * cols).argmax()] = 1
    return cells
