"""The row of a prompt as a function of counters, rows and settings, with the lab's mixes, lengths and curriculum."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import zip_longest
from typing import Any

import numpy as np

from .errors import LabError
from .philox import Address, uniform, uniforms
from .settings import Settings

_OTHERS = "*"


def parse_sources(text: str) -> list[tuple[str, float]]:
    """Names and numbers of a mix, with `*` at the end unless it is named; empty for an empty text."""
    found: list[tuple[str, float]] = []
    for part in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        name, _, amount = part.rpartition("=")
        try:
            found.append((name.strip(), float(amount)))
        except ValueError as cause:
            raise LabError(f"mixSources has {part!r}, which is not name=number") from cause
    return found if not found or any(name == _OTHERS for name, _ in found) else [*found, (_OTHERS, 1.0)]


def source_at(sources: list[tuple[str, float]], row_id: str) -> int:
    """Index of a row's source, by its file: of several names that fit, the longest."""
    file = row_id.rpartition("#")[0]
    fits = [
        0 if name == _OTHERS else len(name) if file.startswith(name) or f"/{name}" in file else -1
        for name, _ in sources
    ]
    return fits.index(max(fits))


def word_count(caption: str) -> int:
    """Words of a caption, at least 1."""
    return max(1, len(caption.split()))


def _permuted(items: Sequence[int], draws: Any) -> list[int]:
    """Fisher–Yates from the front."""
    order = list(items)
    for at in range(len(order)):
        other = at + math.floor(draws[at] * (len(order) - at))
        order[at], order[other] = order[other], order[at]
    return order


