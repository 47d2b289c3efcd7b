"""Reward terms of a rollout and their sum, with the fields that the lab's inspector shows."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import LabError
from .masks import Mask, box_iou, centre_score, overlap
from .meteor import Meteor, tokens
from .policy import Likelihood
from .settings import Settings

if TYPE_CHECKING:
    from .judge import CaptionJudge

Term = dict[str, Any]
Reward = float | None
_TIERS = (0.5, 0.7, 0.9)
_LARGEST = 1e12


@dataclass(frozen=True)
class Facts:
    """Facts that determine the reward of a rollout."""

    reference: str
    caption: str | None
    given: Mask
    predicted: Mask | None
    confidence: float | None
    likelihood: Likelihood | bool | None = False
    """
    Likelihood of the reference given the predicted mask; None if the mask covers no visual token, False if not
    computed.
    """
    truncated: bool = False
    segments: int | None = None
    """[SEG] in a sampled text, which should have none; None where no text is sampled."""


Custom = Callable[[list[Facts], list[Term], int, int], Term]
"""A term of a rollout: takes its group, its other terms, its index and the loop."""


@dataclass(frozen=True)
class Scorer:
    """Dependencies of rewards."""

    meteor: Meteor
    judge: "CaptionJudge | None" = None
    custom: Custom | None = None
    """Replaces the lab's custom reward."""


def term_of(name: str, value: Reward, note: str = "", **more: Any) -> Term:
    """A term without its weight."""
    return {"name": name, "value": value} | more | ({"note": note} if note else {})


def _iou_term(facts: Facts, settings: Settings) -> Term:
    if facts.predicted is None:
        return term_of("iou", 0.0, "no mask")
    both, either = overlap(facts.given, facts.predicted)
    counts = {"intersection": both, "union": either}
    if either == 0:
        return term_of("iou", settings.empty_pair_reward, "both masks empty", iou=counts)
    share = both / either
    tiers = sum(share >= tier for tier in _TIERS) / len(_TIERS)
    value = {"plain": share, "squared": share * share, "tiered": tiers}[settings.iou_shape]
    return term_of("iou", value, "" if facts.predicted.any() else "empty mask", iou=counts)


def _banded_term(facts: Facts, s: Settings) -> Term:
    plain = _iou_term(facts, s.changed(iou_shape="plain"))
    value: float = plain["value"]
    return plain | {
        "name": "banded",
        "value": min(s.band_high, max(s.band_low, s.band_slope * (value - s.band_centre))),
    }


def _target_term(facts: Facts) -> Term:
    there, found = bool(facts.given.any()), facts.predicted is not None and bool(facts.predicted.any())
    note = "no mask for the object" if there else "a mask without an object"
    return term_of("target", 1.0) if there == found else term_of("target", 0.0, note)


def _form_term(facts: Facts) -> Term:
    """Share of the conditions that a text meets."""
    faults = ["no end token"] if facts.truncated else []
    faults += [f"{facts.segments} [SEG] instead of 0"] if facts.segments else []
    return term_of("form", 1 - len(faults) / (1 if facts.segments is None else 2), ", ".join(faults))


def _meteor_term(facts: Facts, meteor: Meteor) -> Term:
    found = meteor.score(facts.reference, facts.caption or "")
    empty = {"mask": facts.caption is None, "caption": not found["hypothesis"], "reference": not found["reference"]}
    note = next((f"empty {name}" for name, there in empty.items() if there), "")
    return term_of("meteor", found["score"], note, meteor=found)


def _of_masks(name: str, facts: Facts, of: Callable[[Mask, Mask], float | None]) -> Term:
    if facts.predicted is None:
        return term_of(name, 0.0, "no mask")
    value = of(facts.given, facts.predicted)
    return term_of(name, 0.0, "empty mask") if value is None else term_of(name, value)


def plain_words(text: str) -> list[str]:
    """Words without case and punctuation."""
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())


def length_cost(caption: str, reference: str, ratio: float) -> float:
    """0 up to `ratio` times the reference's words, then linear up to 1 at `ratio + 1` times."""
    return min(1.0, max(0.0, len(tokens(caption)) / max(1, len(tokens(reference))) - ratio))


def repetition_cost(caption: str, n: int) -> float:
    """Share of the caption's n-grams that occurred in it before."""
    words = plain_words(caption)
    runs = [" ".join(words[at : at + n]) for at in range(len(words) - n + 1)]
    return 1 - len(set(runs)) / len(runs) if len(runs) > 1 else 0.0


def leaked_words(caption: str, words: str) -> list[str]:
    """Words and phrases of the list that occur in the caption as whole words."""
    text = f" {' '.join(plain_words(caption))} "
    phrases = dict.fromkeys(" ".join(plain_words(phrase)) for phrase in re.split(r"[,\n]", words))
    return [phrase for phrase in phrases if phrase and f" {phrase} " in text]


