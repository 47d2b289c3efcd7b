"""Draws tokens in double precision, in the lab's order of steps, with the filters of transformers."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .extras import extra, optional, part_of

BLOCK = 512
"""Tokens whose running sum is computed only where a draw falls among them."""


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
        """Scores in double precision, clipped to the guard, divided by the temperature."""
        scores = torch.clamp(logits.double(), -self.guard, self.guard)
        return scores if self.temperature == 1 else scores.div_(self.temperature)

    def dropped(self, weights: Tensor) -> Tensor:
        """Weights [n, V], in place, with 0 for the tokens that the filters drop."""
        filtered = self.top_k > 0 or self.top_p < 1 or self.min_p > 0
        found: Tensor = extra("draws", "A filter of tokens").dropped(self, weights) if filtered else weights
        return found


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

    `logits` are [n, V]; `seen` [n, V] marks tokens with a repetition penalty. Without `u`, the likeliest token before
    the guard, the first of equal ones.
    """
    penalty = None if seen is None else part_of("repetitionPenalty", sampler.penalty)
    own = logits if penalty is None else penalty.penalised(sampler, logits, seen)
    host = optional("draws") if logits.device.type == "cpu" else None
    found: Drawn = (on_device if host is None else host.draw)(logits, own, sampler, u)
    return found


def on_device(logits: Tensor, own: Tensor, sampler: Sampler, u: Tensor | None) -> Drawn:
    """`draw` for all rows at once, without reading anything back; `own` are the logits with a penalty."""
    scores = sampler.guarded(logits)
    largest = scores.amax(-1, keepdim=True)
    weights = (scores - largest).exp_()
    total = weights.sum(-1, keepdim=True).log()
    if u is None:
        ids = own.argmax(-1, keepdim=True)
    else:
        if own is not logits:
            scores = sampler.guarded(own)
            weights = (scores - scores.amax(-1, keepdim=True)).exp_()
        ids = _placed(sampler.dropped(weights), u[:, None])
    logps = scores.gather(-1, ids) if own is logits else sampler.guarded(logits.gather(-1, ids))
    clips = (logits.abs() > sampler.guard).count_nonzero(-1)
    return Drawn(ids[:, 0].masked_fill(total[:, 0].isnan(), -1), (logps - largest - total)[:, 0], clips)


def _placed(weights: Tensor, u: Tensor) -> Tensor:
    """Of weights [n, V] the first whose running sum exceeds the share `u` [n, 1] of the whole, [n, 1]."""
    width = weights.shape[-1]
    weights = torch.nn.functional.pad(weights, (0, -width % BLOCK)).view(len(weights), -1, BLOCK)
    sums = weights.sum(-1).cumsum(-1)
    wanted = u * sums[:, -1:]
    block = torch.searchsorted(sums, wanted, right=True).clamp(max=sums.shape[-1] - 1)
    before = torch.where(block > 0, sums.gather(-1, (block - 1).clamp_min(0)), 0.0)
    own = weights.gather(1, block[..., None].expand(-1, 1, BLOCK))[:, 0]
    # A sum of rounded numbers may stay below the wanted one: the last possible token then.
    last = BLOCK - 1 - (own > 0).flip(-1).int().argmax(-1, keepdim=True)
    inside = torch.minimum(torch.searchsorted(before + own.cumsum(-1), wanted, right=True), last)
    # Of numbers that are not finite a place may lie beyond the vocabulary.
    return (block * BLOCK + inside).clamp(max=width - 1)
