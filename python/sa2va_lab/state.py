"""The state that a step changes (weights, their moving average, moments and counters), and the update."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import torch
from torch import Tensor

from .errors import LabError
from .extras import extra
from .model import Sa2va, Values
from .philox import Address, uniforms
from .settings import LOOPS, Settings
from .team import Team

_LANGUAGE_BLOCKS = ("projector", "lora")


@dataclass
class State:
    """Tensors in the order of the model's `names`; the weights themselves belong to the model."""

    ema: Values
    start: Values
    first: Values
    second: Values
    reference: Values | None = None
    optimiser_steps: int = 0
    skipped_steps: int = 0
    entropy: dict[int, dict[str, float | None]] = field(default_factory=dict)
    """Of each loop the `coefficient` of its entropy bonus, and `lastEntropy`, the mean of its last update."""


Gradients = dict[int, list[Tensor | None]]
"""Gradients of each loop, by the model's names; None if no loss has reached a tensor."""


@dataclass(frozen=True)
class Update:
    """Results of an update."""

    stepped: bool
    metrics: dict[str, float]
    gradient: Values
    """Summed over processes, before any clip except that of the loops; zeros if nothing arrived."""
    factor: float
    there: list[bool]
    """Whether a gradient has reached each tensor."""


def init_adapter(model: Sa2va, seed: int, stream: int) -> None:
    """Fresh adapters: A uniform in ±1/√in from the lab's random numbers, B zero."""
    place = 0
    for name, parameter in zip(model.names, model.trained, strict=True):
        if model.block_of(name) != "lora":
            continue
        if ".lora_A." in name:
            drawn = uniforms(Address(seed, 0, 0, place, stream), parameter.numel())
            bound = 1 / math.sqrt(parameter.shape[1])
            values = torch.from_numpy((2 * drawn - 1) * bound).float()
            parameter.data = values.reshape(parameter.shape).to(parameter)
        else:
            parameter.data.zero_()
        place += 1


def copies(values: list[Tensor] | list[torch.nn.Parameter]) -> Values:
    """Independent copies without gradient."""
    return [value.detach().clone() for value in values]


def fresh_state(model: Sa2va, settings: Settings) -> State:
    """State at the start of a run; the model has the starting weights."""
    zeros = [torch.zeros_like(parameter.data) for parameter in model.trained]
    entropy = {loop: {"coefficient": settings.entropy_coef, "lastEntropy": None} for loop in LOOPS}
    return State(copies(model.trained), copies(model.trained), zeros, copies(zeros), entropy=entropy)


def taken(model: Sa2va, loop: int, settings: Settings) -> list[Tensor | None]:
    """
    Takes the gradients that a loop's backward passes have left on the model; None for tensors that the loop does not
    train.
    """
    whole = loop != 2 or settings.loop2_reach == "all"
    kept = [whole or model.block_of(name) not in _LANGUAGE_BLOCKS for name in model.names]
    found = [parameter.grad if keep else None for parameter, keep in zip(model.trained, kept, strict=True)]
    for parameter in model.trained:
        parameter.grad = None
    return found


def learning_rate(settings: Settings, step: int) -> float:
    """Learning rate of optimiser step `step`, from 0; skipped steps do not count."""
    updates = 1 if settings.mode == "sft" else settings.windows * settings.num_iterations
    total, warm = settings.steps * updates, settings.warmup_steps
    share = 1.0
    if settings.lr_scheduler_type != "constant" and step < warm:
        start = 1 / max(1, warm) if settings.lr_scheduler_type == "linear-then-cosine" else 0.0
        share = start + (1 - start) * (step / max(1, warm))
    elif settings.lr_scheduler_type != "constant":
        falling = 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))
        share = max(0.0, falling * (1 - settings.min_lr_rate) + settings.min_lr_rate)
    return float(settings.learning_rate * share)


