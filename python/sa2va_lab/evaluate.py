"""Held-out rows with fixed draws, scored as the lab scores them (`eval.jsonl`)."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from .data import Row
from .folder import RunFolder
from .mask_policy import Output, act
from .masks import encode_rle, iou, overlap, region_cells
from .philox import Address, uniform, uniforms
from .play import Context
from .rewards import Facts, Reward, score_group
from .settings import Settings
from .team import Team

METRICS = ("loop1_sampled", "loop1_greedy", "loop2_sampled", "loop2_greedy", "grounding_iou", "caption_meteor")
REWARDS = ("reward1_sampled", "reward1_greedy", "reward2_sampled", "reward2_greedy")
_RESAMPLES, _BOOTSTRAP = 2000, 64
Interval = dict[str, float]
Scores = dict[str, Any]


def due(settings: Settings, step: int, rows: int) -> bool:
    """Whether held-out rows are scored at a step."""
    return settings.evalSteps > 0 and rows > 0 and (step % settings.evalSteps == 0 or step == settings.steps)


def _weighted(values: Sequence[Reward], weights: Sequence[float] | None) -> Reward:
    pairs = [(v, 1.0 if weights is None else weights[at]) for at, v in enumerate(values) if v is not None]
    total = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / total if total else None


@torch.no_grad()
def score_row(context: Context, index: int) -> Scores | None:
    """One row's scores; None for a row whose mask covers no visual token."""
    s, actor, draws = context.settings, context.actor, context.contract.evaluation["draws"]
    row = context.data.row(index)
    cells = region_cells(row.mask, context.model.side, s.smallRegions == "force")
    if not cells.any():
        return None
    features, (height, width) = context.look(row), row.mask.shape

    def address(loop: int) -> Address:
        fixed = context.contract.evaluation
        return Address(fixed["seed"], 0, loop, index, fixed["stream"])

    said = actor.captions(features, cells, 1, None)
    said += actor.captions(features, cells, draws, lambda n, t: uniform(address(1).at(n, t)))
    captions = [actor.words.answer(own.ids) for own in said]
    drawn = act(Output(actor, features, row.caption), s, draws, address(2))
    masks = actor.sized(torch.cat([drawn.greedy, drawn.logits]), height, width)
    with context.model.values(context.state.ema):
        found = actor.find(features, captions, height, width)
        told = actor.describe(features, [own.mask for own in masks])
    first = [
        Facts(row.caption, c, row.mask, f.mask if f else None, (f and f.confidence) or 0.0)
        for c, f in zip(captions, found, strict=True)
    ]
    second = [Facts(row.caption, t, row.mask, m.mask, m.confidence or 0.0) for t, m in zip(told, masks, strict=True)]
    meteors = [context.meteor.score(row.caption, text or "").score for text in [captions[0], *told]]
    ious = [0.0 if own is None else iou(own.mask, row.mask) for own in found]
    truth = masks[0].mask
    return {
        **_texts(row, captions[0], told[0] or ""),
        "maskPrime": None if found[0] is None else _rle(found[0].mask),
        "maskGreedy": _rle(truth),
        "groundingPixels": list(overlap(truth, row.mask)),
        "loop1_greedy": ious[0],
        "loop1_sampled": _weighted(ious[1:], None),
        "loop2_greedy": meteors[1],
        "loop2_sampled": _weighted(meteors[2:], drawn.weights),
        "grounding_iou": iou(truth, row.mask),
        "caption_meteor": meteors[0],
        "rewards": _own_rewards(context, {1: first, 2: second}, drawn.weights),
    }


def _texts(row: Row, greedy: str, prime: str) -> Scores:
    return {
        "rowId": row.id,
        "imageId": row.image_id,
        "caption": row.caption,
        "captionGreedy": greedy,
        "captionPrime": prime,
    }


def _rle(mask: Any) -> Scores:
    rle = encode_rle(mask)
    return {"size": list(rle.size), "counts": rle.counts}


