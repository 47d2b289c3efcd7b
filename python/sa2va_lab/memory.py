"""
The extra `memory`: backward passes that compute layers again or take a group in parts, and weights and features in half
precision.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache

from .language import CACHE
from .model import Features
from .play import Live
from .settings import Settings


class _Later(DynamicCache):  # type: ignore[misc]
    """The keys and values of one layer's pass, after those of earlier passes."""

    def __init__(self, earlier: tuple[Tensor, Tensor] | None) -> None:
        super().__init__()
        self.earlier, self.own = earlier, tuple[Tensor, ...]()

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
        self.own = (key_states, value_states)
        return self.own if self.earlier is None else tuple(map(_behind, self.earlier, self.own))


def _behind(earlier: Tensor, own: Tensor) -> Tensor:
    return torch.cat([earlier, own], -2)


def recompute(layers: Iterable[Any]) -> None:
    """
    Makes decoder layers keep only their inputs for a backward pass, which computes the rest again.

    transformers does the same without a cache only; here the prompt's keys and values stay, with their gradients.
    """
    for layer in layers:
        _recompute(layer)


def _recompute(layer: Any) -> None:
    inner, at = layer.forward, layer.self_attn.layer_idx

    def forward(hidden_states: Tensor, *args: Any, **given: Any) -> Any:
        cache = given.get(CACHE)
        if not torch.is_grad_enabled():
            return inner(hidden_states, *args, **given)
        if cache is None:
            return checkpoint(inner, hidden_states, *args, use_reentrant=False, preserve_rng_state=False, **given)
        known = at < len(cache.layers) and cache.layers[at].is_initialized
        earlier = (cache.layers[at].keys, cache.layers[at].values) if known else None

        def part(x: Tensor) -> tuple[Any, tuple[Tensor, ...]]:
            later = _Later(earlier)
            return inner(x, *args, **given | {CACHE: later}), later.own

        out, own = checkpoint(part, hidden_states, use_reentrant=False, preserve_rng_state=False)
        cache.update(*own, at)
        return out

    layer.forward = forward


def row_by_row(scores: Callable[..., tuple[Tensor, Tensor]], states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """
    Log-probabilities and entropies [N, T] of answers, of which one at a time has scores of the vocabulary.

    Those of all would take more memory than the inputs of all layers.
    """
    rows = [
        checkpoint(scores, *own, use_reentrant=False, preserve_rng_state=False)
        for own in zip(torch.split(states, 1), torch.split(targets, 1), strict=True)
    ]
    logps, entropies = (torch.cat(own) for own in zip(*rows, strict=True))
    return logps, entropies


def backward_by_parts(own: Live, logps: Tensor | None, entropies: Tensor | None) -> None:
    """Lets the derivatives of a group's log-probabilities and entropies [N, T] flow back part by part."""
    for part in own.parts:
        scored = own.score(part)
        pairs = ((scored[0], logps), (scored[1], entropies))
        reached = [(values, gradient[part]) for values, gradient in pairs if gradient is not None]
        torch.autograd.backward([values for values, _ in reached], [gradient for _, gradient in reached])


def half_parts(settings: Settings) -> set[str]:
    """Parts of the model whose matrices the lab rounds to half precision."""
    towers = settings.weight_storage if settings.tower_storage == "same" else settings.tower_storage
    storage = {"language": settings.weight_storage, "vision": towers, "sam2": towers}
    return {part for part, own in storage.items() if own == "f16"}


def halved(features: Features) -> Features:
    """Features rounded to half precision. Values beyond its range are first divided by a power of two, without loss."""

    def rounded(values: Tensor) -> Tensor:
        largest = values.abs().max()
        share, exponent = torch.frexp(largest)
        beyond = (largest > 2**15) & largest.isfinite()
        unit = torch.ldexp(torch.ones_like(largest), torch.where(beyond, exponent - (share == 0.5).int() - 15, 0))
        return (values / unit).half().to(values.dtype) * unit

    def error(values: Tensor, kept: Tensor) -> Tensor:
        gap = (kept.double() - values.double()).norm() / values.double().norm()
        return torch.where(values.any(), gap, 0.0)

    maps = [features.vision, *features.levels]
    kept = [rounded(values) for values in maps]
    errors = torch.stack(list(map(error, maps, kept)))
    return replace(features, vision=kept[0], levels=kept[1:], error=errors.max())
