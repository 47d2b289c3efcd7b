"""Region masks, [height, width] of 0 and 1: COCO's compressed run lengths, overlaps and nearest-pixel resizing."""

import math
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


def box_iou(a: Mask, b: Mask) -> float | None:
    """IoU of the bounding boxes; None if a mask is empty."""
    if not (a.any() and b.any()):
        return None
    first, second = (coco.toBbox(coco.encode(np.asfortranarray(mask)))[None] for mask in (a, b))
    return float(coco.iou(first, second, [0])[0, 0])


def centre_score(a: Mask, b: Mask) -> float | None:
    """1 minus the distance of the centres of mass over the diagonal; None if a mask is empty."""
    if not (a.any() and b.any()):
        return None
    first, second = (np.argwhere(mask).mean(0) for mask in (a, b))
    return 1 - _hypot(*abs(first - second)) / _hypot(*a.shape)


def _hypot(a: float, b: float) -> float:
    """Length of (a, b), both at least 0, as JavaScript's engine rounds it."""
    most = float(max(a, b)) or 1.0
    share = float(min(a, b)) / most
    return math.sqrt(1 + share * share) * most if max(a, b) else 0.0
