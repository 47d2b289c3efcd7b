"""
CUDA graphs without a GPU: a recording on the CPU repeats the operations of one pass, as a graph repeats its kernels.

A repetition has the addresses and the Python numbers of the recorded pass. Where one of them should have changed the
tokens differ from those of ordinary passes, and where the host reads a value the recording fails.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from test_decoding import MODELS
from tiny_qwen import tiny_config, tiny_qwen
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sa2va_lab import token_step
from sa2va_lab.language import Slots, Turn
from sa2va_lab.model import Sa2va, load_model
from sa2va_lab.philox import Address
from sa2va_lab.policy import Actor, Start
from sa2va_lab.sampler import Sampler
from sa2va_lab.settings import read_json

MOST = 6
QWEN = ("qwen3_vl", "qwen2_5_vl")
HOST = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
"""Operations whose result the host must read: item, nonzero and others."""


class Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the operations within the block, with their tensors and numbers."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[Any, Any, Any, Any]] = []
        self.device = device

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # The second makes a tensor of numbers of the host, which a GPU would have to be sent.
        assert not set(HOST) & set(func.tags) and func is not torch.ops.aten.lift_fresh.default, func
        out = func(*args, **(kwargs or {}))
        tensors = [own for own in tree_leaves((args, kwargs, out)) if isinstance(own, Tensor)]
        assert all(own.device.type == self.device for own in tensors), func
        self.calls.append((func, args, kwargs or {}, out))
        return out

    def repeat(self) -> None:
        for func, args, kwargs, out in self.calls:
            aliases = [own.alias_info for own in func._schema.returns]
            if all(own is not None and not own.is_write for own in aliases):
                continue
            again = func(*args, **kwargs)
            for kept, own in zip(tree_leaves(out), tree_leaves(again), strict=True):
                if isinstance(kept, Tensor) and kept.data_ptr() != own.data_ptr():
                    kept.copy_(own)


class Recorder:
    """Records passes on the CPU, and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recorded, self.launched = 0, 0
        monkeypatch.setitem(token_step.RECORDERS, "cpu", self.record)

    def record(self, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        run()
        with Recording() as recording:
            out = run()
        self.recorded += 1
        # A graph that is recorded has not run.
        out.fill_(torch.nan)

        def launch() -> None:
            self.launched += 1
            recording.repeat()

        return launch, out


def opened(folder: Path, dtype: torch.dtype = torch.float32) -> Actor:
    model = load_model(folder, dtype)
    model.add_adapter(2, 4)
    torch.manual_seed(13)
    for own in model.trained:
        own.data.normal_(std=0.2)
    words: Any = SimpleNamespace(ended=lambda ids: False, answer=str)
    unused: Any = None
    return Actor(model, words, unused)


def decoded(actor: Actor, graphs: bool) -> list[tuple[list[int], list[float]]]:
    """Tokens and log-probabilities of prompts of different lengths with several tails."""
    torch.manual_seed(21)
    size = actor.model.embed([0]).shape[-1]
    starts = []
    for length, tails in ((9, [1, 1]), (20, [3, 2]), (6, [1, 1])):
        address = Address(3, 1, 1, length, 0)
        parts = [torch.randn(own, size) for own in (length, *tails)]
        starts.append(Start(parts[0], parts[1:], [address.at(n) for n in range(2)], (1, 2, 2), [5, 7]))
    actor.model.graphs = graphs
    found = actor.decode(starts, MOST, Sampler(1.3, 30.0, 20, 0.8, 0.01, 1.4), True)
    return [(own.ids, own.logps) for group in found for own in group]


@pytest.fixture(params=[*(own.name for own in MODELS), *QWEN])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    known = {own.name: own for own in MODELS}
    return known.get(request.param) or tiny_qwen(tmp_path / "model", request.param)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_recorded_pass_repeats_the_rollouts(
    folder: Path, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, recorder = opened(folder, dtype), Recorder(monkeypatch)
    wanted = decoded(actor, False)
    assert recorder.launched == 0
    assert decoded(actor, True) == wanted
    # Angles that depend on the whole length are computed by other kernels each time.
    turns = actor.model.rotation is None or actor.model.rotation.fixed
    assert (recorder.recorded, recorder.launched) == ((1, MOST - 1) if turns else (0, 0))
    # Another decoding has other weights and buffers.
    for own in actor.model.trained:
        own.data.mul_(0.5)
    other = decoded(actor, False)
    assert other != wanted
    assert decoded(actor, True) == other


def test_a_place_that_is_part_of_a_recording_changes_the_rollouts(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = opened(next(own for own in MODELS if own.name.endswith("qwen2")))
    Recorder(monkeypatch)
    update = Slots.update

    def by_number(self: Slots, keys: Tensor, *more: Any, **named: Any) -> Any:
        self.places = torch.arange(self.at, self.at + keys.shape[2])
        return update(self, keys, *more, **named)

    wanted = decoded(actor, False)
    monkeypatch.setattr(Slots, "update", by_number)
    assert decoded(actor, False) == wanted
    assert decoded(actor, True) != wanted


def test_a_value_that_the_host_reads_cannot_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    actor = opened(next(own for own in MODELS if own.name.endswith("qwen2")))
    Recorder(monkeypatch)
    update = Slots.update

    def read(self: Slots, keys: Tensor, *more: Any, **named: Any) -> Any:
        assert float(keys.sum()) != 7
        return update(self, keys, *more, **named)

    monkeypatch.setattr(Slots, "update", read)
    with pytest.raises(AssertionError, match="_local_scalar_dense"):
        decoded(actor, True)


@pytest.mark.parametrize("kind", ["qwen2", "phi3", *QWEN])
@torch.no_grad()
def test_a_recorded_pass_takes_nothing_from_the_host(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On meta tensors, which have no values: what a pass reads of them fails, and what it makes on the host shows."""
    golden = next((own for own in MODELS if own.name.endswith(kind)), None)
    with torch.device("meta"):
        model = Sa2va(tiny_config(kind) if golden is None else read_json(golden / "config.json"))
        model.language_model.to(torch.bfloat16)
        model.add_adapter(2, 4)
        rows, length = 3, 8
        keys = torch.arange(length).expand(rows, length)
        there = torch.ones(rows, length, dtype=torch.bool)
    cache, outs, buffers = Slots(rows, length), list[Tensor](), list[list[int]]()

    def record(run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        run()
        with Recording("meta"):
            outs.append(run())
        return lambda: None, outs[0]

    monkeypatch.setitem(token_step.RECORDERS, "meta", record)
    model.graphs = model.rotation is None or model.rotation.fixed
    with model.sampling():
        step = token_step.TokenStep(model, cache, keys, there)
        for slot in (3, 4, 5):
            out = step(model.embed([[1]] * rows), slot, Turn(slot + 1, ((0, 1, 2),) * rows))
            assert not model.graphs or out is outs[0]
            buffers.append([id(own) for pair in cache.buffers.values() for own in pair])
    assert len(outs) == model.graphs
    assert buffers[0] == buffers[1] == buffers[2]
