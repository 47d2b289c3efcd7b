"""
The extra `draws`: the filters top-k, top-p and min-p, and draws on the CPU row by row in one buffer, since memory of
this size takes longer than its numbers.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .sampler import BLOCK, Drawn, Sampler

Numbers = npt.NDArray[np.float64]


def draw(logits: Tensor, own: Tensor, sampler: Sampler, u: Tensor | None) -> Drawn:
    """As `on_device`."""
    host = _Host(sampler, logits.shape[-1])
    wanted = [None] * len(logits) if u is None else u.tolist()
    rows = [host.draw(*row) for row in zip(logits, own, wanted, strict=True)]
    drawn, scored, clipped = (torch.tensor(column, dtype=torch.float64) for column in zip(*rows, strict=True))
    return Drawn(drawn.long(), scored, clipped.long())


def penalised(sampler: Sampler, logits: Tensor, seen: Tensor) -> Tensor:
    """Logits with the repetition penalty of the tokens in `seen` [n, V]."""
    own = logits.double()
    return torch.where(seen, torch.where(own < 0, own * sampler.penalty, own / sampler.penalty), own)


def seen_in(prompts: list[list[int]], width: int, device: torch.device) -> Tensor:
    """Marks the tokens of prompts, [n, width]."""
    seen = torch.zeros(len(prompts), width, dtype=torch.bool, device=device)
    for row, prompt in enumerate(prompts):
        seen[row, torch.tensor(sorted(set(prompt)), device=device, dtype=torch.long)] = True
    return seen


def dropped(sampler: Sampler, weights: Tensor) -> Tensor:
    """Weights [n, V], in place, with 0 for the tokens that the filters drop."""
    if sampler.top_k > 0:
        weights.masked_fill_(weights < weights.topk(min(sampler.top_k, weights.shape[-1])).values[:, -1:], 0)
    if sampler.top_p < 1:
        ascending = weights.sort(-1).values
        spare = (1 - sampler.top_p) * weights.sum(-1, keepdim=True)
        count = (ascending.cumsum(-1) <= spare).sum(-1, keepdim=True).clamp(max=weights.shape[-1] - 1)
        least = ascending.gather(-1, count)
        # Of equal ones, as the guard makes them, the first are dropped; the filter of transformers takes any.
        alike = weights == least
        weights.masked_fill_(alike & (alike.cumsum(-1) <= count - (weights < least).sum(-1, keepdim=True)), 0)
        weights.masked_fill_(weights < least, 0)
    if sampler.min_p > 0:
        weights.masked_fill_(weights < sampler.min_p * weights.amax(-1, keepdim=True), 0)
    return weights


class _Host:
    """Probabilities of one row, in a buffer that all rows share."""

    def __init__(self, sampler: Sampler, width: int) -> None:
        self._s, self._width = sampler, width
        # Whole blocks, without weight beyond the vocabulary.
        self._all: Numbers = np.zeros(-(-width // BLOCK) * BLOCK)
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
        found: Numbers = torch.from_numpy(self._all).view(-1, BLOCK).sum(-1).numpy().cumsum()
        return found

    def _placed(self, sums: Numbers, u: float) -> int:
        wanted = u * sums[-1]
        block = min(int(np.searchsorted(sums, wanted, "right")), len(sums) - 1)
        own = self._all[block * BLOCK : (block + 1) * BLOCK]
        inside = own.cumsum() + (sums[block - 1] if block else 0.0)
        return block * BLOCK + min(int(np.searchsorted(inside, wanted, "right")), int(np.flatnonzero(own)[-1]))

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
        tops = np.sort(torch.from_numpy(self._all).view(-1, BLOCK).amax(-1).numpy())
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
