"""Draws tokens in double precision, in the lab's order of steps, with the filters of transformers."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_BLOCK = 512
"""Tokens whose running sum is computed only where a draw falls among them."""
_CACHED = 2**18
"""Numbers that a core of the CPU keeps close, so that it handles the rows in pieces of this size."""


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

    @property
    def filters(self) -> bool:
        """Whether any filter drops tokens."""
        return self.top_k > 0 or self.top_p < 1 or self.min_p > 0

    def penalised(self, logits: Tensor, seen: Tensor | None) -> Tensor:
        """Logits with the repetition penalty of the tokens in `seen`."""
        if self.penalty == 1 or seen is None:
            return logits
        own = logits.double()
        return torch.where(seen, torch.where(own < 0, own * self.penalty, own / self.penalty), own)

    def weigh(self, logits: Tensor, weights: Tensor) -> Tensor:
        """
        Writes probabilities up to a factor per row to `weights` [n, V]; returns the largest score of each row [n, 1].

        In place, because a new buffer of this size takes longer than its numbers.
        """
        weights.copy_(logits).clamp_(-self.guard, self.guard)
        if self.temperature != 1:
            weights.div_(self.temperature)
        largest = weights.amax(-1, keepdim=True)
        weights.sub_(largest).exp_()
        return largest

    def drop(self, weights: Tensor) -> None:
        """Sets `weights` [n, V] of the tokens that the filters drop to 0."""
        if self.top_k > 0:
            weights.masked_fill_(weights < weights.topk(min(self.top_k, weights.shape[-1])).values[:, -1:], 0)
        if self.top_p < 1:
            total = weights.sum(-1, keepdim=True)
            least, ties = _least_kept(weights, total, (1 - self.top_p) * total)
            # Of equal ones, as the guard makes them, the first are dropped; the filter of transformers takes any.
            if weights.is_cuda or ties.any():
                alike = weights == least
                weights.masked_fill_(alike & (alike.cumsum(-1) <= ties), 0)
            weights.masked_fill_(weights < least, 0)
        if self.min_p > 0:
            weights.masked_fill_(weights < self.min_p * weights.amax(-1, keepdim=True), 0)


def _least_kept(weights: Tensor, total: Tensor, spare: Tensor) -> tuple[Tensor, Tensor]:
    """
    Of each row of [n, V] the least weight that stays if the lightest, of a sum of at most `spare` [n, 1], are dropped,
    and how many of those equal to it are dropped, [n, 1] both.
    """
    if weights.device.type == "cpu":
        pairs = map(_selected, weights.numpy(), total[:, 0].tolist(), spare[:, 0].tolist())
        values = torch.tensor(list(pairs), dtype=torch.float64)
        return values[:, :1], values[:, 1:]
    ascending = weights.sort(-1).values
    count = (ascending.cumsum(-1) <= spare).sum(-1, keepdim=True).clamp(max=weights.shape[-1] - 1)
    least = ascending.gather(-1, count)
    return least, count - (weights < least).sum(-1, keepdim=True)


def _selected(weights: npt.NDArray[np.float64], total: float, spare: float) -> tuple[float, int]:
    """`_least_kept` of one row without sorting it: by the leading bits of its numbers, then within those."""
    # Even together, smaller ones do not exceed `spare`.
    most = np.compress(weights > spare / len(weights), weights)
    if not len(most):
        return 0.0, 0
    left, bits = spare - (total - most.sum()), most.view(np.int64) >> 42
    bits -= bits.min()
    sums = np.cumsum(np.bincount(bits, most))
    at = min(int(np.searchsorted(sums, left, "right")), len(sums) - 1)
    inside = np.sort(most[bits == at])
    within = np.cumsum(inside) + (sums[at - 1] if at else 0.0)
    gone = min(int(np.searchsorted(within, left, "right")), len(inside) - 1)
    return float(inside[gone]), gone - int(np.searchsorted(inside, inside[gone]))


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
    the guard, the first of equal ones. Of a device nothing is read back to the host.
    """
    size = max(1, _CACHED // logits.shape[-1]) if logits.device.type == "cpu" else max(1, len(logits))
    # Whole blocks, without weight beyond the vocabulary.
    wide = -(-logits.shape[-1] // _BLOCK) * _BLOCK
    buffer = logits.new_zeros(min(size, len(logits)), wide, dtype=torch.float64)
    parts = []
    for at in range(0, len(logits), size):
        own, marked, drawn = (None if all_ is None else all_[at : at + size] for all_ in (logits, seen, u))
        assert own is not None
        parts.append(_draw(own, sampler, drawn, marked, buffer[: len(own)]))
    return Drawn(*map(torch.cat, zip(*parts, strict=True)))


def _draw(logits: Tensor, sampler: Sampler, u: Tensor | None, seen: Tensor | None, wide: Tensor) -> Drawn:
    width, own = logits.shape[-1], sampler.penalised(logits, seen)
    weights, blocks = wide[:, :width], wide.view(len(wide), -1, _BLOCK)
    largest = sampler.weigh(logits, weights)
    sums = blocks.sum(-1).cumsum(-1)
    total = sums[:, -1:].log()
    if u is None:
        ids = own.argmax(-1, keepdim=True)
    else:
        if own is not logits:
            sampler.weigh(own, weights)
        if own is not logits or sampler.filters:
            sampler.drop(weights)
            sums = blocks.sum(-1).cumsum(-1)
        # Of numbers that are not finite a place may lie beyond the vocabulary.
        ids = _placed(blocks, sums, u[:, None]).clamp(max=width - 1)
    chosen = sampler.guarded(logits.gather(-1, ids))
    logps = (chosen - largest - total)[:, 0]
    clips = (logits.abs() > sampler.guard).count_nonzero(-1)
    return Drawn(ids[:, 0].masked_fill(total[:, 0].isnan(), -1), logps, clips)


def _placed(weights: Tensor, sums: Tensor, u: Tensor) -> Tensor:
    """
    Of weights [n, blocks, B] the first whose running sum exceeds the share `u` [n, 1] of the whole, [n, 1]; `sums`
    [n, blocks] are those up to the end of each block.
    """
    wanted = u * sums[:, -1:]
    block = torch.searchsorted(sums, wanted, right=True).clamp(max=sums.shape[-1] - 1)
    before = torch.where(block > 0, sums.gather(-1, (block - 1).clamp_min(0)), 0.0)
    own = weights.gather(1, block[..., None].expand(-1, 1, weights.shape[-1]))[:, 0]
    # A sum of rounded numbers may stay below the wanted one: the last possible token then.
    last = own.shape[-1] - 1 - (own > 0).flip(-1).int().argmax(-1, keepdim=True)
    inside = torch.minimum(torch.searchsorted(before + own.cumsum(-1), wanted, right=True), last)
    return block * weights.shape[-1] + inside
