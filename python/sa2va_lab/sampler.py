"""Draws tokens in double precision, in the lab's order of steps, with the filters of transformers."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import MinPLogitsWarper, TopKLogitsWarper


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


class Drawn(NamedTuple):
    """Tokens of several rows, [n] each, on the device of their logits."""

    ids: Tensor
    """-1 where logits are not finite."""
    logps: Tensor
    """Log-probabilities in the full guarded distribution."""
    clips: Tensor
    """Logits that the guard clipped."""


def draw(logits: Tensor, sampler: Sampler, u: Tensor | None, seen: Tensor | None) -> Drawn:
    """
    Of each row the first token in vocabulary order whose running sum of probabilities exceeds `u` [n].

    `logits` are [n, V] doubles; `seen` [n, V] marks tokens with a repetition penalty. Without `u`, the likeliest token
    before the guard, the first of equal ones. Nothing is read back to the host.
    """
    own = logits
    if sampler.penalty != 1 and seen is not None:
        own = torch.where(seen, torch.where(own < 0, own * sampler.penalty, own / sampler.penalty), own)
    if u is None:
        ids = own.argmax(-1)
    else:
        scores = sampler.guarded(own)
        for drop in sampler.filters:
            scores = drop(None, scores)
        shares = scores.softmax(-1)
        # A sum of rounded probabilities may stay below u: the last possible token then.
        last = shares.shape[-1] - 1 - (shares > 0).flip(-1).int().argmax(-1)
        ids = torch.minimum(torch.searchsorted(shares.cumsum(-1), u[:, None], right=True)[:, 0], last)
    logps = sampler.guarded(logits).log_softmax(-1).gather(-1, ids[:, None])[:, 0]
    broken = logits.isnan().any(-1)
    return Drawn(ids.masked_fill(broken, -1), logps, (logits.abs() > sampler.guard).sum(-1))
