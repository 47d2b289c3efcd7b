"""Rotary frequencies, plain and rescaled for long sequences, written from the specification."""

import math

import torch


def frequencies(c, width, length):
    """Angle per position of each of the width / 2 pairs, and the factor of cos and sin."""
    k = torch.arange(0, width, 2, dtype=torch.float32) / width
    theta, scaling = c["rope_theta"], c.get("rope_scaling")
    if scaling is None:
        return 1 / theta**k, 1.0
    kind = scaling.get("rope_type") or scaling["type"]
    longest = c["max_position_embeddings"]
    if kind == "dynamic":
        if length > longest:
            theta = theta * (scaling["factor"] * length / longest - (scaling["factor"] - 1)) ** (width / (width - 2))
        return 1 / theta**k, 1.0
    if kind == "llama3":
        trained, low, high = (scaling[n] for n in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"))
        plain = 1 / theta**k
        mixed = ((trained * plain / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
        return plain * ((1 - mixed) / scaling["factor"] + mixed), 1.0
    if kind == "linear":
        return 1 / theta**k / scaling["factor"], 1.0
    trained = c["original_max_position_embeddings"]
    divisors = torch.tensor(scaling["long_factor" if length > trained else "short_factor"])
    growth, amplitude = longest / trained, 1.0
    if growth > 1:
        amplitude = 0.1 * math.log(growth) + 1
        if kind != "yarn":
            amplitude = math.sqrt(1 + math.log(growth) / math.log(trained))
    return 1 / (divisors * theta**k), amplitude
