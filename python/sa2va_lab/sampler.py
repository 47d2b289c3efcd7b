"""Draws a token in double precision, in the lab's order of steps, with the filters of transformers."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TopKLogitsWarper


@dataclass(frozen=True)
class Sampler:
    """Guard clip, temperature, then top-k, top-p and min-p."""

    temperature: float = 1.0
    guard: float = 30.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    penalty: float = 1.0

    def guarded(self, logits: Tensor) -> Tensor:
        """Scores clipped to the guard, divided by the temperature."""
        return logits.clamp(-self.guard, self.guard) / self.temperature

    @property
    def filters(self) -> list[Any]:
        """Filters that drop tokens, in order."""
        filters = [TopKLogitsWarper(self.top_k)] if self.top_k > 0 else []
        filters += [self._likeliest] if self.top_p < 1 else []
        return filters + ([MinPLogitsWarper(self.min_p)] if self.min_p > 0 else [])

    def _likeliest(self, _seen: None, scores: Tensor) -> Tensor:
        """
        Drops the least likely tokens up to a mass of 1 − top_p; of equal ones, as the guard makes them, the first.

        The filter of transformers sorts equal scores in any order.
        """
        ascending, places = scores.sort(stable=True)
        drop = ascending.softmax(-1).cumsum(-1) <= 1 - self.top_p
        drop[:, -1] = False
        return scores.masked_fill(drop.scatter(-1, places, drop), -math.inf)


@dataclass(frozen=True)
class Drawn:
    """A token with its log-probability in the full guarded distribution; id -1 for logits that are not finite."""

    id: int
    logp: float
    clips: int = 0
    """Logits that the guard clipped."""


def draw(logits: Tensor, sampler: Sampler, u: float | None, seen: list[int]) -> Drawn:
    """
    The first token in vocabulary order whose running sum of probabilities exceeds `u`; `logits` are [V] doubles.

    Without `u`, the likeliest token before the guard, the first of equal ones.
    """
    if logits.isnan().any():
        return Drawn(-1, math.nan)
    own = logits[None]
    if sampler.penalty != 1:
        own = RepetitionPenaltyLogitsProcessor(float(sampler.penalty))(torch.tensor([seen], dtype=torch.long), own)
    if u is None:
        token = int(own.argmax())
    else:
        scores = sampler.guarded(own)
        for drop in sampler.filters:
            scores = drop(None, scores)
        shares = scores[0].softmax(-1)
        at = int(torch.searchsorted(shares.cumsum(0), u, right=True))
        token = min(at, int(shares.nonzero()[-1]))
    logs = sampler.guarded(logits).log_softmax(-1)
    clips = int((logits.abs() > sampler.guard).sum())
    return Drawn(token, float(logs[token]), clips)
