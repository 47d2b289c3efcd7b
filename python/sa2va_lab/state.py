"""Everything a step changes: weights, their moving average, moments and counters; and the update."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .errors import LabError
from .model import Sa2va, Values
from .philox import Address, uniforms
from .settings import LOOPS, Settings
from .team import Team

_LANGUAGE_BLOCKS = ("projector", "lora")


@dataclass
class State:
    """Tensors in the order of the model's `names`; the weights themselves are the model's."""

    ema: Values
    start: Values
    first: Values
    second: Values
    reference: Values | None = None
    optimiser_steps: int = 0
    skipped_steps: int = 0
    entropy: dict[int, "EntropyBonus"] = field(default_factory=dict)
    """Of each loop."""


@dataclass(frozen=True)
class EntropyBonus:
    """Weight of a loop's entropy bonus and the mean entropy of its last update."""

    coefficient: float
    last: float | None = None

    def applied(self, s: Settings) -> float:
        """Weight in the coming update: with a target, only while the last entropy was at or below it."""
        if not s.adaptiveEntropy:
            return s.entropyCoefficient
        return self.coefficient if self.last is not None and self.last <= s.entropyTarget else 0.0

    def after(self, entropy: float, s: Settings) -> "EntropyBonus":
        """After an update of this mean entropy; one that is not finite changes nothing."""
        if not s.adaptiveEntropy or not math.isfinite(entropy):
            return self
        low = entropy <= s.entropyTarget
        moved = (
            min(s.entropyCoefficientMax, self.coefficient + s.entropyStep)
            if low else max(s.entropyCoefficientMin, self.coefficient - s.entropyStep)
        )  # fmt: skip
        return EntropyBonus(moved, entropy)


@dataclass
class Gradients:
    """Gradients of the loops as they grow; a tensor that no loss has reached is None."""

    loops: dict[int, list[Tensor | None]] = field(default_factory=dict)

    def take(self, model: Sa2va, loop: int) -> None:
        """Moves what the backward passes of a loop have left on the model."""
        self.loops[loop] = [parameter.grad for parameter in model.trained]
        for parameter in model.trained:
            parameter.grad = None


@dataclass(frozen=True)
class Update:
    """What an update did."""

    stepped: bool
    metrics: dict[str, float]
    gradient: Values
    """Summed over processes, before any clip but that of the loops; zeros where nothing arrived."""
    factor: float
    there: list[bool]
    """Which tensors a gradient has reached."""


def init_adapter(model: Sa2va, seed: int, stream: int) -> None:
    """Fresh adapters: A uniform in ±1/√in by the lab's numbers, B zero."""
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
    """State of a run's beginning; the model has the weights it starts with."""
    zeros = [torch.zeros_like(parameter.data) for parameter in model.trained]
    entropy = {loop: EntropyBonus(settings.entropyCoefficient) for loop in LOOPS}
    return State(copies(model.trained), copies(model.trained), zeros, copies(zeros), entropy=entropy)


def reached(model: Sa2va, loop: int, settings: Settings) -> list[bool]:
    """Whether a loop's loss may change each tensor."""
    whole = loop != 2 or settings.loop2Reach == "all"
    return [whole or model.block_of(name) not in _LANGUAGE_BLOCKS for name in model.names]


def learning_rate(settings: Settings, step: int) -> float:
    """Rate of optimiser step `step`, from 0; skipped steps do not count."""
    total, warm = settings.steps * settings.windows * settings.iterations, settings.warmupSteps
    if settings.schedule == "constant":
        return settings.learningRate
    if step < warm:
        start = 1 / max(1, warm) if settings.schedule == "linear-then-cosine" else 0.0
        share = step / max(1, warm)
        return settings.learningRate * (start + (1 - start) * share)
    progress = (step - warm) / max(1, total - warm)
    return settings.learningRate * max(0.0, 0.5 * (1 + math.cos(math.pi * progress)))


def _joined(loops: dict[int, list[Tensor | None]], model: Sa2va, team: Team) -> dict[int, list[Tensor | None]]:
    """The loops' gradients summed over all processes by one collective; what no process reached stays None."""
    if team.world == 1:
        return loops
    like = model.trained[0]
    parts, flags = [], []
    for own in loops.values():
        for gradient, parameter in zip(own, model.trained, strict=True):
            parts.append(torch.zeros_like(parameter.data).flatten() if gradient is None else gradient.flatten())
            flags.append(0.0 if gradient is None else 1.0)
    whole = team.sum(torch.cat([*parts, torch.tensor(flags, dtype=like.dtype, device=like.device)]))
    found: dict[int, list[Tensor | None]] = {}
    at, flag = 0, len(whole) - len(flags)
    for loop in loops:
        found[loop] = []
        for parameter in model.trained:
            size = parameter.numel()
            there = bool(whole[flag] > 0)
            found[loop].append(whole[at : at + size].reshape(parameter.shape) if there else None)
            at, flag = at + size, flag + 1
    return found


def _square(gradients: list[Tensor | None]) -> list[float]:
    return [0.0 if g is None else float(g.double().square().sum()) for g in gradients]


def _clip_factor(norm: float, most: float) -> float:
    return min(1.0, most / (norm + 1e-6))