def _seen(facts: Facts) -> list[Term]:
    """Likelihood and contrast, if they were computed; a mask that covers no visual token scores 0."""
    known = facts.likelihood
    if known is False:
        return []
    if not isinstance(known, Likelihood):
        note = "no mask" if facts.predicted is None else "covers no visual token"
        return [term_of(name, 0.0, note) for name in ("likelihood", "contrast")]
    alone = "no other object in the picture" if known.contrast is None else ""
    return [term_of("likelihood", known.likelihood), term_of("contrast", known.contrast, alone)]


def _measured(facts: Facts, settings: Settings, meteor: Meteor) -> list[Term]:
    """Terms that need only the rollout, in the order of the lab's matrix."""
    caption, sure = facts.caption or "", facts.confidence
    leaked = leaked_words(caption, settings.leak_words)
    return [
        _iou_term(facts, settings),
        _meteor_term(facts, meteor),
        *_seen(facts),
        term_of("confidence", 0.0 if sure is None else sure, "no mask" if sure is None else ""),
        _of_masks("box", facts, box_iou),
        _of_masks("centre", facts, centre_score),
        _banded_term(facts, settings),
        _target_term(facts),
        _form_term(facts),
        term_of("length", length_cost(caption, facts.reference, settings.length_ratio)),
        term_of("repetition", repetition_cost(caption, settings.repetition_gram)),
        term_of("leak", float(bool(leaked)), ", ".join(leaked)),
    ]


def score_group(
    group: list[Facts], loop: int, settings: Settings, scorer: Scorer
) -> tuple[list[Reward], list[list[Term]]]:
    """Rewards and weighted terms of a group's rollouts."""
    weights = settings.weights[loop] | {"utility": 0.0}
    rows = [_measured(facts, settings, scorer.meteor) for facts in group]
    if scorer.judge is not None and weights["judge"] != 0:
        verdicts = scorer.judge.terms([(facts.reference, facts.caption or "") for facts in group])
        rows = [[*row, verdict, scorer.judge.utility(verdict)] for row, verdict in zip(rows, verdicts, strict=True)]
    elif weights["judge"] != 0:
        _without_judge(weights)
    if weights["user"] != 0:
        assert scorer.custom is not None
        rows = [[*row, scorer.custom(group, row, at, loop)] for at, row in enumerate(rows)]
    return _composed(rows, weights, settings)


def _without_judge(weights: dict[str, float]) -> None:
    """METEOR takes the judge's weight too."""
    weights["meteor"] += weights["judge"]
    weights["judge"] = 0.0


def _composed(
    rows: list[list[Term]], weights: dict[str, float], settings: Settings
) -> tuple[list[Reward], list[list[Term]]]:
    failed = [term for row in rows for term in row if term["name"] == "judge" and term["value"] is None]
    lost = bool(failed) and weights["judge"] != 0
    if lost and settings.missing_verdict == "pause":
        raise LabError(
            f"The judge gave no verdict ({failed[0].get('note', 'no verdict')}); nothing of this step was kept"
        )
    if lost and settings.missing_verdict == "meteor":
        _without_judge(weights)
    terms = [[term | {"weight": weights[term["name"]]} for term in row] for row in rows]
    rewards = [_sum(row, weights) for row in terms]
    if lost and settings.missing_verdict == "group":
        rewards = [None] * len(rewards)
    return rewards, terms


def _sum(terms: list[Term], weights: dict[str, float]) -> Reward:
    """
    Weighted sum; None if a weighted term is missing or none has a weight. Raises LabError for a sum that is too large.
    """
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
    means = [mean_of([scored[0][n] for scored in draws]) for n in range(len(rewards))]
    terms = []
    for n, row in enumerate(first):
        by_name = [{term["name"]: term["value"] for term in scored[1][n]} for scored in draws]
        terms.append(
            [_mean_term(term, [own.get(term["name"]) for own in by_name], [t[n] for t in texts]) for term in row]
        )
    return means, terms


def mean_of(values: Sequence[Reward], weights: Sequence[float] | None = None) -> Reward:
    """Mean of what is known."""
    known = [(v, w) for v, w in zip(values, weights or [1.0] * len(values), strict=True) if v is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _mean_term(term: Term, values: list[Reward], texts: list[str | None]) -> Term:
    if all(value == term["value"] for value in values):
        return term
    said = ", ".join(
        f"“{text or ''}” {'missing' if value is None else f'{value:.3f}'}"
        for text, value in zip(texts, values, strict=True)
    )
    return term | {"value": mean_of(values), "note": f"mean over {len(values)} captions′: {said}"}


def wants_likelihood(settings: Settings, loop: int) -> bool:
    """Whether a reward of the loop needs likelihoods."""
    return loop in settings.active_loops and any(
        settings.weights[loop][name] != 0 for name in ("likelihood", "contrast")
    )
