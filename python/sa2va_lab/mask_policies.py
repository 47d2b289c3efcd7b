"""The extra `mask_policies`: mask policies of loop 2 beside `candidates`, and losses that anchor the masks."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Bernoulli, Normal

from .errors import LabError
from .mask_policy import Draw, Drawing, MaskActions, Output, Scores, all_of, mask_parts
from .masks import Mask, nearest
from .philox import Address, uniforms, unit, words
from .sam2 import PromptEncoder, cell_centres
from .settings import Settings


def deviation_of(sigma: float, unit: str, values: Tensor, least: float) -> Tensor:
    """Of the noise, in double precision."""
    own = torch.ones((), dtype=torch.float64, device=values.device) * sigma
    return own if unit == "absolute" else (values.std(correction=0).double() * own).clamp_min(least)


def gaussian(action: Tensor, deviation: Tensor) -> Callable[[Tensor], Scores]:
    """Scores of actions [N, T] under another mean [1, T] or [N, T]."""

    def scores(mean: Tensor) -> Scores:
        normal = Normal(mean.expand_as(action), deviation.to(mean), validate_args=False)
        return normal.log_prob(action), normal.entropy()

    return scores


def normals(address: Address, count: int) -> npt.NDArray[np.float64]:
    """Standard normals at `count` positions starting at the address."""
    first, second, _, _ = words(address, count)
    return np.asarray(np.sqrt(-2 * np.log(unit(first))) * np.cos(2 * np.pi * unit(second)))


def noise_of(
    address: Address, count: int, width: int, deviation: Tensor, like: Tensor, antithetic: bool
) -> tuple[Tensor, Tensor]:
    """Noise [count, width] and its log-probabilities."""
    mirrored = [antithetic and n % 2 == 1 for n in range(count)]
    rows = [normals(address.at(n - again), width) * (1 - 2 * again) for n, again in enumerate(mirrored)]
    drawn = torch.from_numpy(np.stack(rows)).to(deviation) * deviation
    return drawn.float().to(like), Normal(0.0, deviation, validate_args=False).log_prob(drawn)


def field(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Noise on the mean logits of cells, added to the chosen candidate."""
    n, index = settings.field_grid, output.best()
    greedy = output.chosen(index)
    height, width = greedy.shape[1:]
    if height % n or width % n:
        raise LabError(f"fieldGrid {n} must divide the mask size {height} × {width} of this model")

    def pooled(own: Tensor) -> Tensor:
        return F.avg_pool2d(own[None], (height // n, width // n)).reshape(1, n * n)

    deviation = deviation_of(settings.field_sigma, settings.noise_unit, greedy, 1e-3)
    noise, logps = noise_of(address, count, n * n, deviation, greedy, settings.antithetic_noise)
    # Certain cells get no noise and are not actions.
    acts = (pooled(greedy).abs() < (settings.field_band or math.inf)).to(noise)
    noise = noise * acts
    field = noise.reshape(count, 1, n, n)
    enlarged = F.interpolate(field, (height, width), mode="bilinear", align_corners=False)[:, 0]
    of_mean = gaussian(pooled(greedy) + noise, deviation)
    labels = [[(c, f"cell {c // n},{c % n}") for c in range(n * n)]] * count

    def scores(other: Output) -> Scores:
        logps, entropies = of_mean(pooled(other.chosen(index)))
        return logps * acts, entropies

    logps = logps * acts.double()
    return lambda: MaskActions(greedy + enlarged, greedy, lambda: labels, output.later(logps), scores)


def clicked(encoder: PromptEncoder, points: Tensor) -> Tensor:
    """Tokens [n, 2, C] of one click each at (x, y) in 0 to 1, [n, 2], without language."""
    weight: Any = encoder.point_embeddings[1].weight
    inside = encoder.pe_layer(points.to(weight.device)) + weight
    return torch.stack([inside, encoder.not_a_point_embed.weight.expand(len(points), -1)], 1)


def proposals(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Distinct masks of the phrase, of noisy [SEG] states and, if set, of other phrases, each with its probability."""
    language, tries = output.language, 2 * count
    deviation = deviation_of(settings.embedding_sigma, settings.noise_unit, language, 1e-4)
    noise, _ = noise_of(address, tries, language.shape[1], deviation, language, settings.antithetic_noise)
    prompts = language + noise
    if settings.proposal_phrases and output.others:
        prompts = torch.cat([output.actor.phrase_prompts(output.features, list(output.others)), prompts])
    tried = output.actor.decoded(output.features, prompts).masks.flatten(0, 1)
    known, clicks = 3 * (len(prompts) - len(noise)), tried[:0]
    if settings.proposal_points:
        sam2 = output.actor.model.sam2
        tokens = clicked(sam2.sam_prompt_encoder, cell_centres(settings.proposal_points))
        clicks = sam2.decode(output.features.levels, tokens).masks.flatten(0, 1)
    pool = torch.cat([output.decoded.best, output.candidates(), tried[:known], clicks, tried[known:]])
    bits = (pool > 0).flatten(1).float()
    both, areas = bits @ bits.T, bits.sum(1)
    apart = both / (areas[:, None] + areas - both) <= settings.proposal_overlap
    known_apart, some = (output.actor.reader.later(own) for own in (apart, areas > 0))

    def drawn() -> MaskActions:
        logits = pool[_distinct(known_apart(), some(), count)]
        bits = (logits > 0).to(logits.dtype).flatten(1)
        area = (bits.sum() / len(bits)).clamp_min(1)

        def logs_of(other: Output) -> Tensor:
            inside = other.candidates().flatten(1) @ bits.T / (area * settings.proposal_temperature)
            logs: Tensor = (inside.log_softmax(-1) + other.shares(settings.candidate_temperature)[:, None]).logsumexp(0)
            return logs

        return all_of(output, logits, "proposal", logs_of)

    return drawn


def _distinct(apart: npt.NDArray[np.bool_], some: npt.NDArray[np.bool_], most: int) -> list[int]:
    """
    Indices of the masks that differ from all earlier ones: the first always, empty ones never.

    `apart` [n, n] says which masks differ, `some` [n] which are not empty.
    """
    kept = [0]
    for at in range(1, len(some)):
        if len(kept) < most and some[at] and apart[at, kept].all():
            kept.append(at)
    return kept


def embedding(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Noise on the prompt that the mask decoder reads for the phrase."""
    language = output.language
    width = language.shape[1]
    deviation = deviation_of(settings.embedding_sigma, settings.noise_unit, language, 1e-4)
    noise, logps = noise_of(address, count, width, deviation, language, settings.antithetic_noise)
    action = language + noise
    noisy, index = output.actor.decoded(output.features, action), output.best()
    of_mean = gaussian(action, deviation)
    labels = [[(c, f"channel {c}") for c in range(width)]] * count
    greedy = output.chosen(index)
    return lambda: MaskActions(
        noisy.best, greedy, lambda: labels, output.later(logps), lambda other: of_mean(other.language)
    )


def pixels(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Each pixel of the chosen candidate by a coin of its own."""
    index, temperature = output.best(), settings.pixel_temperature
    greedy = output.chosen(index)
    _, height, width = greedy.shape
    coins = Bernoulli(logits=greedy.reshape(1, -1).double() / temperature, validate_args=False)
    u = np.stack([uniforms(address.at(n), height * width) for n in range(count)])
    bits = (torch.from_numpy(u).to(greedy.device) < coins.probs).double()
    played = bits.to(greedy)

    def scores(other: Output) -> Scores:
        own = Bernoulli(logits=other.chosen(index).reshape(1, -1) / temperature, validate_args=False)
        return own.log_prob(played), own.entropy().expand(count, -1)

    masks = (8 * played - 4).reshape(count, height, width)
    logps, read = output.later(coins.log_prob(bits)), output.later(bits)

    def labels() -> list[list[tuple[int, str]]]:
        return [[(int(bit), f"cell {c // width},{c % width}") for c, bit in enumerate(row)] for row in read()]

    return lambda: MaskActions(masks, greedy, labels, logps, scores)


def imitation(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Masks of `field`, of which the better ones are targets; no policy gradient."""
    drawn, index = field(output, settings, count, address)(), output.best()
    masks = (drawn.logits > 0).to(drawn.logits.dtype)

    def imitate(other: Output, rewards: list[float | None]) -> Tensor:
        own = other.chosen(index)
        losses = [mask_loss(own, masks[n : n + 1]) * share for n, share in enumerate(_shares(rewards))]
        return torch.stack(losses).sum()

    return lambda: replace(drawn, imitate=imitate)


def _shares(rewards: list[float | None]) -> list[float]:
    """Each rollout's share of the group's reward; equal shares if the sum is 0."""
    scores = [max(0.0, reward or 0.0) for reward in rewards]
    total = sum(scores)
    return [score / total if total > 0 else 1 / len(scores) for score in scores]


def mask_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Cross-entropy and Dice over all pixels of [N, h, w], with the weights of the published recipe."""
    entropy, dice = mask_parts(logits.flatten(1), truth.flatten(1))
    return 2 * entropy + 0.5 * dice


def bernoulli_kl(logits: Tensor, reference: Tensor) -> Tensor:
    """KL of every pixel as a Bernoulli variable, nats."""
    on = logits.sigmoid() * (F.logsigmoid(logits) - F.logsigmoid(reference))
    off = (-logits).sigmoid() * (F.logsigmoid(-logits) - F.logsigmoid(-reference))
    return on + off


def anchor(output: Output, truth: Mask, settings: Settings) -> Callable[[Output], Tensor]:
    """The loss that keeps masks near those of the starting weights, whose output is given, or near the true one."""
    logits, index = output.candidates(), output.best()
    if settings.mask_anchor == "start":
        return lambda own: bernoulli_kl(own.candidates(), logits).mean()
    wanted = torch.from_numpy(nearest(truth, *logits.shape[1:]))[None].to(logits)
    return lambda own: mask_loss(own.chosen(index), wanted)


POLICIES: dict[str, Draw] = {
    "field": field, "proposals": proposals, "embedding": embedding, "pixels": pixels, "imitation": imitation,
}  # fmt: skip
