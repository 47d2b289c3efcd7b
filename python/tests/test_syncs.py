"""How often a part of a step waits for the device: every value that Python reads is one synchronisation on a GPU."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from test_decoding import MODELS
from test_loss import settings
from whole_step import Alone, Reads, context

import sa2va_lab.policy
from sa2va_lab.model import load_model
from sa2va_lab.philox import Address
from sa2va_lab.policy import Actor, Start
from sa2va_lab.sampler import Sampler, on_device
from sa2va_lab.state import State, fresh_state, update
from sa2va_lab.step import grpo_step


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws as on a device, without the CPU's own way."""
    monkeypatch.setattr(sa2va_lab.policy, "draw", lambda logits, own, u, seen: on_device(logits, logits, own, u))


@pytest.mark.parametrize("clip", ["loop", "sum"])
def test_an_update_reads_at_most_three_values_whatever_the_number_of_tensors(clip: str) -> None:
    counts = []
    for size in (4, 40):
        trained = [torch.nn.Parameter(torch.randn(3, 2)) for _ in range(size)]
        model: Any = SimpleNamespace(
            names=[f"t{n}" for n in range(size)], trained=trained, block_of=lambda name: "lora"
        )
        state = State(*([torch.zeros_like(own.data) for own in trained] for _ in range(4)))
        gradients: Any = {loop: [torch.randn_like(own.data) for own in trained] for loop in (1, 2)}
        s = settings(clipScope=clip, maxGradNorm=1, learningRate=1e-3, adamEpsilon=1e-8, emaDecay=0.9)
        team: Any = SimpleNamespace(world=1)
        with Reads() as reads:
            update(model, state, gradients, s, team)
        counts.append(len(reads.found))
    assert counts[0] == counts[1] <= 3


@pytest.mark.usefixtures("device")
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

    # Of the model, transformers reads nothing.
    assert reads(2, 6) - reads(2, 3) == reads(7, 6) - reads(7, 3) == 3
    assert reads(2, 3) == reads(7, 3)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(
    ("policy", "more"),
    [
        ("field", {}),
        ("candidates", {"loop3Weight": 0.5, "featureStorage": "f16"}),
        ("proposals", {"loop1Likelihood": 0.3, "loop2Contrast": 0.2, "likelihoodJudge": "start"}),
        ("embedding", {}),
        ("pixels", {"loop1Contrast": 0.3, "loop2Likelihood": 0.2, "featureStorage": "f16"}),
        ("imitation", {}),
    ],
)
def test_a_step_reads_the_same_few_values_whatever_the_number_of_groups(policy: str, more: dict[str, Any]) -> None:
    counts = []
    for groups in (1, 3):
        given = context(maskPolicy=policy, promptsPerStep=groups, numGenerations=3, **more)
        given.actor.words.ended = lambda ids: False  # type: ignore[method-assign]
        reads, names = Reads(given.model), [*given.model.names]
        known = {given.model.published(name): own for name, own in given.model.named_parameters()}
        given.model.trained = [known[name] for name in names]
        given.state = fresh_state(given.model, given.settings)
        with reads:
            grpo_step(given, Alone())  # type: ignore[arg-type]
            assert all(0 < float(read()) < 1e-3 for read in given.rounding)
        s = given.settings
        drawn = (len(s.active_loops) - 1) * s.max_completion_length + s.partner_max_tokens
        # One for each token of all rows, and what an update reads at most (above).
        counts.append(len(reads.found) - drawn)
    # One more where a group has no advantage.
    assert abs(counts[0] - counts[1]) <= 1 and max(counts) <= 10 - 3
