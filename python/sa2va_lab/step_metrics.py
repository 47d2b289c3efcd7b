"""Metrics of one loop in one step, under the lab's names (docs/metrics.md)."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .loss import Effect, GroupScores, LossSettings
from .masks import Mask, iou
from .policy import Completion
from .reading import Grid
from .rewards import Reward, Term

Metrics = dict[str, float]


@dataclass
class Played:
    """One sampled group: everything that loss, records and metrics need."""

    loop: int
    group: int
    row_id: str
    rewards: list[Reward]
    terms: list[list[Term]]
    weights: list[float] | None
    mask: Grid
    """[N, T] 1 where an action counts."""
    sampling: Grid
    learns: bool
    """Whether the actions are trained by policy gradient."""
    labels: list[list[tuple[int, str]]]
    prompt_ids: list[int]
    answer_ids: list[int] | None
    drafts: list[dict[str, Any]]
    """Fields of the rollouts' records."""
    metrics: Metrics
    reference: Grid | None = None
    from_start: bool = False
    """Whether the reference is the run's starting weights."""
    scores: GroupScores | None = None
    first: Grid | None = None
    """Log-probabilities of the first pass; None before it."""
    old: Grid | None = None
    """Log-probabilities that the ratios of the last pass divide by."""
    auxiliary: Metrics = field(default_factory=dict)
    place: int = 0
    """In the step's order; `group` is the address of its draws."""

    @property
    def advantages(self) -> list[float]:
        """Advantages as given to the policy's loss."""
        assert self.scores is not None
        return self.scores.advantages if self.learns else [0.0] * len(self.rewards)


@dataclass(frozen=True)
class Recorded:
    """A group after a pass, as stored in the run folder."""

    played: Played
    effect: Effect
    loss: float
    policy: float
    logps: Grid
    entropies: Grid


def mean(values: Sequence[float]) -> float:
    """Mean; NaN for an empty list."""
    return sum(values) / len(values) if values else math.nan


