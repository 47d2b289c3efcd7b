"""Draws tokens in double precision, in the lab's order of steps, with the filters of transformers."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_BLOCK = 512
"""Tokens whose running sum is computed only where a draw falls among them."""

Numbers = npt.NDArray[np.float64]


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

    def penalised(self, logits: Tensor, seen: Tensor | None) -> Tensor:
        """Logits with the repetition penalty of the tokens in `seen`."""
        if self.penalty == 1 or seen is None:
            return logits
        own = logits.double()
        return torch.where(seen, torch.where(own < 0, own * self.penalty, own / self.penalty), own)

    def dropped(self, weights: Tensor) -> Tensor:
        """Weights [n, V], in place, with 0 for the tokens that the filters drop."""
        if self.top_k > 0:
            weights.masked_fill_(weights < weights.topk(min(self.top_k, weights.shape[-1])).values[:, -1:], 0)
        if self.top_p < 1:
            ascending = weights.sort(-1).values
            spare = (1 - self.top_p) * weights.sum(-1, keepdim=True)
            count = (ascending.cumsum(-1) <= spare).sum(-1, keepdim=True).clamp(max=weights.shape[-1] - 1)
            least = ascending.gather(-1, count)
            # Of equal ones, as the guard makes them, the first are dropped; the filter of transformers takes any.
            alike = weights == least
            weights.masked_fill_(alike & (alike.cumsum(-1) <= count - (weights < least).sum(-1, keepdim=True)), 0)
            weights.masked_fill_(weights < least, 0)
        if self.min_p > 0:
            weights.masked_fill_(weights < self.min_p * weights.amax(-1, keepdim=True), 0)
        return weights


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
    own = sampler.penalised(logits, seen)
    if logits.device.type == "cpu":
        host = _Host(sampler, logits.shape[-1])
        wanted = [None] * len(logits) if u is None else u.tolist()
        rows = [host.draw(*row) for row in zip(logits, own, wanted, strict=True)]
        found = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
        drawn, scored, clipped = found
        return Drawn(drawn.long(), scored, clipped.long())
    return on_device(logits, own, sampler, u)


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
    weights = torch.nn.functional.pad(weights, (0, -width % _BLOCK)).view(len(weights), -1, _BLOCK)
    sums = weights.sum(-1).cumsum(-1)
    wanted = u * sums[:, -1:]
    block = torch.searchsorted(sums, wanted, right=True).clamp(max=sums.shape[-1] - 1)
    before = torch.where(block > 0, sums.gather(-1, (block - 1).clamp_min(0)), 0.0)
    own = weights.gather(1, block[..., None].expand(-1, 1, _BLOCK))[:, 0]
    # A sum of rounded numbers may stay below the wanted one: the last possible token then.
    last = _BLOCK - 1 - (own > 0).flip(-1).int().argmax(-1, keepdim=True)
    inside = torch.minimum(torch.searchsorted(before + own.cumsum(-1), wanted, right=True), last)
    # Of numbers that are not finite a place may lie beyond the vocabulary.
    return (block * _BLOCK + inside).clamp(max=width - 1)


class _Host:
    """The same on the CPU, row by row in one buffer: memory of this size takes longer than its numbers."""

    def __init__(self, sampler: Sampler, width: int) -> None:
        self._s, self._width = sampler, width
        # Whole blocks, without weight beyond the vocabulary.
        self._all: Numbers = np.zeros(-(-width // _BLOCK) * _BLOCK)
        self._weights = self._all[:width]
        self._shared = torch.from_numpy(self._weights)

    def draw(self, logits: Tensor, own: Tensor, u: float | None) -> tuple[int, float, int]:
        """Token, log-probability and clipped logits of a row; `own` are the logits with a penalty."""
        guard, temperature = self._s.guard, self._s.temperature
        token = -1 if u is not None else int(own.argmax())
        clips, largest = self._weigh(logits)
        sums = self._sums()
        total = float(np.log(sums[-1]))
        if u is not None and not np.isnan(total):
            if own.data_ptr() != logits.data_ptr():
                self._weigh(own)
            self._drop()
            token = self._placed(self._sums(), u)
        if np.isnan(total):
            return -1, total, clips
        chosen = min(guard, max(-guard, float(logits[token]))) / temperature
        return token, chosen - largest - total, clips

    def _weigh(self, logits: Tensor) -> tuple[int, float]:
        """Writes probabilities up to a factor; returns the number of clipped logits and the largest score."""
        weights, guard = self._weights, self._s.guard
        self._shared.copy_(logits)
        clips = 0
        if weights.max() > guard or weights.min() < -guard:
            clips = int((np.abs(weights) > guard).sum())
            np.clip(weights, -guard, guard, out=weights)
        if self._s.temperature != 1:
            weights /= self._s.temperature
        largest = float(weights.max())
        np.exp(np.subtract(weights, largest, out=weights), out=weights)
        return clips, largest

    def _sums(self) -> Numbers:
        """Running sums up to the end of each block."""
        found: Numbers = torch.from_numpy(self._all).view(-1, _BLOCK).sum(-1).numpy().cumsum()
        return found

    def _placed(self, sums: Numbers, u: float) -> int:
        wanted = u * sums[-1]
        block = min(int(np.searchsorted(sums, wanted, "right")), len(sums) - 1)
        own = self._all[block * _BLOCK : (block + 1) * _BLOCK]
        inside = own.cumsum() + (sums[block - 1] if block else 0.0)
        return block * _BLOCK + min(int(np.searchsorted(inside, wanted, "right")), int(np.flatnonzero(own)[-1]))

    def _keep(self, least: float) -> None:
        """Drops the weights below `least`."""
        torch.threshold_(self._shared, float(np.nextafter(least, 0.0)), 0.0)

    def _drop(self) -> None:
        weights, s = self._weights, self._s
        known = weights
        if s.top_k > 0:
            known = self._most(min(s.top_k, len(weights)))
            self._keep(float(known.min()))
        if s.top_p < 1:
            least, ties = self._border(known)
            if ties:
                weights[np.flatnonzero(weights == least)[:ties]] = 0
            self._keep(least)
        if s.min_p > 0:
            self._keep(s.min_p * float(weights.max()))

    def _most(self, count: int) -> Numbers:
        """The largest weights and those equal to the last of them."""
        # As many blocks have one that is at least this.
        tops = np.sort(torch.from_numpy(self._all).view(-1, _BLOCK).amax(-1).numpy())
        own = np.compress(self._weights >= (tops[-count] if count <= len(tops) else 0.0), self._weights)
        return np.compress(own >= np.partition(own, -count)[-count], own)

    def _border(self, weights: Numbers) -> tuple[float, int]:
        """
        The least weight that stays by top-p, and how many of those equal to it are dropped.

        Leading bits order numbers in bins, of which only that of the border is sorted.
        """
        bins = weights.view(np.int64) >> 44
        bins -= bins.min()
        sums = np.bincount(bins, weights).cumsum()
        spare = (1 - self._s.top_p) * sums[-1]
        at = min(int(np.searchsorted(sums, spare, "right")), len(sums) - 1)
        inside = np.sort(np.compress(bins == at, weights))
        within = inside.cumsum() + (sums[at - 1] if at else 0.0)
        gone = min(int(np.searchsorted(within, spare, "right")), len(inside) - 1)
        return float(inside[gone]), gone - int(np.searchsorted(inside, inside[gone]))
