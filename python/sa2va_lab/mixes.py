"""The extra `mixes`: rows by the sources of a mix, by length, and by their difficulty."""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from .errors import LabError
from .order import Known, LoopOrder, permuted
from .philox import uniform, uniforms
from .settings import Settings
from .step_metrics import Metrics, Played, average

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


def source(mix: str, row_id: str) -> str | None:
    """Name of the source of a row; None without a mix."""
    sources = parse_sources(mix)
    return sources[source_at(sources, row_id)][0] if sources else None


def alternating(mix: str, ids: list[str], indices: list[int]) -> list[int]:
    """Indices of rows, in turn from each source with an amount above 0; unchanged without a mix."""
    sources = parse_sources(mix)
    if not sources:
        return indices
    own = [(source_at(sources, ids[index]), index) for index in indices]
    lists = [
        [index for place, index in own if place == at] if amount > 0 else [] for at, (_, amount) in enumerate(sources)
    ]
    return [at for turn in zip_longest(*lists) for at in turn if at is not None]


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


class MixedOrder(LoopOrder):
    """The draws of one loop under a mix, grouped by length, or in the order of a curriculum."""

    def __init__(self, known: Known, s: Settings, batch_of: Callable[[int], int], loop: int) -> None:
        """As in the core."""
        self._mix = parse_sources(s.mix_sources)
        self._measured = {own["rowId"]: own for own in known.difficulty if own["loop"] == loop}
        super().__init__(known, s, batch_of, loop)
        self._sums = lru_cache(maxsize=2)(self._sums_of)
        if self._length == 0 and s.mix_by == "repeats":
            raise LabError("mixSources gives an epoch without rows; raise one of its numbers")

    def _drawn(self, known: Known) -> list[int]:
        s, measured = self._s, self._measured
        wanted = s.curriculum != "off" or s.zero_spread_rows == "skip"
        if wanted and not any(known.ids[index] in measured for index in known.train):
            raise LabError(f"difficulty.jsonl lacks the training rows of loop {self._loop}; export the run again")

        def drawn(index: int) -> bool:
            skipped = s.zero_spread_rows == "skip" and measured.get(known.ids[index], {}).get("zeroSpread", False)
            return not skipped and (not self._mix or self._mix[source_at(self._mix, known.ids[index])][1] > 0)

        rows = [index for index in known.train if drawn(index)]
        if not rows:
            raise LabError(f"mixSources or zeroSpreadRows leaves no training row for loop {self._loop}")
        self._rank(known, rows)
        return rows

    def _rank(self, known: Known, rows: list[int]) -> None:
        """Places in `rows` by source, and all of them by difficulty."""
        whole = list(range(len(rows)))
        self._by_source = [whole]
        if self._mix:
            places = [source_at(self._mix, known.ids[index]) for index in rows]
            self._by_source = [[place for place in whole if places[place] == at] for at in range(len(self._mix))]
        self._amounts = [amount for _, amount in self._mix] or [1.0]
        self._lengths = [known.words[index] for index in rows] if self._s.length_grouping else None
        self._ranking = whole
        if self._s.curriculum != "off":
            rewards = [self._measured.get(known.ids[index], {}).get("reward") for index in rows]
            there = sorted(reward for reward in rewards if reward is not None)
            middle = there[len(there) // 2] if there else 0.0
            known_rewards = [middle if reward is None else reward for reward in rewards]
            self._ranking = sorted(whole, key=lambda place: -known_rewards[place])
            if self._s.curriculum == "hard":
                self._ranking.reverse()

    def _slots(self, epoch: int, round: int) -> list[int]:
        """Indices of an epoch: each source repeated as set, fractions chosen at random."""
        found: list[int] = []
        for at, (places, amount) in enumerate(zip(self._by_source, self._amounts, strict=True)):
            length = math.floor(len(places) * amount + 1e-9)
            whole, rest = divmod(length, max(1, len(places)))
            found += places * whole
            if rest:
                draws = uniforms(self._address("curriculum", epoch, round, at), len(places), rows=True)
                found += permuted(places, draws)[:rest]
        return found

    def _epoch_of(self, epoch: int, round: int) -> list[int]:
        order = super()._epoch_of(epoch, round)
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
        """Index in `rows` of the loop's n-th prompt; a curriculum draws from a growing share of the rows."""
        s, share = self._s, 1.0
        if s.curriculum != "off":
            share = s.curriculum_start + (1 - s.curriculum_start) * (step - 1) / s.curriculum_steps
        if share >= 1 and not (self._mix and s.mix_by == "weights"):
            return super().place(n, step, round)
        size = max(1, math.ceil(share * len(self.rows))) if share < 1 else len(self.rows)
        sums = self._sums(size)
        wanted = uniform(self._address("curriculum", n, round, len(self._by_source))) * sums[-1]
        at = int(np.searchsorted(sums, wanted, side="right"))
        return self._ranking[at if at < size else 0]


def source_metrics(loop: int, groups: list[Played], mix: str) -> Metrics:
    """Rewards and draws of a step by source of the mix; none without a mix."""
    found: dict[str, list[Metrics]] = {}
    for group in groups:
        name = source(mix, group.row_id)
        if name is not None and group.scores is not None:
            spread = group.scores.spread
            own = {} if math.isnan(spread.mean) else {f"loop{loop}/source_reward/{name}": spread.mean}
            found.setdefault(name, []).append(own | {f"loop{loop}/source_zero_std/{name}": float(spread.zero)})
    out: Metrics = {f"loop{loop}/source_groups/{name}": len(own) for name, own in found.items()}
    for records in found.values():
        out |= average(records)
    return out
