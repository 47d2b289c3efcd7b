"""Region masks, [height, width] of 0 and 1: COCO's compressed run lengths, overlaps and nearest-pixel resizing."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pycocotools import mask as coco

Mask = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Rle:
    """A mask as COCO's compressed text."""

    counts: str
    size: tuple[int, int]


def encode_rle(mask: Mask) -> Rle:
    """Run lengths of a mask."""
    counts: bytes = coco.encode(np.asfortranarray(mask))["counts"]
    return Rle(counts.decode(), (mask.shape[0], mask.shape[1]))


def decode_rle(rle: Rle) -> Mask:
    """The mask of run lengths."""
    return np.ascontiguousarray(coco.decode({"counts": rle.counts.encode(), "size": list(rle.size)}))


def overlap(a: Mask, b: Mask) -> tuple[int, int]:
    """Pixels in both and in either."""
    return int(np.logical_and(a, b).sum()), int(np.logical_or(a, b).sum())


def iou(a: Mask, b: Mask) -> float:
    """Intersection over union; 0 for two empty masks."""
    both, either = overlap(a, b)
    return both / either if either else 0.0


def nearest(mask: Mask, rows: int, cols: int) -> Mask:
    """PyTorch's "nearest" resize, its step in single precision."""

    def sources(size: int, out: int) -> npt.NDArray[np.int64]:
        step = np.float32(size / out)
        places = np.floor(np.arange(out, dtype=np.float32) * step).astype(np.int64)
        return np.asarray(np.minimum(places, size - 1))

    return mask[np.ix_(sources(mask.shape[0], rows), sources(mask.shape[1], cols))]


def region_cells(mask: Mask, side: int, keep_tiny: bool) -> Mask:
    """Visual tokens [side, side] that a mask covers; with `keep_tiny` a mask that hits none takes its fullest cell."""
    cells = nearest(mask, side, side).copy()
    if keep_tiny and not cells.any() and mask.any():
        height, width = mask.shape
        ys, xs = np.nonzero(mask)
        places = (ys * side // height) * side + xs * side // width
        cells.reshape(-1)[np.bincount(places, minlength=side * side).argmax()] = 1
    return cells


def box_iou(a: Mask, b: Mask) -> float | None:
    """Overlap of the bounding boxes; None when a mask is empty."""
    boxes = []
    for mask in (a, b):
        ys, xs = np.nonzero(mask)
        if len(ys) == 0:
            return None
        boxes.append((int(xs.min()), int(ys.min()), int(xs.max()) + 1, int(ys.max()) + 1))
    (ax, ay, ar, ab), (bx, by, br, bb) = boxes
    both = max(0, min(ar, br) - max(ax, bx)) * max(0, min(ab, bb) - max(ay, by))
    return both / ((ar - ax) * (ab - ay) + (br - bx) * (bb - by) - both)


def centre_score(a: Mask, b: Mask) -> float | None:
    """1 minus the distance of the centres of mass over the diagonal; None when a mask is empty."""
    centres = []
    for mask in (a, b):
        ys, xs = np.nonzero(mask)
        if len(ys) == 0:
            return None
        centres.append((float(xs.sum()) / len(xs), float(ys.sum()) / len(ys)))
    (ax, ay), (bx, by) = centres
    return 1 - math.hypot(ax - bx, ay - by) / math.hypot(*a.shape)