def _own_rewards(context: Context, facts: dict[int, list[Facts]], weights: list[float] | None) -> dict[str, Reward]:
    """The run's own reward of the greedy and the sampled rollouts of both loops."""
    out: dict[str, Reward] = dict.fromkeys(REWARDS)
    for loop in context.settings.active_loops:
        greedy, _ = score_group(facts[loop][:1], loop, context.settings, context.meteor)
        sampled, _ = score_group(facts[loop][1:], loop, context.settings, context.meteor)
        out[f"reward{loop}_greedy"] = greedy[0]
        out[f"reward{loop}_sampled"] = _weighted(sampled, weights if loop == 2 else None)
    return out


@lru_cache(maxsize=8)
def _resampled(clusters: int, seed: int) -> Any:
    """Clusters of every resample, [2000, clusters]."""
    draws = [uniforms(Address(seed, sample, 0, 0, _BOOTSTRAP), clusters) for sample in range(_RESAMPLES)]
    return np.floor(np.stack(draws) * clusters).astype(np.int64)


def bootstrap(images: list[str], statistic: Callable[[list[int]], float], seed: int = 1) -> Interval:
    """A number made of rows, with its 95 % interval over samples of their images."""
    places: dict[str, list[int]] = {}
    for row, image in enumerate(images):
        places.setdefault(image, []).append(row)
    clusters = list(places.values())
    chosen = _resampled(len(clusters), seed)
    found = sorted(statistic([row for at in sample for row in clusters[at]]) for sample in chosen)
    low, high = found[math.floor(0.025 * _RESAMPLES)], found[math.ceil(0.975 * _RESAMPLES) - 1]
    return {"mean": statistic(list(range(len(images)))), "low": low, "high": high}


def _mean(values: list[float], images: list[str]) -> Interval:
    return bootstrap(images, lambda rows: sum(values[row] for row in rows) / len(rows))


def _paired(rows: list[Scores], before: list[Scores]) -> list[Scores] | None:
    by_id = {row["rowId"]: row for row in before}
    found = [by_id[row["rowId"]] for row in rows if row["rowId"] in by_id]
    return found if len(found) == len(rows) else None


def _part(rows: list[Scores], part: str) -> list[Scores]:
    return [row for row in rows if row.get("part") == part]


def _baseline(earlier: list[Scores], rows: list[Scores], policy: str) -> Scores | None:
    for stored in earlier:
        same = _part(stored["rows"], "report")
        fits = stored["report"].get("maskPolicy") == policy and len(same) == len(rows)
        if fits and _paired(rows, same) is not None:
            return stored
    return None


def _segmentation(rows: list[Scores], first: list[Scores] | None, images: list[str]) -> Scores:
    def together(own: list[Scores]) -> Callable[[list[int]], float]:
        def ratio(places: list[int]) -> float:
            both, either = (sum(own[at]["groundingPixels"][k] for at in places) for k in (0, 1))
            return both / either if either else 0.0

        return ratio

    def mean_of(of: Callable[[Scores], float]) -> Callable[[list[Scores]], Callable[[list[int]], float]]:
        return lambda own: lambda places: sum(of(own[at]) for at in places) / len(places)

    statistics: dict[str, Callable[[list[Scores]], Callable[[list[int]], float]]] = {
        "giou": mean_of(lambda row: row["grounding_iou"]),
        "ciou": together,
    }
    for bound in (50, 70, 90):
        statistics[f"precision_{bound}"] = mean_of(lambda row, b=bound: float(row["grounding_iou"] >= b / 100))  # type: ignore[misc]
    everything = list(range(len(rows)))
    out = {}
    for name, statistic in statistics.items():
        now = statistic(rows)
        then = None if first is None else statistic(first)
        difference = None if then is None else bootstrap(images, lambda at, a=now, b=then: a(at) - b(at))  # type: ignore[misc]
        out[name] = {"value": now(everything), "difference": difference}
    return out


