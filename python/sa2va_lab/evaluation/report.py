"""The report of an evaluation: scores, their 95 % bootstrap intervals over pictures, and paired differences."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..extras import part_of
from ..philox import Address, uniforms
from ..rewards import Reward
from ..settings import LOOPS, Settings

METRICS = ("loop1_sampled", "loop1_greedy", "loop2_sampled", "loop2_greedy", "grounding_iou", "caption_meteor")
REWARDS = tuple(f"reward{loop}_{kind}" for loop in LOOPS for kind in ("sampled", "greedy"))
PARTNER = {"grounding_iou": "partnerIou", "caption_meteor": "partnerMeteor"}
_RESAMPLES, _BOOTSTRAP = 2000, 64
Interval = dict[str, float]
Scores = dict[str, Any]
Parts = list[tuple[float, float]]
"""A numerator and a denominator per row: a score is the ratio of their sums; a mean has denominators of 1."""

SEGMENTATION: dict[str, Callable[[Scores], tuple[float, float]]] = {
    "giou": lambda row: (row["grounding_iou"], 1.0),
    "ciou": lambda row: tuple(row["groundingPixels"]),
    "precision_50": lambda row: (float(row["grounding_iou"] >= 0.5), 1.0),
    "precision_70": lambda row: (float(row["grounding_iou"] >= 0.7), 1.0),
    "precision_90": lambda row: (float(row["grounding_iou"] >= 0.9), 1.0),
}


@lru_cache(maxsize=8)
def _resampled(clusters: int) -> Any:
    """Clusters of every resample, [2000, clusters]."""
    draws = [uniforms(Address(1, sample, 0, 0, _BOOTSTRAP), clusters) for sample in range(_RESAMPLES)]
    return np.floor(np.stack(draws) * clusters).astype(np.int64)


def _ratio(parts: Parts) -> float:
    if not parts:
        return math.nan
    numerators, denominators = (sum(column) for column in zip(*parts, strict=True))
    return numerators / denominators if denominators else 0.0


def bootstrap(images: list[str], parts: Parts, before: Parts | None = None) -> Interval:
    """A score of rows, minus the earlier one if given, with its interval over pictures; NaN without rows."""
    if not images:
        return dict.fromkeys(("mean", "low", "high"), math.nan)
    places = {image: at for at, image in enumerate(dict.fromkeys(images))}
    clusters, ratios = [places[image] for image in images], []
    for own in (parts, before or []):
        sums = np.zeros((len(places), 2))
        np.add.at(sums, clusters[: len(own)], np.asarray(own, dtype=np.float64).reshape(-1, 2))
        drawn = sums[_resampled(len(places))].sum(1)
        ratios.append(np.divide(drawn[:, 0], drawn[:, 1], out=np.zeros(_RESAMPLES), where=drawn[:, 1] != 0))
    found = np.sort(ratios[0] - ratios[1])
    mean = _ratio(parts) - (_ratio(before) if before else 0.0)
    low, high = found[_RESAMPLES // 40], found[_RESAMPLES - _RESAMPLES // 40 - 1]
    return {"mean": mean, "low": float(low), "high": float(high)}


def _mean(rows: list[Scores], values: Sequence[Reward]) -> Interval:
    """Mean of what is known of the rows."""
    known = [(row["imageId"], (value, 1.0)) for row, value in zip(rows, values, strict=True) if value is not None]
    return bootstrap([image for image, _ in known], [part for _, part in known])


def _part(rows: list[Scores], part: str) -> list[Scores]:
    return [row for row in rows if row.get("part") == part]


def _baseline(earlier: list[Scores], rows: list[Scores], policy: str) -> tuple[Scores | None, list[Scores] | None]:
    """Report and rows, in this order, of the first evaluation of the same rows and mask policy."""
    for stored in earlier:
        known = {row["rowId"]: row for row in _part(stored["rows"], "report")}
        if stored["report"].get("maskPolicy") == policy and known.keys() == {row["rowId"] for row in rows}:
            return stored["report"], [known[row["rowId"]] for row in rows]
    return None, None


def report_of(step: int, rows: list[Scores], settings: Settings, earlier: list[Scores]) -> Scores:
    """The report of an evaluation, paired with the first one of the same rows and mask policy."""
    scores = _part(rows, "report")
    baseline, first = _baseline(earlier, scores, settings.mask_policy)
    images = [row["imageId"] for row in scores]

    def column(name: str) -> Interval:
        return _mean(scores, [row[name] for row in scores])

    def gain(name: str, other: str, before: list[Scores]) -> Interval:
        return _mean(scores, [a[name] - b[other] for a, b in zip(scores, before, strict=True)])

    intervals = {metric: column(metric) for metric in METRICS}
    found = {
        "step": step,
        "n": len(scores),
        "means": {metric: own["mean"] for metric, own in intervals.items()},
        "ci": {metric: [own["low"], own["high"]] for metric, own in intervals.items()},
        "difference": None if first is None else {metric: gain(metric, metric, first) for metric in METRICS},
        "segmentation": _segmentation(scores, first, images),
        "partner": {
            metric: column(name) | {"difference": gain(name, metric, scores)} for metric, name in PARTNER.items()
        },
        "reward": _rewards(scores, judge_use(settings), baseline, first),
        "selection": _selection(_part(rows, "selection"), settings),
        "maskPolicy": settings.mask_policy,
    }
    if settings.mix_sources:
        found["sources"] = _sources(scores, settings.mix_sources)
    return found if baseline is None else found | {"baseline": baseline["step"]}


def _segmentation(rows: list[Scores], first: list[Scores] | None, images: list[str]) -> Scores:
    out = {}
    for name, of in SEGMENTATION.items():
        now = [of(row) for row in rows]
        gained = None if first is None else bootstrap(images, now, [of(row) for row in first])
        out[name] = {"value": _ratio(now), "difference": gained}
    return out


def _sources(rows: list[Scores], mix: str) -> Scores:
    """Scores by source of the mix."""
    mixes = part_of("mixSources", mix)
    sources, found = mixes.parse_sources(mix), {}
    for at, (name, _) in enumerate(sources):
        own = [row for row in rows if mixes.source_at(sources, row["rowId"]) == at]
        if own:
            means = {metric: sum(row[metric] for row in own) / len(own) for metric in METRICS}
            found[name] = {"n": len(own), "means": means}
    return found


def judge_use(settings: Settings) -> str:
    """Whether the run's reward of held-out rows includes verdicts of the judge."""
    if settings.judge == "off" or all(settings.weights[loop]["judge"] == 0 for loop in settings.active_loops):
        return "none"
    return "asked" if settings.eval_judge else "left-out"


