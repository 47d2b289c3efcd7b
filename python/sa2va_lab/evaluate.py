"""Held-out rows with fixed draws, scored as the lab scores them (`eval.jsonl`)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from .data import Row
from .folder import RunFolder
from .mask_policy import Output, act
from .masks import encode_rle, iou, overlap, region_cells
from .order import parse_sources, source_at
from .philox import Address, uniform, uniforms
from .play import Context, answer_facts, likelihoods_of, question_at
from .policy import Asked, Completion, Likelihood
from .rewards import Facts, Reward, score_group
from .settings import LOOPS, Settings
from .team import Team

METRICS = ("loop1_sampled", "loop1_greedy", "loop2_sampled", "loop2_greedy", "grounding_iou", "caption_meteor")
REWARDS = tuple(f"reward{loop}_{kind}" for loop in LOOPS for kind in ("sampled", "greedy"))
_RESAMPLES, _BOOTSTRAP = 2000, 64
PARTNER = {"grounding_iou": "partnerIou", "caption_meteor": "partnerMeteor"}
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

    said, captions = _texts_of(context, actor.caption_of(features, cells), address(1))
    output = Output(actor, features, row.caption, row.others)
    drawn = act(output, s, draws, address(2))
    masks = actor.sized(torch.cat([drawn.greedy, drawn.logits]), height, width)
    with context.model.values(context.state.ema):
        # The true caption and the true mask come last: the partner's own answers stand beside the policy's.
        *found, partner = actor.find(features, [*captions, row.caption], height, width)
        *told, described = actor.describe(features, [*(own.mask for own in masks), row.mask])
    known = {
        1: likelihoods_of(context, 1, row, features, [own.mask if own else None for own in found]),
        2: likelihoods_of(context, 2, row, features, [own.mask for own in masks]),
    }

    def likelihood(loop: int, n: int) -> Likelihood | bool | None:
        own = known[loop]
        return False if own is None else own[n]

    first = [
        Facts(row.caption, captions[n], row.mask, own.mask if own else None, (own and own.confidence) or 0.0,
              likelihood(1, n), not said[n].ended)
        for n, own in enumerate(found)
    ]  # fmt: skip
    second = [
        Facts(row.caption, told[n], row.mask, own.mask, own.confidence or 0.0, likelihood(2, n))
        for n, own in enumerate(masks)
    ]
    facts = {1: first, 2: second}
    if 3 in s.active_loops and row.questions:
        question, answer = question_at(row, 0)
        answered, texts = _texts_of(context, actor.question_of(features, cells, question), address(3))
        facts[3] = [answer_facts(row, answer, text, not own.ended) for text, own in zip(texts, answered, strict=True)]
    meteors = [context.scorer.meteor.score(row.caption, text or "").score for text in [captions[0], *told, described]]
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
        "loop2_sampled": _weighted(meteors[2:-1], drawn.weights),
        "grounding_iou": iou(truth, row.mask),
        "caption_meteor": meteors[0],
        "partnerMask": None if partner is None else _rle(partner.mask),
        "partnerIou": 0.0 if partner is None else iou(partner.mask, row.mask),
        "partnerCaption": described or "",
        "partnerMeteor": meteors[-1],
        "rewards": _own_rewards(context, facts, drawn.weights),
    }


def _texts_of(context: Context, asked: Asked, address: Address) -> tuple[list[Completion], list[str]]:
    """The greedy answer of the policy to a prompt, then sampled ones, with their texts."""
    actor, draws = context.actor, context.contract.evaluation["draws"]
    said = actor.texts(asked, 1, None) + actor.texts(asked, draws, lambda n, t: uniform(address.at(n, t)))
    return said, [actor.words.answer(own.ids) for own in said]


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
    s, scorer = context.settings, context.scorer
    if not s.evalJudge:
        scorer = replace(scorer, judge=None)
    # METEOR in place of a verdict would be another score.
    own = replace(s, missingVerdict="pause" if s.missingVerdict == "pause" else "drop")
    out: dict[str, Reward] = {name: None for name in REWARDS if int(name[6]) in facts}
    for loop in (loop for loop in s.active_loops if loop in facts):
        greedy, _ = score_group(facts[loop][:1], loop, own, scorer)
        sampled, _ = score_group(facts[loop][1:], loop, own, scorer)
        out[f"reward{loop}_greedy"] = greedy[0]
        out[f"reward{loop}_sampled"] = _weighted(sampled, weights if loop == 2 else None)
    return out


def judge_use(settings: Settings) -> str:
    """Whether the run's reward of held-out rows has verdicts of the judge."""
    if settings.judge == "off" or all(settings.weights[loop]["judge"] == 0 for loop in settings.active_loops):
        return "none"
    return "asked" if settings.evalJudge else "left-out"


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
        "partner": {
            metric: _mean([row[name] for row in scores], images)
            | {"difference": _mean([row[name] - row[metric] for row in scores], images)}
            for metric, name in PARTNER.items()
        },
        "reward": _rewards(scores, judge_use(settings), baseline, first),
        "selection": _selection(_part(rows, "selection"), settings),
        "maskPolicy": settings.maskPolicy,
    }
    if settings.mixSources:
        found["sources"] = _sources(scores, settings.mixSources)
    return found if baseline is None else found | {"baseline": baseline["report"]["step"]}


