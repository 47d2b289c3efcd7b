"""The policy loss of GRPO and its relatives, advantages in double precision, and the parts that metrics show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .errors import LabError
from .rewards import Reward
from .settings import Settings

_PRESETS: dict[str, tuple[str, str, str]] = {
    "grpo": ("clip", "row-mean", "token"),
    "bnpo": ("clip", "micro-token-mean", "token"),
    "dr_grpo": ("clip", "constant-length", "token"),
    "dapo": ("clip", "window-token-mean", "token"),
    "cispo": ("cispo", "window-token-mean", "token"),
    "sapo": ("sapo", "row-mean", "token"),
    "luspo": ("clip", "row-sum", "sequence"),
    "vespo": ("vespo", "window-token-mean", "token"),
    "notes": ("clip", "row-mean", "token"),
}


@dataclass(frozen=True)
class LossSettings:
    """A published loss name with the run's numbers and the sizes of this update."""

    settings: Settings
    groups: int
    """Groups of the loop in this update, over all processes."""
    active: float
    """Counted actions of all of them."""
    longest: int
    """Most actions that a rollout can have."""
    entropy: float = 0.0
    """Weight of the entropy bonus."""

    @property
    def notes(self) -> bool:
        """Whether the loss is that of the design notes."""
        return bool(self.settings.objective == "notes")

    @property
    def preset(self) -> tuple[str, str, str]:
        """Objective, aggregation and level of the ratio."""
        objective, aggregation, level = _PRESETS["notes" if self.notes else self.settings.lossType]
        return objective, aggregation, "sequence" if self.settings.importanceLevel == "sequence" else level

    @property
    def bound(self) -> float:
        """Largest log-ratio."""
        return math.inf if self.notes else 20.0

    @property
    def estimator(self) -> str:
        """Of the KL to the reference."""
        return "notes" if self.notes else self.settings.klEstimator

    @property
    def clamp(self) -> tuple[float, float]:
        """Bounds of the KL's difference and value."""
        return (20.0, 10.0) if self.settings.klClamp and not self.notes else (math.inf, math.inf)


@dataclass(frozen=True)
class LossInputs:
    """One group's actions, [N, T] each but the advantages and row weights [N]."""

    logps: Tensor
    entropies: Tensor
    old: Tensor | None
    reference: Tensor | None
    mask: Tensor
    advantages: Tensor
    weights: Tensor | None


@dataclass(frozen=True)
class LossParts:
    """The loss and what it is made of."""

    loss: Tensor
    policy: Tensor
    kl_penalty: Tensor


def kl_term(gap: Tensor, settings: LossSettings) -> Tensor:
    """Estimate of KL from the log-ratio to the reference."""
    kind, (difference, largest) = settings.estimator, settings.clamp
    if kind == "k1":
        return gap
    if kind == "notes":
        return -gap
    if kind == "abs":
        return gap.abs()
    if kind == "k2":
        return gap.square() / 2
    q = (-gap).clamp(-difference, difference)
    k3 = (torch.expm1(q) - q).clamp(max=largest)
    if kind == "k3":
        return k3
    half = gap.square() / 2
    return k3.detach() + half - half.detach()


def _objective(inputs: LossInputs, logps: Tensor, ratio: Tensor, token_ratio: Tensor, settings: LossSettings) -> Tensor:
    s, kind, a = settings.settings, settings.preset[0], inputs.advantages[:, None]
    if kind == "clip":
        capped = ratio.clamp(max=s.delta) if s.delta > 0 else ratio
        return -torch.minimum(capped * a, ratio.clamp(1 - s.epsilonLow, 1 + s.epsilonHigh) * a)
    if kind == "cispo":
        return -ratio.detach().clamp(0, s.epsilonHigh) * a * logps
    if kind == "sapo":
        k = torch.where(a > 0, s.sapoTemperaturePositive, s.sapoTemperatureNegative)
        return -(4 / k) * torch.sigmoid(k * (ratio - 1)) * a
    return -vespo_weight(token_ratio.detach() * inputs.mask, a, s) * a * logps


def vespo_weight(token_ratio: Tensor, advantages: Tensor, s: Settings) -> Tensor:
    """φ of the row's summed log-ratio, [N, 1]."""
    good = advantages >= 0
    k = torch.where(good, s.vespoKPositive, s.vespoKNegative)
    rate = torch.where(good, max(1e-4, s.vespoLambdaPositive), max(1e-4, s.vespoLambdaNegative))
    summed = token_ratio.clamp(-20, 20).sum(1, keepdim=True).clamp(math.log(1e-8), 20)
    phi = (rate + k * summed - rate * summed.exp()).exp()
    return torch.where(phi.isfinite(), phi, 0.0)


def _aggregation(mask: Tensor, settings: LossSettings) -> Tensor:
    """How much each action's loss counts, [N, T]."""
    rows, share = len(mask), 1 / settings.groups
    lengths = mask.sum(1, keepdim=True).clamp_min(1)
    kind = settings.preset[1]
    if kind == "row-mean":
        return mask / lengths * (share / rows)
    if kind == "row-sum":
        return mask * (share / rows)
    if kind == "micro-token-mean":
        return mask / mask.sum().clamp_min(1) * share
    if kind == "window-token-mean":
        return mask / max(1.0, settings.active)
    return mask * (share / (rows * settings.longest))


