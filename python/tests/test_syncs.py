"""How often a part of a step waits for the device: every value that Python reads is one synchronisation on a GPU."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from test_decoding import MODELS
from test_loss import settings
from torch.overrides import TorchFunctionMode

from sa2va_lab.model import load_model
from sa2va_lab.philox import Address
from sa2va_lab.policy import Actor, Start
from sa2va_lab.sampler import Sampler
from sa2va_lab.state import State, update

READS = {"item", "tolist", "cpu", "numpy", "__float__", "__int__", "__bool__", "__index__", "nonzero", "equal",
         "masked_select", "unique", "__contains__"}  # fmt: skip


class Reads(TorchFunctionMode):
    """Counts the calls that read values, and indexing by a mask, which asks how many there are."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        masked = name in ("__getitem__", "__setitem__") and any(
            isinstance(own, torch.Tensor) and own.dtype == torch.bool
            for own in (args[1] if isinstance(args[1], tuple) else (args[1],))
        )
        if name in READS or masked:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("clip", ["loop", "sum"])
def test_an_update_reads_at_most_ten_values_whatever_the_number_of_tensors(clip: str) -> None:
    counts = []
    for size in (4, 40):
        trained = [torch.nn.Parameter(torch.randn(3, 2)) for _ in range(size)]
        model: Any = SimpleNamespace(
            names=[f"t{n}" for n in range(size)], trained=trained, block_of=lambda name: "lora"
        )
        state = State(*([torch.zeros_like(own.data) for own in trained] for _ in range(4)))
        gradients: Any = {loop: [torch.randn_like(own.data) for own in trained] for loop in (1, 2)}
        s = settings(clipScope=clip, maxGradNorm=1, learningRate=1e-3, adamEps=1e-8, emaDecay=0.9)
        team: Any = SimpleNamespace(world=1)
        with Reads() as reads:
            update(model, state, gradients, s, team)
        counts.append(len(reads.found))
    assert counts[0] == counts[1] <= 10


def test_a_decoded_token_is_read_back_once_whatever_the_number_of_rows() -> None:
    # Angles that depend on the length ask for it.
    model = load_model(next(path for path in MODELS if path.name.endswith("qwen2")))
    width = model.language_model.get_input_embeddings().weight.shape[1]
    words: Any = SimpleNamespace(ended=lambda ids: False, answer=lambda ids: "")
    actor = Actor(model, words, settings(temperature=1, logitGuard=30))
    torch.manual_seed(2)

    def reads(rows: int, most: int) -> int:
        address = Address(1, 1, 1, 0, 0)
        start = Start(
            torch.randn(4, width), [torch.randn(1, width)] * rows, [address.at(n) for n in range(rows)], (1, 1, 1)
        )
        with Reads() as found:
            actor.decode([start], most, Sampler(top_k=20), True)
        return len(found.found)

    # Of the model, transformers reads nothing; the CPU's own top-p is the only filter that reads.
    assert reads(2, 6) - reads(2, 3) == reads(7, 6) - reads(7, 3) == 3
    assert reads(2, 3) == reads(7, 3)


def test_masks_of_a_group_are_read_back_together() -> None:
    model: Any = SimpleNamespace(sam_size=8)
    unused: Any = None
    actor = Actor(model, unused, unused)

    def reads(count: int) -> int:
        with Reads() as found:
            masks = actor.sized(torch.randn(count, 4, 4), 8, 8)
        assert len(masks) == count
        return len(found.found)

    assert reads(1) == reads(9) <= 3
