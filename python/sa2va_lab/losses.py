"""
The extra `losses`: less common losses, masks of actions, and advantages of terms that are normalised one by one (GDPO).
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .loss import Effect, LossInputs, LossSettings, Ratios, RewardGroup, spread_of
from .reading import Grid, as_array
from .rewards import Reward
from .settings import Settings
from .step_metrics import Metrics, Played

PRESETS: dict[str, tuple[str, str, str]] = {
    "cispo": ("cispo", "window-token-mean", "token"),
    "sapo": ("sapo", "row-mean", "token"),
    "luspo": ("clip", "row-sum", "sequence"),
    "vespo": ("vespo", "window-token-mean", "token"),
}
"""Objective, aggregation and level of the ratio."""


def objective(kind: str, a: Tensor, found: Ratios, s: Settings) -> Tensor:
    """Loss of each action, [N, T] or [N, 1], for advantages [N, 1]."""
    if kind == "cispo":
        return -found.ratio.detach().clamp(0, s.epsilon_high) * a * found.logps
    if kind == "sapo":
        k = torch.where(a > 0, s.sapo_temperature_pos, s.sapo_temperature_neg)
        return -(4 / k) * torch.sigmoid(k * (found.ratio - 1)) * a
    return -vespo_weight(found.gap.detach(), a, s) * a * found.logps


def weight_of(found: Ratios, a: Tensor, settings: LossSettings) -> Grid | None:
    """Weight of each row [N, 1]; None for other losses than vespo."""
    return as_array(vespo_weight(found.gap, a, settings.settings)) if settings.preset[0] == "vespo" else None


def vespo_weight(token_ratio: Tensor, advantages: Tensor, s: Settings) -> Tensor:
    """φ of the row's summed log-ratio, [N, 1]."""
    good = advantages >= 0
    k = torch.where(good, s.vespo_k_pos, s.vespo_k_neg)
    rate = torch.where(good, max(1e-4, s.vespo_lambda_pos), max(1e-4, s.vespo_lambda_neg))
    summed = token_ratio.clamp(-20, 20).sum(1, keepdim=True).clamp(math.log(1e-8), 20)
    phi = (rate + k * summed - rate * summed.exp()).exp()
    return torch.where(phi.isfinite(), phi, 0.0)


def top_entropy(entropies: Tensor, mask: Tensor, share: float) -> Tensor:
    """1 for the active actions whose entropy reaches the (1 − share) quantile."""
    active = mask > 0.5
    if share >= 1 or not active.any():
        return mask
    threshold = torch.quantile(entropies.detach()[active].float(), 1 - share)
    return (active & (entropies.detach() >= threshold - threshold.abs() * 1e-6)).to(mask.dtype)


def kept_actions(inputs: LossInputs, found: Ratios, s: Settings) -> tuple[Tensor, Tensor]:
    """1 for the actions [N, T] with an entropy bonus, and for those with a policy term."""
    mask = inputs.mask
    kept = top_entropy(inputs.entropies, mask, s.top_entropy_quantile)
    keep = kept if s.top_entropy_quantile < 1 else torch.ones_like(mask)
    if s.off_policy_mask_threshold > 0:
        drift = -(found.gap.detach() * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp_min(1)
        left = (inputs.advantages[:, None] < 0) & (drift > s.off_policy_mask_threshold)
        keep = keep * (~left).to(mask.dtype)
    return kept, keep


def metrics(played: Played, effect: Effect, settings: LossSettings, share: Callable[[Grid], float]) -> Metrics:
    """What the losses with a weight of their own log; `share` is that of flagged actions."""
    out: Metrics = {}
    if settings.preset[0] == "cispo":
        good = np.asarray(played.advantages)[:, None] > 0
        out["cispo_clip_ratio"] = share((good & (effect.ratio > settings.settings.epsilon_high)).astype(np.float64))
    if effect.weight is not None:
        out["vespo/phi_seq_mean"] = float(effect.weight.mean())
    return out


def normalised_sums(group: RewardGroup, s: Settings) -> list[Reward]:
    """Sums of a group's weighted terms, each normalised in the group first."""
    eps = s.advantage_eps
    columns: list[list[Reward]] = []
    for weight, values in group.parts:
        own = spread_of(values, group.weights)
        flat = own.zero or own.std + eps <= 0
        columns.append(
            [None if v is None else 0.0 if flat else weight * (v - own.mean) / (own.std + eps) for v in values]
        )
    sums: list[Reward] = []
    for n, reward in enumerate(group.rewards):
        parts = [column[n] for column in columns]
        present = [part for part in parts if part is not None]
        sums.append(None if reward is None or not present else sum(present))
    return sums
