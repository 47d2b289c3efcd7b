"""The lab's counter-based random numbers: a draw is a function of its address, so any process can compute it."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Words = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


@dataclass(frozen=True)
class Address:
    """Address of a draw; every part is a whole number from 0, `loop` below 256."""

    seed: int
    step: int
    loop: int
    row: int
    stream: int
    rollout: int = 0
    position: int = 0

    def at(self, rollout: int, position: int = 0) -> "Address":
        """The same address for another rollout and position."""
        return replace(self, rollout=rollout, position=position)


def philox(counter: Words, key: tuple[int, int]) -> Words:
    """Philox 4x32-10 of counters of equal shape."""
    c0, c1, c2, c3 = counter
    k0, k1 = (np.uint64(part & 0xFFFFFFFF) for part in key)
    for _ in range(10):
        p0, p1 = _MULTIPLIERS[0] * c0, _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> _SHIFT) ^ c1 ^ k0, p1 & _LOW, (p0 >> _SHIFT) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + np.uint64(_WEYL[0])) & _LOW, (k1 + np.uint64(_WEYL[1])) & _LOW
    return c0, c1, c2, c3


def words(address: Address, count: int, rows: bool = False) -> Words:
    """Words at `count` positions, or rows, starting at the address."""
    places = np.arange(count, dtype=np.uint64)
    start = [address.step, address.row, address.rollout, address.position]
    step, row, rollout, position = (np.full(count, part, dtype=np.uint64) for part in start)
    moved = (step, row + places, rollout, position) if rows else (step, row, rollout, position + places)
    return philox(moved, (address.seed, address.stream << 8 | address.loop))


def unit(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Numbers in (0, 1) of words."""
    return ((word >> np.uint64(9)).astype(np.float64) + 0.5) * 2.0**-23


def uniforms(address: Address, count: int, rows: bool = False) -> npt.NDArray[np.float64]:
    """Uniforms in (0, 1) at `count` positions, or at the same position of as many rows, starting at the address."""
    return unit(words(address, count, rows)[0])


def uniform(address: Address) -> float:
    """One uniform in (0, 1)."""
    return float(uniforms(address, 1)[0])
