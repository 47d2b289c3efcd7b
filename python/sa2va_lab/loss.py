"""The policy loss of GRPO and its variants, advantages in double precision, and the values for metrics."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from .errors import LabError
from .extras import part_for, part_of
from .reading import Grid, as_array
from .rewards import Reward
from .settings import Settings

_PRESETS: dict[str, tuple[str, str, str]] = {
    "grpo": ("clip", "row-mean", "token"),
    "bnpo": ("clip", "micro-token-mean", "token"),
    "dr_grpo": ("clip", "constant-length", "token"),
    "dapo": ("clip", "window-token-mean", "token"),
    "notes": ("clip", "row-mean", "token"),
}


@dataclass(frozen=True)
class LossSettings:
    """A published loss name with the run's settings and the sizes of this update."""

    settings: Settings
    groups: int
    """Groups of the loop in this update, over all processes."""
    active: float
    """Counted actions of all these groups."""
    longest: int
    """Maximum actions of a rollout."""
    entropy: float = 0.0
    """Weight of the entropy bonus."""

    @property
    def notes(self) -> bool:
        """Whether the loss is that of the design notes."""
        return bool(self.settings.objective == "notes")

    @property
    def part(self) -> Any:
        """The part that has the loss; None for one of the core."""
        return None if self.notes else part_of("lossType", self.settings.loss_type)

    @property
    def preset(self) -> tuple[str, str, str]:
        """Objective, aggregation and level of the ratio."""
        presets = _PRESETS if self.part is None else self.part.PRESETS
        objective, aggregation, level = presets["notes" if self.notes else self.settings.loss_type]
        return objective, aggregation, "sequence" if self.settings.importance_sampling_level == "sequence" else level


@dataclass(frozen=True)
class LossInputs:
    """One group's actions, [N, T] each; advantages and row weights [N]."""

    logps: Tensor
    entropies: Tensor
    old: Tensor | None
    reference: Tensor | None
    mask: Tensor
    advantages: Tensor
    weights: Tensor | None


def kl_term(gap: Tensor, settings: LossSettings) -> tuple[Tensor, Tensor]:
    """Estimate of KL from the log-ratio to the reference, and where one of its bounds took effect."""
    kind = "notes" if settings.notes else settings.settings.kl_estimator
    if kind != "k3":
        return {"k1": gap, "notes": -gap, "k2": gap.square() / 2}[kind], torch.zeros_like(gap)
    difference, largest = (20.0, 10.0) if settings.settings.kl_clamp else (math.inf, math.inf)
    q = (-gap).clamp(-difference, difference)
    free = torch.expm1(q) - q
    return free.clamp(max=largest), (q != -gap) | (free > largest)


@dataclass(frozen=True)
class Ratios:
    """
    Log-probabilities of counted actions, [N, T], and their log-ratios to the old ones.

    `ratio` is [N, 1] where the loss has one for a row; `kl` is None without a reference.
    """

    logps: Tensor
    gap: Tensor
    ratio: Tensor
    kl: Tensor | None
    clamped: Tensor


