"""Reward terms of a rollout and their sum, with the fields that the lab's inspector shows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import LabError
from .extras import extra, optional
from .masks import Mask, overlap
from .meteor import Meteor
from .settings import Settings

Term = dict[str, Any]
Reward = float | None
_TIERS = (0.5, 0.7, 0.9)
_LARGEST = 1e12


@dataclass(frozen=True)
class Likelihood:
    """Likelihood of a caption given a mask; `contrast` is None without other captions."""

    likelihood: float
    contrast: float | None


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


class Judge(Protocol):
    """What rewards need of the extra `judge`."""

    @property
    def described(self) -> dict[str, Any]:
        """The judge as a run records it."""

    def terms(self, pairs: list[tuple[str, str]]) -> list[Term]:
        """Verdicts on pairs of a reference and a caption."""

    @staticmethod
    def utility(verdict: Term) -> Term:
        """The term `utility` of a verdict."""


@dataclass(frozen=True)
class Scorer:
    """Dependencies of rewards."""

    meteor: Meteor
    judge: Judge | None = None
    custom: Custom | None = None
    """Replaces the lab's custom reward."""


def term_of(name: str, value: Reward, note: str = "", **more: Any) -> Term:
    """A term without its weight."""
    return {"name": name, "value": value} | more | ({"note": note} if note else {})


def iou_term(facts: Facts, settings: Settings) -> Term:
    """Overlap of a mask with the given one, in the shape of the settings."""
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


def _meteor_term(facts: Facts, meteor: Meteor) -> Term:
    found = meteor.score(facts.reference, facts.caption or "")
    empty = {"mask": facts.caption is None, "caption": not found["hypothesis"], "reference": not found["reference"]}
    note = next((f"empty {name}" for name, there in empty.items() if there), "")
    return term_of("meteor", found["score"], note, meteor=found)


def _measured(facts: Facts, settings: Settings, meteor: Meteor) -> list[Term]:
    """Terms that need only the rollout, in the order of the lab's matrix."""
    more = optional("terms")
    found = [iou_term(facts, settings), _meteor_term(facts, meteor)]
    if facts.likelihood is not False:
        found += extra("likelihood", "A likelihood").terms(facts)
    return found if more is None else [*found, *more.measured(facts, settings)]


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


def mean_of(values: Sequence[Reward], weights: Sequence[float] | None = None) -> Reward:
    """Mean of what is known."""
    known = [(v, w) for v, w in zip(values, weights or [1.0] * len(values), strict=True) if v is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None
