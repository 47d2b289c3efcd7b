"""The pass for one more token of several sequences, over buffers with fixed addresses."""

from collections.abc import Callable

import torch
from torch import Tensor

from .language import Slots, Turn
from .model import Sa2va


def record(run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Records the kernels of a pass on CUDA: what launches them together, and the result, which every launch writes."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        # Initialisation in a library's first call cannot be recorded.
        run()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = run()
    return graph.replay, out


RECORDERS = {"cuda": record}
"""Functions that record a pass, by the type of device."""


class TokenStep:
    """
    A pass after a cache whose inputs are written in place.

    With `model.graphs` the kernels of a pass are recorded once, on CUDA, and then launched together. A recording holds
    the weights' addresses, so it serves a single decoding.
    """

    def __init__(self, model: Sa2va, cache: Slots, keys: Tensor, there: Tensor) -> None:
        """`keys` [n, K] are the positions of the cache's slots; `there` [n, K] marks those that are ever used."""
        self._model, self._cache, self._keys, self._there = model, cache, keys, there
        self._x = torch.zeros_like(model.embed(torch.zeros_like(keys[:, :1])))
        self._now, self._real = torch.zeros_like(keys[:, :1]), torch.zeros_like(there)
        self._place = cache.places = torch.zeros(1, dtype=torch.long, device=keys.device)
        # Angles of the whole length, and layers that processes gather, do not run the same kernels every time.
        alike = (model.rotation is None or model.rotation.fixed) and model.lockstep is None
        self._record = RECORDERS.get(keys.device.type) if model.graphs and alike else None
        self._recorded: tuple[Callable[[], None], Tensor] | None = None

    def __call__(self, x: Tensor, slot: int, turn: Turn) -> Tensor:
        """States [n, 1, D] of the embeddings of a slot; `turn` describes the whole sequences."""
        self._place.fill_(slot)
        self._x.copy_(x)
        self._now.copy_(self._keys[:, slot : slot + 1])
        self._real.copy_(self._there)
        self._real[:, slot + 1 :] = False

        def run() -> Tensor:
            self._cache.at = slot
            return self._model.decoding_states(self._x, self._cache, self._now, self._keys, self._real, turn)

        if self._record is None:
            return run()
        self._recorded = self._recorded or self._record(run)
        launch, out = self._recorded
        launch()
        return out
