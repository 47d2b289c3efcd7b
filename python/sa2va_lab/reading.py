"""Values of a device on the host: whoever reads one waits for the device, so what is read belongs together."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Grid = npt.NDArray[np.float64]


def as_array(values: Tensor) -> Grid:
    """Values on the host in double precision."""
    return values.detach().double().cpu().numpy()


def read_together(values: Sequence[Tensor]) -> list[Any]:
    """Arrays of tensors of one device, which wait for it once."""
    parts = [
        value.detach().reshape(-1).clone(memory_format=torch.contiguous_format).view(torch.uint8) for value in values
    ]
    read, at, found = torch.cat(parts).cpu().numpy() if parts else np.zeros(0, np.uint8), 0, list[Any]()
    for value, part in zip(values, parts, strict=True):
        kind = str(value.dtype).removeprefix("torch.")
        found.append(read[at : at + len(part)].copy().view(kind).reshape(value.shape))
        at += len(part)
    return found


class Reader:
    """Values that are read later: the first that is asked for waits for the device, and all others come with it."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._waiting: list[tuple[Tensor, list[Any]]] = []

    def later(self, value: Tensor) -> Callable[[], Any]:
        """Its array, once it is asked for."""
        place: list[Any] = []
        self._waiting.append((value, place))

        def get() -> Any:
            if not place:
                waiting, self._waiting = self._waiting, []
                arrays = read_together([own for own, _ in waiting])
                for (_, own), array in zip(waiting, arrays, strict=True):
                    own.append(array)
            return place[0]

        return get