def top_entropy(entropies: Tensor, mask: Tensor, share: float) -> Tensor:
    """1 for the active actions whose entropy reaches the (1 − share) quantile."""
    active = mask > 0.5
    if share >= 1 or not active.any():
        return mask
    threshold = torch.quantile(entropies.detach()[active].float(), 1 - share)
    return (active & (entropies.detach() >= threshold - threshold.abs() * 1e-6)).to(mask.dtype)


def policy_loss(inputs: LossInputs, settings: LossSettings) -> LossParts:
    """Loss of one group; its gradient flows into the log-probabilities and entropies."""
    s, mask = settings.settings, inputs.mask
    level, lengths = settings.preset[2], mask.sum(1, keepdim=True).clamp_min(1)
    seen = mask > 0.5
    logps = torch.where(seen, inputs.logps, 0.0)
    old = logps.detach() if inputs.old is None else torch.where(seen, inputs.old, 0.0)
    token_ratio = logps - old
    raw = token_ratio if level == "token" else (token_ratio * mask).sum(1, keepdim=True) / lengths
    ratio = raw.clamp(-settings.bound, settings.bound).exp()
    term = _objective(inputs, logps, ratio, token_ratio, settings)
    kept = top_entropy(inputs.entropies, mask, s.topEntropyQuantile)
    keep = kept if s.topEntropyQuantile < 1 else torch.ones_like(mask)
    if s.offPolicyThreshold > 0:
        drift = -(token_ratio.detach() * mask).sum(1, keepdim=True) / lengths
        left = (inputs.advantages[:, None] < 0) & (drift > s.offPolicyThreshold)
        keep = keep * (~left).to(mask.dtype)
    weights = _aggregation(mask, settings)
    if inputs.weights is not None:
        weights = weights * inputs.weights[:, None]
    policy = (weights * (term * keep)).sum()
    penalty = policy.new_zeros(())
    if inputs.reference is not None:
        kl = kl_term(logps - torch.where(seen, inputs.reference, 0.0), settings)
        penalty = s.beta * (weights * (kl * ratio if s.biasCorrectedKl else kl)).sum()
    loss = policy + penalty
    if settings.entropy != 0:
        share = kept / kept.sum().clamp_min(1) * (settings.entropy / settings.groups)
        loss = loss - (share * torch.where(seen, inputs.entropies, 0.0)).sum()
    return LossParts(loss, policy, penalty)


@dataclass(frozen=True)
class Spread:
    """Mean and deviation of the rewards that are present."""

    mean: float
    std: float
    present: int
    zero: bool


def spread_of(rewards: Sequence[Reward], weights: Sequence[float] | None = None) -> Spread:
    """Unbiased deviation, of a whole action set the exact one; the mean of equal numbers is exactly that number."""
    present = [(r, 1.0 if weights is None else weights[at]) for at, r in enumerate(rewards) if r is not None]
    if not present:
        return Spread(math.nan, 0.0, 0, True)
    first, total = present[0][0], sum(weight for _, weight in present)
    if total <= 0 or all(reward == first for reward, _ in present):
        return Spread(first, 0.0, len(present), True)
    mean = first + sum(weight * (reward - first) for reward, weight in present) / total
    squares = sum(weight * (reward - mean) ** 2 for reward, weight in present)
    return Spread(mean, math.sqrt(squares / (len(present) - 1 if weights is None else total)), len(present), False)


@dataclass(frozen=True)
class RewardGroup:
    """The rewards of one prompt's rollouts."""

    rewards: list[Reward]
    weights: list[float] | None
    parts: list[tuple[float, list[Reward]]]
    """Weighted terms: weight and values."""

    @property
    def spread(self) -> Spread:
        """Of the rewards."""
        return spread_of(self.rewards, self.weights)


@dataclass(frozen=True)
class GroupScores:
    """A group's spread and the advantages of its rows."""

    spread: Spread
    advantages: list[float]


def _normalised(group: RewardGroup, eps: float) -> list[Reward]:
    """Weighted sum of the parts, each normalised inside the group."""
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


def group_scores(groups: list[RewardGroup], s: Settings) -> list[GroupScores]:
    """Advantages of all groups of one loop in a step. Raises LabError for a reward that is not finite."""
    if any(reward is not None and not math.isfinite(reward) for group in groups for reward in group.rewards):
        raise LabError("A reward is not finite; no advantage was computed")
    apart = s.rewardAggregation == "normalize_then_sum"
    rows = [_normalised(group, s.advantageEps) if apart else group.rewards for group in groups]
    shares: list[float] | None = None
    if any(group.weights is not None for group in groups):
        shares = []
        for group, own in zip(groups, rows, strict=True):
            weights = group.weights or [1.0] * len(own)
            total = sum(weight for weight, reward in zip(weights, own, strict=True) if reward is not None)
            shares += [weight / total if total > 0 else 0.0 for weight in weights]
    batch = spread_of([reward for own in rows for reward in own], shares)
    found = []
    for group, own in zip(groups, rows, strict=True):
        spread = spread_of(own, group.weights)
        centre = batch.mean if apart else spread.mean
        std = batch.std if apart or s.scaleRewards == "batch" else spread.std
        divisor = 1.0 if not apart and s.scaleRewards == "none" else std + s.advantageEps
        others = not apart and s.advantageBaseline == "leave-one-out" and group.weights is None
        factor = spread.present / (spread.present - 1) if others and spread.present > 1 else 1.0
        silent = spread.present < 2 or spread.zero or not divisor > 0
        values = [0.0 if r is None or silent else (r - centre) * factor / divisor for r in own]
        found.append(GroupScores(group.spread, values))
    return found


def as_array(values: Tensor) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    """Values on the host in double precision."""
    return values.detach().double().cpu().numpy()
