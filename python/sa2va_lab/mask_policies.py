"""The extra `mask_policies`: mask policies of loop 2 that are plug-ins in the lab."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Bernoulli

from .mask_policy import (
    Draw,
    Drawing,
    MaskActions,
    Output,
    Scores,
    deviation_of,
    field,
    gaussian,
    mask_loss,
    noise_of,
)
from .philox import Address, uniforms
from .settings import Settings


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

    def imitate(other: Output, shares: list[float]) -> Tensor:
        own = other.chosen(index)
        losses = [mask_loss(own, masks[n : n + 1]) * share for n, share in enumerate(shares)]
        return torch.stack(losses).sum()

    return lambda: replace(drawn, imitate=imitate)


POLICIES: dict[str, Draw] = {"embedding": embedding, "pixels": pixels, "imitation": imitation}