def ratios_of(inputs: LossInputs, settings: LossSettings) -> Ratios:
    """Values that the loss and its metrics share."""
    mask, seen = inputs.mask, inputs.mask > 0.5
    logps = torch.where(seen, inputs.logps, 0.0)
    gap = logps - (logps.detach() if inputs.old is None else torch.where(seen, inputs.old, 0.0))
    raw = gap
    if settings.preset[2] == "sequence":
        raw = (gap * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp_min(1)
    ratio = (raw if settings.notes else raw.clamp(-20, 20)).exp()
    if inputs.reference is None:
        return Ratios(logps, gap, ratio, None, torch.zeros_like(gap))
    kl, clamped = kl_term(logps - torch.where(seen, inputs.reference, 0.0), settings)
    return Ratios(logps, gap, ratio, kl * ratio if settings.settings.use_bias_correction_kl else kl, clamped)


@dataclass(frozen=True)
class Effect:
    """Effect of a loss on each action, [N, T]; masked ones hold 1, 0 and 0."""

    ratio: Grid
    kl: Grid
    low: Grid
    high: Grid
    delta: Grid
    clamped: Grid
    weight: Grid | None = None
    """Weight of each row [N, 1], if the loss has one."""


def effect_of(inputs: LossInputs, settings: LossSettings) -> Effect:
    """Ratio, KL and clip flags of each action."""
    s, seen, a, found = settings.settings, inputs.mask > 0.5, inputs.advantages[:, None], ratios_of(inputs, settings)
    ratio = torch.where(seen, found.ratio, 1.0)
    capped = ratio.clamp(max=s.delta) if s.delta > 0 else ratio
    high = seen & (a > 0) & (capped > 1 + s.epsilon_high)
    low = seen & (a < 0) & (ratio < 1 - s.epsilon_low)
    # With a < 0 the minimum takes the clipped ratio, which keeps its gradient up to 1 + ε.
    delta = seen & (capped < ratio) & torch.where(a > 0, ~high, (a < 0) & (ratio > 1 + s.epsilon_high))
    kl = torch.zeros_like(ratio) if found.kl is None else torch.where(seen, found.kl, 0.0)
    weight = None if settings.part is None else settings.part.weight_of(found, a, settings)
    return Effect(*map(as_array, (ratio, kl, low, high, delta, found.clamped)), *[weight])


def _objective(inputs: LossInputs, found: Ratios, settings: LossSettings) -> Tensor:
    s, kind, a, ratio = settings.settings, settings.preset[0], inputs.advantages[:, None], found.ratio
    if kind == "clip":
        capped = ratio.clamp(max=s.delta) if s.delta > 0 else ratio
        whole, bounded = capped * a, ratio.clamp(1 - s.epsilon_low, 1 + s.epsilon_high) * a
        # At a tie the ratio keeps its gradient, as with a bound of 1 on the policy; `minimum` would halve it.
        return -torch.where(whole <= bounded, whole, bounded)
    found_by: Tensor = settings.part.objective(kind, a, found, s)
    return found_by


def _aggregation(mask: Tensor, settings: LossSettings) -> Tensor:
    """Weight of each action's loss, [N, T]."""
    rows, share = len(mask), 1 / settings.groups
    lengths = mask.sum(1, keepdim=True).clamp_min(1)
    return {
        "row-mean": mask / lengths * (share / rows),
        "row-sum": mask * (share / rows),
        "micro-token-mean": mask / mask.sum().clamp_min(1) * share,
        "window-token-mean": mask / max(1.0, settings.active),
        "constant-length": mask * (share / (rows * settings.longest)),
    }[settings.preset[1]]


def policy_loss(inputs: LossInputs, settings: LossSettings) -> tuple[Tensor, Tensor]:
    """Loss of one group and its policy part; the gradient flows into log-probabilities and entropies."""
    s, mask, found = settings.settings, inputs.mask, ratios_of(inputs, settings)
    chosen = part_for(s, "topEntropyQuantile", "offPolicyMaskThreshold")
    kept, keep = (mask, torch.ones_like(mask)) if chosen is None else chosen.kept_actions(inputs, found, s)
    weights = _aggregation(mask, settings)
    if inputs.weights is not None:
        weights = weights * inputs.weights[:, None]
    policy = (weights * (_objective(inputs, found, settings) * keep)).sum()
    loss = policy if found.kl is None else policy + s.beta * (weights * found.kl).sum()
    if settings.entropy != 0:
        share = kept / kept.sum().clamp_min(1) * (settings.entropy / settings.groups)
        loss = loss - (share * torch.where(mask > 0.5, inputs.entropies, 0.0)).sum()
    return loss, policy


@dataclass(frozen=True)
class Spread:
    """Mean and deviation of the rewards that are present."""

    mean: float
    std: float
    present: int
    zero: bool


def spread_of(rewards: Sequence[Reward], weights: Sequence[float] | None = None) -> Spread:
    """Unbiased deviation, exact for a whole action set; the mean of equal numbers is exactly that number."""
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


@dataclass(frozen=True)
class GroupScores:
    """Mean and deviation of a group's rewards, whether the inputs of its advantages have spread, and the advantages."""

    spread: Spread
    advantages: list[float]


def inputs_of(group: RewardGroup, s: Settings) -> list[Reward]:
    """Inputs of a group's advantages and spread: its rewards, or sums of their parts normalised in the group."""
    part = part_of("multiObjectiveAggregation", s.multi_objective_aggregation)
    found: list[Reward] = group.rewards if part is None else part.normalised_sums(group, s)
    return found


def group_scores(groups: list[RewardGroup], s: Settings) -> list[GroupScores]:
    """Advantages of all groups of one loop in a step. Raises LabError for a reward that is not finite."""
    if any(reward is not None and not math.isfinite(reward) for group in groups for reward in group.rewards):
        raise LabError("A reward is not finite; no advantage was computed")
    apart = s.multi_objective_aggregation == "normalize_then_sum"
    rows = [inputs_of(group, s) for group in groups]
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
        std = batch.std if apart or s.scale_rewards == "batch" else spread.std
        divisor = 1.0 if not apart and s.scale_rewards == "none" else std + s.advantage_eps
        others = not apart and s.advantage_baseline == "leave-one-out" and group.weights is None
        factor = spread.present / (spread.present - 1) if others and spread.present > 1 else 1.0
        silent = spread.present < 2 or spread.zero or not divisor > 0
        values = [0.0 if r is None or silent else (r - centre) * factor / divisor for r in own]
        found.append(GroupScores(replace(spread_of(group.rewards, group.weights), zero=spread.zero), values))
    return found
