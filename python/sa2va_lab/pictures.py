"""Pictures as input of the towers: bicubic resizing on bytes, normalised pixels, and regions drawn into a picture."""

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

from .data import Rgb
from .masks import Mask

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


def marked(rgb: Rgb, mask: Mask, form: str) -> Rgb:
    """The picture with a region outlined in red, on both sides of its edge, or with everything else dimmed ("dim")."""
    if form == "dim":
        dimmed = np.floor(rgb * 0.35 + 0.5).astype(np.uint8)
        return np.where(mask[..., None] != 0, rgb, dimmed)
    reach = max(1, int(min(mask.shape) / 240 + 0.5))
    inside = torch.from_numpy(mask != 0).float()[None]
    # Beyond the picture there is neither inside nor outside.
    grown, emptied = (F.max_pool2d(own, 2 * reach + 1, 1, reach)[0].numpy() > 0 for own in (inside, 1 - inside))
    return np.where((grown & emptied)[..., None], np.array([255, 0, 0], np.uint8), rgb)
