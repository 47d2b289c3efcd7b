"""The extra `terms`: reward terms beside IoU, METEOR and likelihoods."""

import math
import re
from collections.abc import Callable

import numpy as np
from pycocotools import mask as coco

from .masks import Mask
from .meteor import tokens
from .rewards import Facts, Term, iou_term, term_of
from .settings import Settings


def measured(facts: Facts, settings: Settings) -> list[Term]:
    """All of them, in the order of the lab's matrix."""
    caption, sure = facts.caption or "", facts.confidence
    leaked = leaked_words(caption, settings.leak_words)
    return [
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


def _banded_term(facts: Facts, s: Settings) -> Term:
    plain = iou_term(facts, s.changed(iou_shape="plain"))
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


def box_iou(a: Mask, b: Mask) -> float | None:
    """IoU of the bounding boxes; None if a mask is empty."""
    if not (a.any() and b.any()):
        return None
    first, second = (coco.toBbox(coco.encode(np.asfortranarray(mask)))[None] for mask in (a, b))
    return float(coco.iou(first, second, [0])[0, 0])


def centre_score(a: Mask, b: Mask) -> float | None:
    """1 minus the distance of the centres of mass over the diagonal; None if a mask is empty."""
    if not (a.any() and b.any()):
        return None
    first, second = (np.argwhere(mask).mean(0) for mask in (a, b))
    return 1 - _hypot(*abs(first - second)) / _hypot(*a.shape)


def _hypot(a: float, b: float) -> float:
    """Length of (a, b), both at least 0, as JavaScript's engine rounds it."""
    most = float(max(a, b)) or 1.0
    share = float(min(a, b)) / most
    return math.sqrt(1 + share * share) * most if max(a, b) else 0.0
