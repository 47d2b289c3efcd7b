"""Reward terms of a rollout and their sum, with the fields that the lab's inspector shows."""

import re
from dataclasses import dataclass
from typing import Any

from .errors import LabError
from .masks import Mask, box_iou, centre_score, overlap
from .meteor import Meteor, tokens
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
    confidence: float


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


def score_group(
    group: list[Facts], loop: int, settings: Settings, meteor: Meteor
) -> tuple[list[Reward], list[list[Term]]]:
    """Rewards and weighted terms of a group's rollouts, in the order of the lab's matrix."""
    weights = dict(settings.weights[loop])
    # Without a judge METEOR takes the judge's weight as well.
    weights["meteor"] += weights["judge"]
    weights["judge"] = 0.0
    rewards, terms = [], []
    for facts in group:
        leaked = leaked_words(facts.caption or "", settings.leakWords)
        leak: Term = (
            {"name": "leak", "value": 1.0, "note": ", ".join(leaked)} if leaked else {"name": "leak", "value": 0.0}
        )
        own = [
            _iou_term(facts, settings),
            _meteor_term(facts, meteor),
            {"name": "confidence", "value": facts.confidence},
            _auxiliary("box", facts),
            _auxiliary("centre", facts),
            {"name": "length", "value": length_cost(facts.caption or "", facts.reference, settings.lengthRatio)},
            {"name": "repetition", "value": repetition_cost(facts.caption or "", settings.repetitionGram)},
            leak,
        ]
        weighted = [term | {"weight": weights[term["name"]]} for term in own]
        terms.append(weighted)
        rewards.append(_sum(weighted))
    return rewards, terms


def _sum(terms: list[Term]) -> Reward:
    """Weighted sum; None when no term has a weight. Raises LabError for a sum that could not be averaged."""
    needed = [term for term in terms if term["weight"] != 0]
    total = 0.0
    for term in needed:
        total += term["weight"] * term["value"]
        if abs(total) > _LARGEST:
            raise LabError(f"The reward term {term['name']} is beyond {_LARGEST:g}; lower its weight")
    return total if needed else None