def _joined(loops: Gradients, model: Sa2va, team: Team) -> Gradients:
    """The loops' gradients summed over all processes by one collective; None for tensors that no process reached."""
    if team.world == 1:
        return loops
    given = [gradient for own in loops.values() for gradient in own]
    like = model.trained * len(loops)
    flags = torch.tensor([gradient is not None for gradient in given]).to(like[0])
    parts = [torch.zeros_like(p.data) if g is None else g for g, p in zip(given, like, strict=True)]
    whole = team.sum(torch.cat([flags, *(part.flatten() for part in parts)]))
    sums = torch.split(whole[len(flags) :], [p.numel() for p in like])
    there = (whole[: len(flags)] > 0).tolist()
    found = [own.reshape(p.shape) if arrived else None for own, p, arrived in zip(sums, like, there, strict=True)]
    size = len(model.trained)
    return {loop: found[at * size : (at + 1) * size] for at, loop in enumerate(loops)}


def _dots(pairs: Sequence[tuple[Tensor | None, Tensor | None]]) -> list[float]:
    """Dot products in double precision, read back at once; 0 where one is None."""
    sums = [(a.double() * b.double()).sum() for a, b in pairs if a is not None and b is not None]
    known = iter(torch.stack(sums).tolist() if sums else [])
    return [0.0 if a is None or b is None else next(known) for a, b in pairs]


def _squares(values: Sequence[Tensor | None]) -> list[float]:
    """Sums of squares in double precision, read back at once; 0 for None."""
    return _dots([(value, value) for value in values])


def _clip_factor(norm: float, most: float) -> float:
    return min(1.0, most / (norm + 1e-6)) if most > 0 and math.isfinite(norm) else 1.0


@torch.no_grad()
def update(model: Sa2va, state: State, gradients: Gradients, settings: Settings, team: Team) -> Update:
    """
    Sum over processes, clip, AdamW, schedule, moving average and reference.

    A gradient that is not finite skips the step on all processes. Raises LabError if the run must stop then.
    """
    loops, most = _joined(gradients, model, team), settings.max_grad_norm
    size, squared = len(model.names), [(gradient, gradient) for own in loops.values() for gradient in own]
    between = [pair for a, b in combinations(loops.values(), 2) for pair in zip(a, b, strict=True)]
    every = _dots(squared + between)
    norms = {loop: math.sqrt(sum(every[at * size : (at + 1) * size])) for at, loop in enumerate(loops)}
    apart = len(loops) > 1 and settings.clip_scope == "loop"
    factors = {loop: _clip_factor(norm, most) if apart else 1.0 for loop, norm in norms.items()}
    total: list[Tensor | None] = []
    for given in zip(*loops.values(), strict=True):
        parts = [g * share for g, share in zip(given, factors.values(), strict=True) if g is not None]
        total.append(torch.stack(parts).sum(0) if parts else None)
    there, squares = [gradient is not None for gradient in total], _squares(total)
    whole, blocks = math.sqrt(sum(squares)), dict[str, float]()
    for name, square, arrived in zip(model.names, squares, there, strict=True):
        if arrived:
            blocks[model.block_of(name)] = blocks.get(model.block_of(name), 0.0) + square
    norm, metrics = _loop_metrics(norms, factors, whole, sum(every[len(squared) :]))
    rate = learning_rate(settings, state.optimiser_steps)
    metrics |= {"grad_norm": norm, "learning_rate": rate}
    metrics |= {f"grad_norm/{block}": math.sqrt(square) for block, square in blocks.items()}
    zeros = [torch.zeros_like(p.data) if g is None else g for g, p in zip(total, model.trained, strict=True)]
    if not math.isfinite(whole):
        if settings.halt_on_nan:
            raise LabError("A gradient is not finite; the weights are those before this step")
        state.skipped_steps += 1
        return Update(False, metrics | {"skipped_steps": state.skipped_steps}, zeros, 0.0, there)
    factor = 1.0 if apart else _clip_factor(whole, most)
    state.optimiser_steps += 1
    clipped = [None if gradient is None else gradient * factor for gradient in total]
    values = [parameter.data for parameter in model.trained]
    adamw(model, values, (state.first, state.second), clipped, state.optimiser_steps, settings, rate)
    decay, distance = average(values, state.ema, state.optimiser_steps, settings)
    if settings.sync_ref_model and settings.reference == "start" and settings.needs_reference:
        extra("variants", "syncRefModel").synchronise(model, state, settings)
    metrics |= {"grad_norm_clipped": float(min(factor, *factors.values()) < 1), "skipped_steps": state.skipped_steps}
    return Update(True, metrics | {"ema/decay": decay, "ema/distance": distance}, zeros, factor, there)


