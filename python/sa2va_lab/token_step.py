"""The pass for one more token of several sequences, over buffers with fixed addresses."""

import torch
from torch import Tensor

from .language import WHOLE, Slots, Turn
from .model import Sa2va


class TokenStep:
    """
    A pass after a cache whose inputs are written in place.

    With `model.graphs` on CUDA the kernels of a pass are recorded once and then launched together. A recording holds
    the weights' addresses, so it serves a single decoding.
    """

    def __init__(self, model: Sa2va, cache: Slots, keys: Tensor, there: Tensor) -> None:
        """`keys` [n, K] are the positions of the cache's slots; `there` [n, K] marks those that are ever used."""
        self._model, self._cache, self._keys, self._there = model, cache, keys, there
        self._x = torch.zeros_like(model.embed(torch.zeros_like(keys[:, :1])))
        self._now, self._real = torch.zeros_like(keys[:, :1]), torch.zeros_like(there)
        cache.places = torch.zeros(1, dtype=torch.long, device=keys.device)
        # Angles of more than the index, and layers that processes gather, do not run the same kernels every time.
        alike = model.rotation is None and model.lockstep is None
        self._records = model.graphs and alike and keys.device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None
        self._out = self._x

    def _pass(self, turn: Turn) -> Tensor:
        return self._model.decoding_states(self._x, self._cache, self._now, self._keys, self._real, turn)

    def __call__(self, x: Tensor, slot: int, turn: Turn) -> Tensor:
        """States [n, 1, D] of the embeddings of a slot; `turn` describes the whole sequences."""
        assert self._cache.places is not None
        self._cache.at = slot
        self._cache.places.fill_(slot)
        self._x.copy_(x)
        self._now.copy_(self._keys[:, slot : slot + 1])
        self._real.copy_(self._there)
        self._real[:, slot + 1 :] = False
        if not self._records:
            return self._pass(turn)
        if self._graph is None:
            aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                # Initialisation in a library's first call cannot be recorded.
                self._pass(WHOLE)
            torch.cuda.current_stream().wait_stream(aside)
            self._cache.at = slot
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._out = self._pass(WHOLE)
        self._graph.replay()
        return self._out
