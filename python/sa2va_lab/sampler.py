"""Drawing a token in double precision, in the lab's order of steps."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Row = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sampler:
    """Guard clip, temperature, then top-k, top-p and min-p."""

    temperature: float = 1.0
    guard: float = 30.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    penalty: float = 1.0


@dataclass(frozen=True)
class Drawn:
    """A token with its log-probability and the entropy, both of the full guarded distribution; id -1 for no numbers."""

    id: int
    logp: float
    entropy: float
    clips: int = 0
    """Logits that the guard clipped."""


def _softmax(scores: Row) -> Row:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def _penalised(logits: Row, sampler: Sampler, seen: list[int]) -> Row:
    if sampler.penalty == 1:
        return logits
    scores = logits.copy()
    ids = np.unique(np.asarray(seen, dtype=np.int64))
    scores[ids] = np.where(scores[ids] > 0, scores[ids] / sampler.penalty, scores[ids] * sampler.penalty)
    return scores


def _kept(scores: Row, sampler: Sampler) -> Row:
    """Scores with what the sampler drops at minus infinity."""
    if 0 < sampler.top_k < len(scores):
        scores = np.where(scores < np.sort(scores)[-sampler.top_k], -np.inf, scores)
    if sampler.top_p < 1:
        order = np.argsort(scores, kind="stable")
        mass = np.cumsum(_softmax(scores)[order])
        drop = mass <= 1 - sampler.top_p
        drop[-1] = False
        scores = scores.copy()
        scores[order[drop]] = -np.inf
    if sampler.min_p > 0:
        shares = _softmax(scores)
        scores = np.where(shares < sampler.min_p * shares.max(), -np.inf, scores)
    return scores


def draw(logits: Row, sampler: Sampler, u: float | None, seen: list[int]) -> Drawn:
    """
    The first token in vocabulary order whose running sum of probabilities exceeds `u`.

    Without `u` it is the likeliest token before the guard, the first of equal ones.
    """
    guarded = np.clip(logits, -sampler.guard, sampler.guard) / sampler.temperature
    if np.isnan(guarded).any():
        return Drawn(-1, float("nan"), float("nan"))
    own = _penalised(logits, sampler, seen)
    if u is None:
        token = int(own.argmax())
    else:
        shares = _softmax(_kept(np.clip(own, -sampler.guard, sampler.guard) / sampler.temperature, sampler))
        places = np.flatnonzero(shares > 0)
        sums = np.cumsum(shares[places])
        at = int(np.searchsorted(sums, u, side="right"))
        token = int(places[min(at, len(places) - 1)])
    top = guarded.max()
    weights = np.exp(guarded - top)
    total = weights.sum()
    entropy = np.log(total) - ((guarded - top) * weights).sum() / total
    logp = float(guarded[token] - top - np.log(total))
    return Drawn(token, logp, float(entropy), int((np.abs(logits) > sampler.guard).sum()))