def _rewards(rows: list[Scores], judge: str, baseline: Scores | None, first: list[Scores] | None) -> Scores:
    """The run's reward; rewards with and without verdicts are not compared."""
    same = baseline is not None and baseline.get("reward", {}).get("judge") == judge
    before = first if first is not None and same else []
    return {"judge": judge, "scores": {metric: _reward(metric, rows, before) for metric in REWARDS}}


def _reward(metric: str, rows: list[Scores], before: list[Scores]) -> Scores | None:
    """Over the rows that have it in both evaluations, else over those that have it now."""
    now, then = ([row.get("rewards", {}).get(metric) for row in some] for some in (rows, before or [{}] * len(rows)))
    gains = [None if a is None or b is None else a - b for a, b in zip(now, then, strict=True)]
    difference = None
    if gains.count(None) < len(gains):
        difference = _mean(rows, gains)
        now = [None if gain is None else value for value, gain in zip(now, gains, strict=True)]
    count = len(now) - now.count(None)
    return _mean(rows, now) | {"n": count, "difference": difference} if count else None


def _selection(rows: list[Scores], s: Settings) -> Scores | None:
    """The value that chooses the best checkpoint: the mean of a score over the selection rows."""
    if not rows:
        return None
    values = [_row_value(row, s) for row in rows]
    known = [value for value in values if value is not None]
    whole = sum(known) / len(known) if len(known) == len(rows) else None
    return {"metric": s.best_metric, "n": len(known), "value": whole}


def _row_value(row: Scores, s: Settings) -> Reward:
    if s.best_metric not in ("reward", "reward_greedy"):
        score: float = row[s.best_metric]
        return score
    kind = "sampled" if s.best_metric == "reward" else "greedy"
    # A row that a loop cannot sample has no entry for it.
    found = [row["rewards"].get(f"reward{loop}_{kind}", False) for loop in s.active_loops]
    values = [value for value in found if value is not False]
    return None if not values or None in values else sum(values) / len(values)