def _loop_metrics(
    norms: dict[int, float], factors: dict[int, float], whole: float, dot: float
) -> tuple[float, dict[str, float]]:
    """
    Norm of the loops' sum before any clip, and the loops' norms relative to each other.

    `dot` is the sum of the products of each two loops' gradients.
    """
    if len(norms) < 2:
        return whole, {}
    own = {f"loop{loop}/grad_norm": n for loop, n in norms.items()}
    own |= {f"loop{loop}/clip_factor": f for loop, f in factors.items()}
    most = sum(norms[a] * norms[b] for a, b in combinations(norms, 2))
    cosine = min(1.0, max(-1.0, dot / most)) if most > 0 else 0.0
    before = math.sqrt(max(0.0, sum(norm**2 for norm in norms.values()) + 2 * cosine * most))
    norm = whole if all(factor == 1 for factor in factors.values()) else before
    return norm, own | ({"grad_cosine": cosine} if len(norms) == 2 else {})


@torch.no_grad()
def adamw(
    model: Sa2va,
    values: Values,
    moments: tuple[Values, Values],
    gradients: Sequence[Tensor | None],
    count: int,
    s: Settings,
    rate: float,
) -> None:  # fmt: skip
    """
    AdamW's `count`-th step on values and moments, in place, by PyTorch's fused kernel.

    Tensors without a gradient keep weights and moments, and yet count the step, as in the lab.
    """
    groups: dict[tuple[float, bool], list[int]] = {}
    for at, (name, value, gradient) in enumerate(zip(model.names, values, gradients, strict=True)):
        if gradient is not None:
            block = model.block_of(name)
            factor = s.projector_rate_factor if block == "projector" else 1.0 if block == "lora" else s.mask_rate_factor
            groups.setdefault((rate * factor, value.dim() >= 2), []).append(at)
    if not groups:
        return
    options = [
        {"params": [values[at] for at in places], "lr": lr, "weight_decay": s.weight_decay if decays else 0.0}
        for (lr, decays), places in groups.items()
    ]
    betas = float(s.adam_beta1), float(s.adam_beta2)
    optimiser = torch.optim.AdamW(options, betas=betas, eps=s.adam_epsilon, fused=True)
    for at in (at for places in groups.values() for at in places):
        steps = torch.full((), count - 1.0, device=values[at].device)
        optimiser.state[values[at]] = {"step": steps, "exp_avg": moments[0][at], "exp_avg_sq": moments[1][at]}
        values[at].grad = gradients[at]
    optimiser.step()
    for value in values:
        value.grad = None


@torch.no_grad()
def average(values: Values, ema: Values, count: int, s: Settings) -> tuple[float, float]:
    """Moves the partner towards the weights; returns its decay and its distance from them afterwards."""
    decay = min(s.ema_decay, (1 + count) / (10 + count)) if s.ema_ramp else s.ema_decay
    torch._foreach_add_(ema, torch._foreach_sub(values, ema), alpha=1 - decay)
    return decay, math.sqrt(sum(_squares(torch._foreach_sub(values, ema))))
