"""Reward terms of a rollout and their sum, with the fields that the lab's inspector shows."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import LabError
from .masks import Mask, box_iou, centre_score, overlap
from .meteor import Meteor, tokens
from .policy import Likelihood
from .settings import Settings

Term = dict[str, Any]
Reward = float | None
_TIERS = (0.5, 0.7, 0.9)
_LARGEST = 1e12


@dataclass(frozen=True)
class Facts:
    """What a rollout is rewarded by."""

    reference: str
    caption: str | None
    given: Mask
    predicted: Mask | None
    confidence: float | None
    likelihood: Likelihood | bool | None = False
    """Of the reference for the predicted mask; None where it is not seen, False where it was not asked."""
    truncated: bool = False


class Judge(Protocol):
    """Verdicts on captions."""

    def terms(self, pairs: list[tuple[str, str]]) -> list[Term]:
        """One term a pair of reference and caption; its value is None where there is no verdict."""


@dataclass(frozen=True)
class Scorer:
    """What rewards are computed by."""

    meteor: Meteor
    judge: Judge | None = None
    custom: Callable[[dict[str, Any]], object] | None = None
    """A function of a rollout, in place of the lab's custom reward."""


def _iou_term(facts: Facts, settings: Settings) -> Term:
    if facts.predicted is None:
        return {"name": "iou", "value": 0.0, "note": "no mask"}
    both, either = overlap(facts.given, facts.predicted)
    counts = {"intersection": both, "union": either}
    if either == 0:
        return {"name": "iou", "value": settings.emptyPairReward, "iou": counts, "note": "both masks empty"}
    value = both / either
    if settings.iouShape == "squared":
        value *= value
    elif settings.iouShape == "tiered":
        value = sum(both / either >= tier for tier in _TIERS) / len(_TIERS)
    term: Term = {"name": "iou", "value": value, "iou": counts}
    return term if facts.predicted.any() else term | {"note": "empty mask"}


def _meteor_term(facts: Facts, meteor: Meteor) -> Term:
    found = meteor.score(facts.reference, facts.caption or "")
    detail = {
        "hypothesis": found.hypothesis, "reference": found.reference, "matches": [list(m) for m in found.matches],
        "chunks": found.chunks, "precision": found.precision, "recall": found.recall, "fMean": found.f_mean,
        "penalty": found.penalty, "score": found.score,
    }  # fmt: skip
    term: Term = {"name": "meteor", "value": found.score, "meteor": detail}
    if facts.caption is None:
        return term | {"note": "empty mask"}
    if not found.hypothesis:
        return term | {"note": "empty caption"}
    return term if found.reference else term | {"note": "empty reference"}


def _auxiliary(name: str, facts: Facts) -> Term:
    if facts.predicted is None:
        return {"name": name, "value": 0.0, "note": "no mask"}
    value = (box_iou if name == "box" else centre_score)(facts.given, facts.predicted)
    return {"name": name, "value": 0.0, "note": "empty mask"} if value is None else {"name": name, "value": value}


def plain_words(text: str) -> list[str]:
    """Words without case and punctuation."""
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())


def length_cost(caption: str, reference: str, ratio: float) -> float:
    """0 up to `ratio` times the reference's words, then rising to 1 at one time more."""
    return min(1.0, max(0.0, len(tokens(caption)) / max(1, len(tokens(reference))) - ratio))


def repetition_cost(caption: str, n: int) -> float:
    """Share of the caption's runs of n words that occurred before in it."""
    words = plain_words(caption)
    runs = [" ".join(words[at : at + n]) for at in range(len(words) - n + 1)]
    return 1 - len(set(runs)) / len(runs) if len(runs) > 1 else 0.0


def leaked_words(caption: str, words: str) -> list[str]:
    """Words and phrases of the list that occur in the caption as whole words."""
    text = f" {' '.join(plain_words(caption))} "
    phrases = dict.fromkeys(" ".join(plain_words(phrase)) for phrase in re.split(r"[,\n]", words))
    return [phrase for phrase in phrases if phrase and f" {phrase} " in text]


def _seen(name: str, facts: Facts) -> Term:
    """Likelihood or contrast; a mask that the captioner cannot see is worth 0."""
    known = facts.likelihood
    if not isinstance(known, Likelihood):
        note = "no mask" if facts.predicted is None else "covers no visual token"
        return {"name": name, "value": 0.0, "note": note}
    if name == "likelihood":
        return {"name": name, "value": known.likelihood}
    if known.contrast is None:
        return {"name": name, "value": None, "note": "no other thing in the picture"}
    return {"name": name, "value": known.contrast}


def _confidence(facts: Facts) -> Term:
    if facts.confidence is not None:
        return {"name": "confidence", "value": facts.confidence}
    return {"name": "confidence", "value": 0.0, "note": "no mask"}


def _measured(facts: Facts, settings: Settings, meteor: Meteor) -> list[Term]:
    """Terms that need only the rollout itself, in the order of the lab's matrix."""
    caption = facts.caption or ""
    leaked = leaked_words(caption, settings.leakWords)
    leak: Term = {"name": "leak", "value": float(bool(leaked))}
    asked = [] if facts.likelihood is False else [_seen("likelihood", facts), _seen("contrast", facts)]
    return [
        _iou_term(facts, settings),
        _meteor_term(facts, meteor),
        *asked,
        _confidence(facts),
        _auxiliary("box", facts),
        _auxiliary("centre", facts),
        {"name": "length", "value": length_cost(caption, facts.reference, settings.lengthRatio)},
        {"name": "repetition", "value": repetition_cost(caption, settings.repetitionGram)},
        leak | {"note": ", ".join(leaked)} if leaked else leak,
    ]