def length_grouped(order: list[int], lengths: list[int], batch: int) -> list[int]:
    """Groups of several batches, each sorted from longest to shortest; the longest item of all comes first."""
    size = batch * max(1, min(len(order) // (4 * batch), 50))
    out: list[int] = []
    longest = 0
    for start in range(0, len(order), size):
        out += sorted(order[start : start + size], key=lambda item: -lengths[item])
        if lengths[out[start]] > lengths[out[longest]]:
            longest = start
    out[0], out[longest] = out[longest], out[0]
    return out


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
    """The draws of one loop."""

    def __init__(self, known: Known, s: Settings, batch_of: Callable[[int], int], loop: int) -> None:
        """
        `batch_of` returns the groups of the step that drew the n-th prompt.

        Raises LabError when the settings leave no row, or need a difficulty that was not measured.
        """
        self._s, self._loop, self._streams, self._batch_of = s, loop, known.streams, batch_of
        self._mix = parse_sources(s.mix_sources)
        measured = {own["rowId"]: own for own in known.difficulty if own["loop"] == loop}
        wanted = s.curriculum != "off" or s.zero_spread_rows == "skip"
        if wanted and not any(known.ids[index] in measured for index in known.train):
            raise LabError(f"difficulty.jsonl lacks the training rows of loop {loop}; export the run again")

        def drawn(index: int) -> bool:
            skipped = s.zero_spread_rows == "skip" and measured.get(known.ids[index], {}).get("zeroSpread", False)
            return not skipped and (not self._mix or self._mix[source_at(self._mix, known.ids[index])][1] > 0)

        self.rows = [index for index in known.train if drawn(index)]
        """Data-set indices that can be drawn."""
        if not self.rows:
            raise LabError(f"mixSources or zeroSpreadRows leaves no training row for loop {loop}")
        whole = list(range(len(self.rows)))
        self._by_source = [whole]
        if self._mix:
            places = [source_at(self._mix, known.ids[index]) for index in self.rows]
            self._by_source = [[place for place in whole if places[place] == at] for at in range(len(self._mix))]
        self._amounts = [amount for _, amount in self._mix] or [1.0]
        self._lengths = [known.words[index] for index in self.rows] if s.length_grouping else None
        self._ranking = whole
        if s.curriculum != "off":
            rewards = [measured.get(known.ids[index], {}).get("reward") for index in self.rows]
            there = sorted(reward for reward in rewards if reward is not None)
            middle = there[len(there) // 2] if there else 0.0
            known_rewards = [middle if reward is None else reward for reward in rewards]
            self._ranking = sorted(whole, key=lambda place: -known_rewards[place])
            if s.curriculum == "hard":
                self._ranking.reverse()
        self._epoch = lru_cache(maxsize=8)(self._epoch_of)
        self._sums = lru_cache(maxsize=2)(self._sums_of)
        self._length = len(self._slots(0, 0))
        if self._length == 0 and s.mix_by == "repeats":
            raise LabError("mixSources gives an epoch without rows; raise one of its numbers")

    def _address(self, stream: str, step: int, round: int, position: int) -> Address:
        return Address(self._s.seed, step, self._loop, 0, self._streams[stream], round, position)

    def _slots(self, epoch: int, round: int) -> list[int]:
        """Indices of an epoch: each source repeated as set, fractions chosen at random."""
        found: list[int] = []
        for at, (places, amount) in enumerate(zip(self._by_source, self._amounts, strict=True)):
            length = math.floor(len(places) * amount + 1e-9)
            whole, rest = divmod(length, max(1, len(places)))
            found += places * whole
            if rest:
                draws = uniforms(self._address("curriculum", epoch, round, at), len(places), rows=True)
                found += _permuted(places, draws)[:rest]
        return found

    def _epoch_of(self, epoch: int, round: int) -> list[int]:
        slots = self._slots(epoch, round)
        order = _permuted(slots, uniforms(self._address("data", epoch, round, 0), len(slots), rows=True))
        if self._lengths is None:
            return order
        return length_grouped(order, self._lengths, self._batch_of(epoch * self._length))

    def _sums_of(self, size: int) -> Any:
        """Running sums of the weights of the first rows in the ranking."""
        weights = np.zeros(len(self.rows))
        for places, amount in zip(self._by_source, self._amounts, strict=True):
            weights[places] = amount / max(1, len(places)) if self._s.mix_by == "weights" else amount
        return np.cumsum(weights[self._ranking[:size]])

    def place(self, n: int, step: int, round: int = 0) -> int:
        """Index in `rows` of the loop's n-th prompt; `step` from 1, `round` of dynamic sampling."""
        s, share = self._s, 1.0
        if s.curriculum != "off":
            share = s.curriculum_start + (1 - s.curriculum_start) * (step - 1) / s.curriculum_steps
        if share >= 1 and not (self._mix and s.mix_by == "weights"):
            return self._epoch(n // self._length, round)[n % self._length]
        size = max(1, math.ceil(share * len(self.rows))) if share < 1 else len(self.rows)
        sums = self._sums(size)
        wanted = uniform(self._address("curriculum", n, round, len(self._by_source))) * sums[-1]
        at = int(np.searchsorted(sums, wanted, side="right"))
        return self._ranking[at if at < size else 0]


class RowOrder:
    """The order in which each loop takes its rows."""

    def __init__(self, known: Known, settings: Settings, earlier: Sequence[tuple[int, Settings]] = ()) -> None:
        """
        Computes a loop's order when it is first requested.

        `earlier` has the settings of earlier steps with another batch and their last step, by ascending step.
        """
        self._known, self._mix = known, parse_sources(settings.mix_sources)
        self._parts = [*earlier, (sys.maxsize, settings)]
        self.of = cache(partial(LoopOrder, known, settings, self._batch_of))
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

    def source(self, row_id: str) -> str | None:
        """Name of the source of a row; None without a mix."""
        return self._mix[source_at(self._mix, row_id)][0] if self._mix else None

    def evaluated(self, indices: list[int], count: int) -> list[int]:
        """The first `count` held-out rows; with a mix, the sources alternate."""
        if not self._mix:
            return indices[:count]
        own = [(source_at(self._mix, self._known.ids[index]), index) for index in indices]
        lists = [
            [index for place, index in own if place == at] if amount > 0 else []
            for at, (_, amount) in enumerate(self._mix)
        ]
        return [at for turn in zip_longest(*lists) for at in turn if at is not None][:count]