@torch.no_grad()
def update(model: Sa2va, state: State, gradients: Gradients, settings: Settings, team: Team) -> Update:
    """
    Sum over processes, clip, AdamW, schedule, moving average and reference.

    A gradient that is not finite skips the step on all processes. Raises LabError where the run shall stop there.
    """
    loops = _joined(gradients.loops, model, team)
    norms = {loop: math.sqrt(sum(_square(own))) for loop, own in loops.items()}
    apart = len(loops) > 1 and settings.clipScope == "loop"
    factors = {
        loop: _clip_factor(norm, settings.maxGradNorm)
        if apart and settings.maxGradNorm > 0 and math.isfinite(norm) else 1.0
        for loop, norm in norms.items()
    }  # fmt: skip
    total: list[Tensor | None] = []
    for at in range(len(model.names)):
        given = [(own[at], factors[loop]) for loop, own in loops.items()]
        parts = [gradient * share for gradient, share in given if gradient is not None]
        total.append(torch.stack(parts).sum(0) if parts else None)
    squares = _square(total)
    whole = math.sqrt(sum(squares))
    blocks: dict[str, float] = {}
    for name, square, gradient in zip(model.names, squares, total, strict=True):
        if gradient is not None:
            blocks[model.block_of(name)] = blocks.get(model.block_of(name), 0.0) + square
    norm, metrics = _loop_metrics(norms, factors, whole)
    rate = learning_rate(settings, state.optimiser_steps)
    metrics |= {"grad_norm": norm, "learning_rate": rate}
    metrics |= {f"grad_norm/{block}": math.sqrt(square) for block, square in blocks.items()}
    there = [gradient is not None for gradient in total]
    zeros = [torch.zeros_like(p.data) if g is None else g for g, p in zip(total, model.trained, strict=True)]
    if not math.isfinite(whole):
        if settings.haltOnNan:
            raise LabError("A gradient is not finite; the weights are those before this step")
        state.skipped_steps += 1
        return Update(False, metrics | {"skipped_steps": state.skipped_steps}, zeros, 0.0, there)
    clips = settings.maxGradNorm > 0 and not apart
    factor = _clip_factor(whole, settings.maxGradNorm) if clips else 1.0
    state.optimiser_steps += 1
    for at, gradient in enumerate(total):
        if gradient is not None:
            _moments(state, at, gradient * factor, settings)
    values = [parameter.data for parameter in model.trained]
    move(model, values, (state.first, state.second), state.optimiser_steps, settings, rate, there)
    decay, distance = average(values, state.ema, state.optimiser_steps, settings)
    _synchronise(model, state, settings)
    clipped = factor < 1 or any(own < 1 for own in factors.values())
    metrics |= {
        "grad_norm_clipped": float(clipped),
        "skipped_steps": state.skipped_steps,
        "ema/decay": decay,
        "ema/distance": distance,
    }
    return Update(True, metrics, zeros, factor, there)


def _loop_metrics(norms: dict[int, float], factors: dict[int, float], whole: float) -> tuple[float, dict[str, float]]:
    """Norm of the loops' sum before any clip, and how large they are beside each other."""
    if len(norms) < 2:
        return whole, {}
    own = {f"loop{loop}/grad_norm": n for loop, n in norms.items()}
    own |= {f"loop{loop}/clip_factor": f for loop, f in factors.items()}
    if len(norms) > 2:
        return whole, own
    (a, b), (fa, fb) = norms.values(), factors.values()
    dot = (whole**2 - (a * fa) ** 2 - (b * fb) ** 2) / (2 * fa * fb)
    cosine = min(1.0, max(-1.0, dot / (a * b))) if a * b > 0 else 0.0
    norm = whole if fa == fb == 1 else math.sqrt(max(0.0, a * a + b * b + 2 * cosine * a * b))
    return norm, own | {"grad_cosine": cosine}


def _moments(state: State, at: int, gradient: Tensor, s: Settings) -> None:
    state.first[at].mul_(s.adamBeta1).add_(gradient, alpha=1 - s.adamBeta1)
    state.second[at].mul_(s.adamBeta2).addcmul_(gradient, gradient, value=1 - s.adamBeta2)


@torch.no_grad()
def move(
    model: Sa2va,
    values: Values,
    moments: tuple[Values, Values],
    count: int,
    s: Settings,
    rate: float,
    there: list[bool],
) -> None:
    """AdamW's `count`-th step of values, one count for all tensors; what has no gradient keeps its weight."""
    for name, value, first, second, reached in zip(model.names, values, *moments, there, strict=True):
        if not reached:
            continue
        block = model.block_of(name)
        factor = s.projectorRateFactor if block == "projector" else 1.0 if block == "lora" else s.maskRateFactor
        lr, root = rate * factor, second.sqrt() / math.sqrt(1 - s.adamBeta2**count) + s.adamEps
        if value.dim() >= 2:
            value.mul_(1 - lr * s.weightDecay)
        value.addcdiv_(first, root, value=-lr / (1 - s.adamBeta1**count))


@torch.no_grad()
def average(values: Values, ema: Values, count: int, s: Settings) -> tuple[float, float]:
    """Moves the partner towards the weights; its decay, and its distance from them afterwards."""
    decay = min(s.emaDecay, (1 + count) / (10 + count)) if s.emaRamp else s.emaDecay
    square = 0.0
    for own, value in zip(ema, values, strict=True):
        own += (1 - decay) * (value - own)
        square += float((value - own).double().square().sum())
    return decay, math.sqrt(square)


def _synchronise(model: Sa2va, state: State, s: Settings) -> None:
    """Mixes the policy into the reference when it is due."""
    wanted = s.syncReference and s.reference == "start" and s.needs_reference
    if not wanted or state.optimiser_steps % s.referenceSyncSteps != 0:
        return
    before = state.reference or copies(state.start)
    for value, parameter in zip(before, model.trained, strict=True):
        value += s.referenceMixup * (parameter.data - value)
    state.reference = before