def _rollout(group: list[Facts], terms: list[Term], at: int, loop: int) -> dict[str, Any]:
    """What a custom reward is given, under the lab's names; masks are arrays [height, width] of 0 and 1."""
    facts = group[at]
    counts = next((term["iou"] for term in terms if "iou" in term), None)
    both, either = (counts["intersection"], counts["union"]) if counts else (0, 0)
    return {
        "loop": loop, "caption": facts.caption or "", "reference": facts.reference, "given": facts.given,
        "predicted": facts.predicted, "confidence": facts.confidence, "truncated": facts.truncated,
        "iou": None if counts is None else counts | {"value": both / either if either else 0.0},
        "meteor": next((term["meteor"] for term in terms if "meteor" in term), None),
        "terms": {term["name"]: term["value"] for term in terms},
        "group": {"index": at, "size": len(group), "captions": [own.caption or "" for own in group]},
    }  # fmt: skip


def _custom(scorer: Scorer, group: list[Facts], terms: list[Term], at: int, loop: int) -> Term:
    assert scorer.custom is not None
    try:
        value = scorer.custom(_rollout(group, terms, at, loop))
    except Exception as cause:
        raise LabError(
            f"The custom reward failed ({type(cause).__name__}: {cause}); nothing of this step was kept"
        ) from cause
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LabError(f"The custom reward returned {value!r}, not a finite number; nothing of this step was kept")
    return {"name": "user", "value": float(value)}


def score_group(
    group: list[Facts], loop: int, settings: Settings, scorer: Scorer
) -> tuple[list[Reward], list[list[Term]]]:
    """Rewards and weighted terms of a group's rollouts."""
    weights = dict(settings.weights[loop])
    rows = [_measured(facts, settings, scorer.meteor) for facts in group]
    if scorer.judge is not None and weights["judge"] != 0:
        verdicts = scorer.judge.terms([(facts.reference, facts.caption or "") for facts in group])
        for row, verdict in zip(rows, verdicts, strict=True):
            row.append(verdict)
    elif weights["judge"] != 0:
        _without_judge(weights)
    if weights["user"] != 0:
        customs = [_custom(scorer, group, row, at, loop) for at, row in enumerate(rows)]
        for row, term in zip(rows, customs, strict=True):
            row.append(term)
    return _composed(rows, weights, settings)


def _without_judge(weights: dict[str, float]) -> None:
    """METEOR takes the judge's weight as well."""
    weights["meteor"] += weights["judge"]
    weights["judge"] = 0.0


def _composed(
    rows: list[list[Term]], weights: dict[str, float], settings: Settings
) -> tuple[list[Reward], list[list[Term]]]:
    failed = [term for row in rows for term in row if term["name"] == "judge" and term["value"] is None]
    lost = bool(failed) and weights["judge"] != 0
    if lost and settings.missingVerdict == "pause":
        raise LabError(
            f"The judge gave no verdict ({failed[0].get('note', 'no verdict')}); nothing of this step was kept"
        )
    if lost and settings.missingVerdict == "meteor":
        _without_judge(weights)
    terms = [[term | {"weight": weights[term["name"]]} for term in row] for row in rows]
    rewards = [_sum(row, weights) for row in terms]
    if lost and settings.missingVerdict == "group":
        rewards = [None] * len(rewards)
    return rewards, terms


def _sum(terms: list[Term], weights: dict[str, float]) -> Reward:
    """Weighted sum; None when a weighted term is missing or none has a weight. Raises LabError for one too large."""
    needed = [term for term in terms if term["weight"] != 0]
    names = {term["name"] for term in needed}
    if not needed or any(weight != 0 and name not in names for name, weight in weights.items()):
        return None
    total = 0.0
    for term in needed:
        if term["value"] is None:
            return None
        total += term["weight"] * term["value"]
        if abs(total) > _LARGEST:
            raise LabError(f"The reward term {term['name']} is beyond {_LARGEST:g}; lower its weight")
    return total


def mean_scores(
    draws: list[tuple[list[Reward], list[list[Term]]]], texts: list[list[str | None]]
) -> tuple[list[Reward], list[list[Term]]]:
    """Means over several texts of the same rollouts; details are those of the first."""
    rewards, first = draws[0]
    if len(draws) == 1:
        return rewards, first
    means = [_mean([scored[0][n] for scored in draws]) for n in range(len(rewards))]
    terms = []
    for n, row in enumerate(first):
        by_name = [{term["name"]: term["value"] for term in scored[1][n]} for scored in draws]
        terms.append(
            [_mean_term(term, [own.get(term["name"]) for own in by_name], [t[n] for t in texts]) for term in row]
        )
    return means, terms


def _mean(values: list[Reward]) -> Reward:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _mean_term(term: Term, values: list[Reward], texts: list[str | None]) -> Term:
    if all(value == term["value"] for value in values):
        return term
    said = ", ".join(
        f"“{text or ''}” {'missing' if value is None else f'{value:.3f}'}"
        for text, value in zip(texts, values, strict=True)
    )
    return term | {"value": _mean(values), "note": f"mean over {len(values)} captions′: {said}"}


def wants_likelihood(settings: Settings, loop: int) -> bool:
    """Whether a reward of the loop needs likelihoods."""
    return loop in settings.active_loops and any(
        settings.weights[loop][name] != 0 for name in ("likelihood", "contrast")
    )