def deviation(values: Sequence[float]) -> float:
    """Unbiased deviation; 0 below two values."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def caption_metrics(captions: list[str], completions: list[Completion]) -> Metrics:
    """Lengths and variety of captions."""
    lengths = {"length": completions, "terminated_length": [own for own in completions if own.ended]}
    out: Metrics = {}
    for name, some in lengths.items():
        for kind, of in (("mean", mean), ("min", min), ("max", max)):
            out |= {f"completions/{kind}_{name}": of([len(own.ids) for own in some])} if some else {}
    return out | {
        "completions/clipped_ratio": mean([not own.ended for own in completions]),
        "completions/empty_ratio": mean([caption == "" for caption in captions]),
        "completions/distinct_ratio": len(set(captions)) / max(1, len(captions)),
    }


def mask_metrics(masks: Sequence[Mask | None], truth: Mask) -> Metrics:
    """Areas of masks and their IoU with the truth."""
    areas = [0.0 if mask is None else float(mask.mean()) for mask in masks]
    return {
        "mask/area_mean": mean(areas),
        "mask/empty_ratio": mean([area == 0 for area in areas]),
        "mask/full_ratio": mean([area == 1 for area in areas]),
        "mask/iou_to_truth": mean([0.0 if mask is None else iou(mask, truth) for mask in masks]),
    }


def pair_metrics(masks: list[Mask], captions: list[str | None]) -> Metrics:
    """Similarity of a group's masks, and of the partner's captions of them."""
    pairs = [iou(a, b) if a.any() or b.any() else 1.0 for at, a in enumerate(masks) for b in masks[at + 1 :]]
    return {
        "mask/pairwise_iou": mean(pairs) if pairs else 0.0,
        "partner/empty_ratio": mean([not caption for caption in captions]),
        "completions/distinct_ratio": len(set(captions)) / max(1, len(captions)),
    }


def _loss_metrics(record: Recorded, settings: LossSettings) -> Metrics:
    played, effect, seen = record.played, record.effect, record.played.mask > 0.5
    lengths, count = np.maximum(1, seen.sum(1)), int(seen.sum())
    if count == 0:
        return {}

    def active(values: Grid) -> float:
        return float(values[seen].sum()) / count

    ratio = effect.ratio[seen]
    out: Metrics = {"entropy": active(record.entropies), "ratio/mean": float(ratio.mean())}
    out |= {"ratio/min": float(ratio.min()), "ratio/max": float(ratio.max())}
    if played.reference is not None:
        out |= {"kl": active(effect.kl), "kl/clamped": active(effect.clamped)}
    kind, by_token = settings.preset[0], settings.preset[2] == "token"

    def rows(flags: Grid) -> Grid:
        means = (flags * seen).sum(1) / lengths
        return np.asarray(means[seen.any(1)] if by_token else means)

    def share(flags: Grid) -> float:
        return active(flags) if by_token else float(rows(flags).sum()) / max(1, len(seen))

    if settings.part is not None:
        out |= settings.part.metrics(played, effect, settings, share)
    if kind != "clip":
        return out
    low, high = share(effect.low), share(effect.high)
    out |= {"clip_ratio/low_mean": low, "clip_ratio/high_mean": high, "clip_ratio/region_mean": low + high}
    if settings.settings.delta > 0:
        out["clip_ratio/delta_mean"] = share(effect.delta)
    if len(rows(effect.low)):
        out["clip_ratio/low_min"] = float(rows(effect.low).min())
        out["clip_ratio/high_max"] = float(rows(effect.high).max())
    return out


def _over_start(played: Played) -> Metrics:
    """
    Reward minus the expected reward of the starting weights on the row, estimated from the same rollouts by importance
    weights.
    """
    if played.reference is None or not played.from_start:
        return {}
    given = [n for n, reward in enumerate(played.rewards) if reward is not None]
    if not given:
        return {}
    # Over all actions: those that the loss masks were sampled too.
    drawn = np.arange(played.mask.shape[1]) < np.asarray([[len(own)] for own in played.labels])
    logs = np.where(drawn, played.reference - played.sampling, 0.0).sum(1)[given]
    p = np.ones(len(given)) if played.weights is None else np.asarray(played.weights)[given]
    rewards = np.asarray([played.rewards[n] for n in given], dtype=np.float64)
    w = p * np.exp(logs - logs.max())
    if p.sum() == 0 or w.sum() == 0:
        return {}
    squares = (w[p > 0] ** 2 / p[p > 0]).sum()
    gain = (p * rewards).sum() / p.sum() - (w * rewards).sum() / w.sum()
    return {"reward_over_start": float(gain), "start_sample_share": float(w.sum() ** 2 / (p.sum() * squares))}


def average(records: Iterable[Metrics]) -> Metrics:
    """Of each name over the records that have it the mean, or the extreme where it is one, as `ratio/min`."""
    values: dict[str, list[float]] = {}
    for record in records:
        for name, value in record.items():
            values.setdefault(name, []).append(value)
    out: Metrics = {}
    for name, own in values.items():
        extreme = re.search(r"[/_](min|max)(?:_[a-z_]+)?$", name)
        out[name] = mean(own) if extreme is None else min(own) if extreme[1] == "min" else max(own)
    return out


def sampled_metrics(loop: int, groups: list[Played]) -> Metrics:
    """Metrics of all rollouts of a loop in a step."""
    scores = [group.scores for group in groups if group.scores is not None]
    rewards = [reward for group in groups for reward in group.rewards]
    known = [reward for reward in rewards if reward is not None]
    out: Metrics = {
        "reward": mean([own.spread.mean for own in scores if not math.isnan(own.spread.mean)]),
        "reward_std": deviation(known),
        "reward_min": min(known, default=math.nan),
        "reward_max": max(known, default=math.nan),
        "reward_missing": mean([float(reward is None) for reward in rewards]),
        "group_std_mean": mean([own.spread.std for own in scores]),
        "frac_reward_zero_std": mean([float(own.spread.zero) for own in scores]),
        "advantage_abs_mean": mean([abs(a) for own in scores for a in own.advantages]),
    }
    # In a group of a whole action set the probability of each action: groups of any size count alike, as in the reward.
    terms = [
        (term["name"], term["value"], 1.0 if group.weights is None else group.weights[n])
        for group in groups
        for n, own in enumerate(group.terms)
        for term in own
        if term["value"] is not None
    ]
    for name in dict.fromkeys(name for name, _, _ in terms):
        found = [(value, weight) for own, value, weight in terms if own == name]
        total = sum(value * weight for value, weight in found) / sum(weight for _, weight in found)
        out |= {f"rewards/{name}/mean": total, f"rewards/{name}/std": deviation([value for value, _ in found])}
    out |= average(group.metrics | _over_start(group) for group in groups)
    # Over all completions with an end token, because groups differ in their number.
    name = "completions/mean_terminated_length"
    ended = [(own.metrics[name], sum(not d["truncated"] for d in own.drafts)) for own in groups if name in own.metrics]
    if ended:
        out[name] = sum(length * count for length, count in ended) / sum(count for _, count in ended)
    return {f"loop{loop}/{name}": value for name, value in out.items()}


def pass_metrics(loop: int, records: list[Recorded], settings: LossSettings, alike: bool) -> Metrics:
    """Metrics of one pass over a window of a loop; `alike` if the pass computes the same as sampling did."""
    out = {"loss": sum(own.loss for own in records)}
    out["policy_loss"] = sum(own.policy for own in records)
    passes = []
    for record in records:
        played, own = record.played, _loss_metrics(record, settings)
        gaps = np.abs(record.logps - played.sampling)[played.mask > 0.5]
        if alike and len(gaps):
            own["logp_train_vs_sampling/mean"] = float(gaps.mean())
            own["logp_train_vs_sampling/max"] = float(gaps.max())
        passes.append(own | {f"{name}_loss": value for name, value in played.auxiliary.items()})
    return {f"loop{loop}/{name}": value for name, value in (out | average(passes)).items()}