def _sources(rows: list[Scores], mix: str) -> Scores:
    """Scores by source of the mix."""
    sources, found = parse_sources(mix), {}
    for at, (name, _) in enumerate(sources):
        own = [row for row in rows if source_at(sources, row["rowId"]) == at]
        if own:
            means = {metric: sum(row[metric] for row in own) / len(own) for metric in METRICS}
            found[name] = {"n": len(own), "means": means}
    return found


def _rewards(rows: list[Scores], judge: str, baseline: Scores | None, first: list[Scores] | None) -> Scores:
    """The run's reward; rewards with and without verdicts are not compared."""
    same = baseline is not None and baseline["report"].get("reward", {}).get("judge") == judge
    return {"judge": judge, "scores": {metric: _reward(metric, rows, first if same else None) for metric in REWARDS}}


def _reward(metric: str, rows: list[Scores], before: list[Scores] | None) -> Scores | None:
    own = [(row["imageId"], row["rewards"][metric]) for row in rows if row["rewards"].get(metric) is not None]
    if not own:
        return None
    gains = []
    for row, then in zip(rows, before or [], strict=False):
        a, b = row["rewards"].get(metric), then.get("rewards", {}).get(metric)
        if a is not None and b is not None:
            gains.append((row["imageId"], a - b))
    interval = _mean([value for _, value in own], [image for image, _ in own])
    difference = _mean([value for _, value in gains], [image for image, _ in gains]) if gains else None
    return interval | {"n": len(own), "difference": difference}


def _selection(rows: list[Scores], s: Settings) -> Scores | None:
    """What chooses the best checkpoint: the mean of a score over the selection rows."""
    if not rows:
        return None
    values = [_row_value(row, s) for row in rows]
    known = [value for value in values if value is not None]
    whole = sum(known) / len(known) if len(known) == len(rows) else None
    return {"metric": s.bestMetric, "n": len(known), "value": whole}


def _row_value(row: Scores, s: Settings) -> Reward:
    if s.bestMetric not in ("reward", "reward_greedy"):
        score: float = row[s.bestMetric]
        return score
    kind = "sampled" if s.bestMetric == "reward" else "greedy"
    # A row that a loop cannot sample has no entry for it.
    found = [row["rewards"].get(f"reward{loop}_{kind}", False) for loop in s.active_loops]
    values = [value for value in found if value is not False]
    return None if not values or None in values else sum(values) / len(values)


def evaluate(context: Context, folder: RunFolder, team: Team, step: int) -> None:
    """Scores held-out rows on all processes and stores the report; an evaluation at or past the step is replaced."""
    s, data = context.settings, context.data
    chosen = max(1, math.floor(s.evalRows * s.selectionShare + 0.5)) if data.selection else 0
    first = context.order.evaluated
    places = [(index, "report") for index in first(data.report, s.evalRows - chosen)]
    places += [(index, "selection") for index in first(data.selection, chosen)]
    mine = []
    for at in team.own(len(places)):
        index, part = places[at]
        scores = score_row(context, index)
        if scores is not None:
            mine.append((at, scores | {"part": part}))
    context.model.settle()
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
