"""Pictures as input of the towers: bicubic resizing on bytes, and normalised pixels."""

import numpy as np
import torch
from PIL import Image

from .data import Rgb

Triple = tuple[float, float, float]

IMAGENET: tuple[Triple, Triple] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Means and deviations of the channels, from 0 to 1."""


def bicubic(pixels: Rgb, width: int, height: int) -> Rgb:
    """Bytes at another size, resized horizontally first; the order affects how intermediate bytes clamp."""
    wide = Image.fromarray(pixels).resize((width, len(pixels)), Image.Resampling.BICUBIC)
    return np.asarray(wide.resize((width, height), Image.Resampling.BICUBIC))


def normalise(pixels: Rgb, scale: tuple[Triple, Triple] = IMAGENET) -> torch.Tensor:
    """u8 [n, h, w, 3] to float [n, 3, h, w]."""
    values = pixels.astype(np.float64) / 255
    scaled = ((values - np.asarray(scale[0])) / np.asarray(scale[1])).astype(np.float32)
    return torch.from_numpy(np.ascontiguousarray(scaled.transpose(0, 3, 1, 2)))
