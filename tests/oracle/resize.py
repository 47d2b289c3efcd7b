"""
Bicubic resizing with antialiasing on bytes: horizontal pass, bytes again, vertical pass, in whole numbers.

Implemented here because the order of the passes matters: bytes are clamped in between, and newer releases of Pillow
take the vertical pass first for some shapes.
"""

import math

import numpy as np

BITS = 22


def kernel(t, a=-0.5):
    t = abs(t)
    if t < 1:
        return ((a + 2) * t - (a + 3)) * t * t + 1
    return (((t - 5) * t + 8) * t - 4) * a if t < 2 else 0.0


def weights(size, out):
    """Integer weights [out, size]."""
    scale = size / out
    spread = max(scale, 1.0)
    table = np.zeros((out, size), dtype=np.int64)
    for x in range(out):
        centre = (x + 0.5) * scale
        first = max(math.trunc(centre - 2 * spread + 0.5), 0)
        last = min(math.trunc(centre + 2 * spread + 0.5), size)
        taps = [kernel((i - centre + 0.5) / spread) for i in range(first, last)]
        total = sum(taps)
        for i, tap in zip(range(first, last), taps):
            scaled = tap / total * (1 << BITS)
            table[x, i] = math.trunc(scaled + (0.5 if scaled >= 0 else -0.5))
    return table


def along(pixels, out):
    """Resizes the first axis of [size, ...] bytes."""
    if len(pixels) == out:
        return pixels
    sums = np.tensordot(weights(len(pixels), out), pixels.astype(np.int64), 1)
    return ((sums + (1 << (BITS - 1))) >> BITS).clip(0, 255).astype(np.uint8)


def bicubic(pixels, width, height):
    """Bytes [h, w, C] at another size."""
    wide = along(np.asarray(pixels).transpose(1, 0, 2), width).transpose(1, 0, 2)
    return along(wide, height)