def report_of(step: int, rows: list[Scores], settings: Settings, earlier: list[Scores]) -> Scores:
    """The report of an evaluation, paired with the first one of the same rows and mask policy."""
    scores = _part(rows, "report")
    baseline = _baseline(earlier, scores, settings.maskPolicy)
    first = None if baseline is None else _paired(scores, _part(baseline["rows"], "report"))
    images = [row["imageId"] for row in scores]
    intervals = {metric: _mean([row[metric] for row in scores], images) for metric in METRICS}

    def gains(metric: str, before: list[Scores]) -> Interval:
        return _mean([a[metric] - b[metric] for a, b in zip(scores, before, strict=True)], images)

    found = {
        "step": step,
        "n": len(scores),
        "means": {metric: own["mean"] for metric, own in intervals.items()},
        "ci": {metric: [own["low"], own["high"]] for metric, own in intervals.items()},
        "difference": None if first is None else {metric: gains(metric, first) for metric in METRICS},
        "segmentation": _segmentation(scores, first, images),
        "reward": {"judge": "none", "scores": {metric: _reward(metric, scores, first) for metric in REWARDS}},
        "selection": _selection(_part(rows, "selection"), settings),
        "maskPolicy": settings.maskPolicy,
    }
    return found if baseline is None else found | {"baseline": baseline["report"]["step"]}


def _reward(metric: str, rows: list[Scores], before: list[Scores] | None) -> Scores | None:
    own = [(row["imageId"], row["rewards"][metric]) for row in rows if row["rewards"][metric] is not None]
    if not own:
        return None
    gains = []
    for row, then in zip(rows, before or [], strict=False):
        a, b = row["rewards"][metric], then.get("rewards", {}).get(metric)
        if a is not None and b is not None:
            gains.append((row["imageId"], a - b))
    interval = _mean([value for _, value in own], [image for image, _ in own])
    difference = _mean([value for _, value in gains], [image for image, _ in gains]) if gains else None
    return interval | {"n": len(own), "difference": difference}


def _selection(rows: list[Scores], s: Settings) -> Scores | None:
    """What chooses the best checkpoint: the mean of a score over the selection rows."""
    if not rows:
        return None
    names = [s.bestMetric]
    if s.bestMetric in ("reward", "reward_greedy"):
        kind = "sampled" if s.bestMetric == "reward" else "greedy"
        names = [f"reward{loop}_{kind}" for loop in s.active_loops]
    values = [row["rewards"][name] if name in REWARDS else row[name] for row in rows for name in names]
    whole = None if any(value is None for value in values) else sum(values) / len(values)
    return {"metric": s.bestMetric, "n": len(rows), "value": whole}


def evaluate(context: Context, folder: RunFolder, team: Team, step: int) -> None:
    """Scores held-out rows on all processes and stores the report; an evaluation at or past the step is replaced."""
    s, data = context.settings, context.data
    chosen = max(1, math.floor(s.evalRows * s.selectionShare + 0.5)) if data.selection else 0
    places = [(index, "report") for index in data.report[: s.evalRows - chosen]]
    places += [(index, "selection") for index in data.selection[:chosen]]
    mine = []
    for at in team.own(len(places)):
        index, part = places[at]
        scores = score_row(context, index)
        if scores is not None:
            mine.append((at, scores | {"part": part}))
    rows = [scores for _, scores in sorted(team.all_of(mine), key=lambda item: item[0])]
    if not team.first:
        return
    earlier = [stored for stored in folder.lines("eval.jsonl") if stored["report"]["step"] < step]
    report = report_of(step, rows, s, earlier)
    folder.write_evaluations([*earlier, {"report": report, "rows": rows}])


def best_step(folder: RunFolder) -> int | None:
    """Step with a checkpoint and the highest selection value; the newest of equal ones."""
    steps, best = folder.checkpoints(), None
    for stored in folder.lines("eval.jsonl"):
        value = (stored["report"].get("selection") or {}).get("value")
        if value is not None and stored["report"]["step"] in steps and (best is None or value >= best[0]):
            best = (value, stored["report"]["step"])
    return None if best is None else int(best[1])
