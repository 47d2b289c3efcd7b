"""
python make_mask_logp.py --out FILE: the mask's log-probability of the policy "sampled answer" and its gradient, by torch.

The logits follow a formula, so that the file holds results only: a·sin(0.37x + n) + b·cos(0.23y(n + 1)) + c·sin(0.011xy).
"""

import argparse
import json
from pathlib import Path

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, interpolate

SIDE = 32


def waves(rows, height, width, a, b, c):
    n, y, x = torch.meshgrid(*[torch.arange(size, dtype=torch.float64) for size in (rows, height, width)], indexing="ij")
    return a * torch.sin(0.37 * x + n) + b * torch.cos(0.23 * y * (n + 1)) + c * torch.sin(0.011 * x * y)


def grid(logits):
    rows, height, width = logits.shape
    if height % SIDE == 0 and width % SIDE == 0:
        return logits.reshape(rows, SIDE, height // SIDE, SIDE, width // SIDE).mean((2, 4))
    return interpolate(logits[:, None], (SIDE, SIDE), mode="bilinear", align_corners=False)[:, 0]


def case(height, width, sampled, forward):
    target = (grid(waves(3, height, width, *sampled)) > 0).double()
    logits = waves(3, height, width, *forward).requires_grad_()
    losses = binary_cross_entropy_with_logits(grid(logits), target, reduction="none").mean((1, 2))
    weights = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    (-losses * weights).sum().backward()
    places = [(0, 0, 0), (1, height // 2, width // 3), (2, height - 1, width - 1)]
    return {
        "height": height,
        "width": width,
        "sampled": sampled,
        "forward": forward,
        "logps": (-losses).tolist(),
        "inside": target.mean((1, 2)).tolist(),
        "gradient": {
            "weights": weights.tolist(),
            "norm": logits.grad.norm().item(),
            "at": [[*place, logits.grad[place].item()] for place in places],
        },
    }


parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
cases = [
    case(64, 64, [2, 1, 1], [2, 1, 1]),
    case(64, 64, [2, 1, 1], [1, -3, 0.5]),
    case(32, 32, [5, 4, 0], [4, 5, 1]),
    case(96, 64, [1, 6, 2], [1, 5, 2.5]),
    case(48, 40, [3, 3, 1], [2, 3, 2]),
    case(64, 64, [20, 30, 10], [-20, -30, 10]),
]
Path(parser.parse_args().out).write_text(json.dumps(cases, indent=1) + "\n")
