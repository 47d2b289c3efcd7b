"""The update, compared with torch.optim.AdamW tensor by tensor."""

from types import SimpleNamespace
from typing import Any

import torch
from test_loss import settings

from sa2va_lab.state import State, learning_rate, update


def test_an_update_equals_adamw_of_torch() -> None:
    names = {
        "mlp1.1.weight": (4, 3),
        "language_model.q_proj.lora_A.weight": (2, 5),
        "grounding.bias": (7,),
        "grounding.w": (3, 3),
    }
    blocks = {"mlp1": "projector", "language_model": "lora", "grounding": "mask-decoder"}
    s = settings(
        learningRate=1e-2, projectorRateFactor=0.5, maskRateFactor=0.1, weightDecay=0.2, adamBeta1=0.9, adamBeta2=0.99,
        adamEpsilon=1e-8, emaDecay=0.9, stepsPerGeneration=0, clipScope="sum", maxGradNorm=0.5,
        lrSchedulerType="constant",
    )  # fmt: skip
    torch.manual_seed(8)
    trained = [torch.nn.Parameter(torch.randn(shape)) for shape in names.values()]
    alone = [torch.nn.Parameter(own.detach().clone()) for own in trained]
    rates = (0.5, 1.0, 0.1, 0.1)
    groups = [
        {"params": [own], "lr": 1e-2 * rate, "weight_decay": 0.2 if own.dim() > 1 else 0.0}
        for own, rate in zip(alone, rates, strict=True)
    ]
    optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.99), eps=1e-8)
    model: Any = SimpleNamespace(names=list(names), trained=trained, block_of=lambda name: blocks[name.split(".")[0]])
    ema = [own.detach().clone() for own in trained]
    start = [own.detach().clone() for own in trained]
    state = State(ema, start, *([torch.zeros_like(own) for own in start] for _ in range(2)))
    team: Any = SimpleNamespace(world=1)
    for _ in range(3):
        # The third tensor never has a gradient.
        own: list[torch.Tensor | None] = [torch.randn_like(p) if at != 2 else None for at, p in enumerate(trained)]
        for parameter, gradient in zip(alone, own, strict=True):
            parameter.grad = None if gradient is None else gradient.clone()
        norm = float(torch.nn.utils.clip_grad_norm_(alone, 0.5))
        optimiser.step()
        before = [value.clone() for value in state.ema]
        done = update(model, state, {1: own}, s, team)
        assert abs(done.metrics["grad_norm"] - norm) < 1e-5
        assert learning_rate(s, 0) == 1e-2
        for value, other, average, earlier in zip(trained, alone, state.ema, before, strict=True):
            torch.testing.assert_close(value, other, rtol=2e-6, atol=2e-7)
            torch.testing.assert_close(average, earlier + (1 - done.metrics["ema/decay"]) * (value - earlier))
    assert torch.equal(trained[2], start[2])
