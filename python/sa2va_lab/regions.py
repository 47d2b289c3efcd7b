"""The extra `regions`: regions that are drawn into the picture, not shown by copies of their tokens."""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .data import Rgb, Row
from .masks import Mask
from .play import Context


def drawn(context: Context, row: Row, mask: Mask) -> Tensor:
    """The vision tower's tokens of a row's picture with a region drawn into it."""
    s = context.settings
    picture = marked(row.rgb, mask, context.actor.region_form)
    pixels = context.model.family.pixels(picture, s.max_tiles, s.resize_twice)
    features = replace(context.features[row.image_id], vision=context.model.see(pixels), levels=[])
    # The row's own region is stored, those that are found are not.
    if np.array_equal(mask, row.mask):
        features = context.stored(features)
        context.note(features)
    return features.vision


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
