"""The row of a prompt as a function of counters, rows and settings."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

from .extras import part_for
from .philox import Address, uniforms
from .settings import Settings


def word_count(caption: str) -> int:
    """Words of a caption, at least 1."""
    return max(1, len(caption.split()))


def permuted(items: Sequence[int], draws: Any) -> list[int]:
    """Fisher–Yates from the front."""
    order = list(items)
    for at in range(len(order)):
        other = at + math.floor(draws[at] * (len(order) - at))
        order[at], order[other] = order[other], order[at]
    return order


@dataclass(frozen=True)
class Known:
    """Inputs of the order."""

    train: list[int]
    """Data-set indices of the training rows."""
    ids: list[str]
    """Of all rows."""
    words: list[int]
    """Words of the captions of all rows."""
    difficulty: list[dict[str, Any]]
    """Lines of difficulty.jsonl."""
    streams: dict[str, int]


class LoopOrder:
    """The draws of one loop: in every epoch all its rows in a random order."""

    def __init__(self, known: Known, s: Settings, batch_of: Callable[[int], int], loop: int) -> None:
        """
        `batch_of` returns the groups of the step that drew the n-th prompt.

        Raises LabError when the settings leave no row, or need a difficulty that was not measured.
        """
        self._s, self._loop, self._streams, self._batch_of = s, loop, known.streams, batch_of
        self.rows = self._drawn(known)
        """Data-set indices that can be drawn."""
        self._epoch = lru_cache(maxsize=8)(self._epoch_of)
        self._length = len(self._slots(0, 0))

    def _drawn(self, known: Known) -> list[int]:
        return known.train

    def _address(self, stream: str, step: int, round: int, position: int) -> Address:
        return Address(self._s.seed, step, self._loop, 0, self._streams[stream], round, position)

    def _slots(self, epoch: int, round: int) -> list[int]:
        """Indices in `rows` of an epoch."""
        return list(range(len(self.rows)))

    def _epoch_of(self, epoch: int, round: int) -> list[int]:
        slots = self._slots(epoch, round)
        return permuted(slots, uniforms(self._address("data", epoch, round, 0), len(slots), rows=True))

    def place(self, n: int, step: int, round: int = 0) -> int:
        """Index in `rows` of the loop's n-th prompt; `step` from 1, `round` of dynamic sampling."""
        return self._epoch(n // self._length, round)[n % self._length]


class RowOrder:
    """The order in which each loop takes its rows."""

    def __init__(self, known: Known, settings: Settings, earlier: Sequence[tuple[int, Settings]] = ()) -> None:
        """
        Computes a loop's order when it is first requested.

        `earlier` has the settings of earlier steps with another batch and their last step, by ascending step.
        """
        self.mixed = part_for(settings, "mixSources", "lengthGrouping", "curriculum", "zeroSpreadRows")
        """The part that chooses rows otherwise; None if rows are drawn alike."""
        self.ids = known.ids
        """Of all rows."""
        self._parts = [*earlier, (sys.maxsize, settings)]
        kind = LoopOrder if self.mixed is None else self.mixed.MixedOrder
        self.of = cache(partial(kind, known, settings, self._batch_of))
        """The order of a loop."""

    def before(self, step: int) -> int:
        """Prompts of a loop in all steps before this one (from 1), whatever the batch of each."""
        began, found = 0, 0
        for last, s in self._parts:
            found += max(0, min(step - 1, last) - began) * s.rows_per_step
            began = last
        return found

    def _batch_of(self, n: int) -> int:
        return next(s for last, s in self._parts if n < self.before(last + 1)).groups
