"""Mask policies of loop 2: they decide where randomness enters, and score drawn masks under other weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Normal

from .errors import LabError
from .extras import part_of
from .model import Features
from .philox import Address, normals
from .policy import Actor
from .sam2 import Decoded, cell_centres
from .settings import Settings

Scores = tuple[Tensor, Tensor]
"""Log-probabilities and entropies, [N, T] each."""


class Output:
    """Output of the weights for one phrase about a picture; masks are decoded on request."""

    def __init__(self, actor: Actor, features: Features, phrase: str, others: tuple[str, ...] = ()) -> None:
        """The model's weights must not change after the call; `others` are the picture's other phrases."""
        self.actor, self.features, self.others = actor, features, others
        self.language = actor.phrase_prompts(features, [phrase])

    @cached_property
    def decoded(self) -> Decoded:
        """Candidates of the phrase."""
        return self.actor.decoded(self.features, self.language)

    def candidates(self) -> Tensor:
        """Logits of the three candidates, [3, h, w]."""
        return self.decoded.masks[0]

    def shares(self, temperature: float) -> Tensor:
        """Log-probabilities [3] of the candidates by their predicted IoU."""
        out: Tensor = (self.decoded.iou[0] / temperature).log_softmax(-1)
        return out

    def chosen(self, index: Tensor) -> Tensor:
        """Logits of one candidate, [1, h, w]."""
        return self.candidates().index_select(0, index)

    def best(self) -> Tensor:
        """The candidate with the largest predicted IoU, 0 to 2, [1]."""
        return self.decoded.iou.argmax(-1)

    def later(self, values: Tensor) -> Callable[[], npt.NDArray[np.float64]]:
        """Values that the step reads later."""
        return self.actor.reader.later(values.detach().double().to(self.language.device))


@dataclass(frozen=True)
class MaskActions:
    """Drawn masks of one phrase."""

    logits: Tensor
    """[N, h, w]; above 0 is inside."""
    greedy: Tensor
    """[1, h, w] without noise."""
    labels: Callable[[], list[list[tuple[int, str]]]]
    """Of the actions [N, T], read later."""
    logps: Callable[[], npt.NDArray[np.float64]]
    """[N, T] under the weights that drew, read later."""
    scores: Callable[[Output], Scores]
    whole: bool = False
    """Whether the rollouts are the whole action set."""
    imitate: Callable[[Output, list[float]], Tensor] | None = None

    @property
    def weights(self) -> list[float] | None:
        """Probabilities of a whole action set."""
        return np.exp(self.logps()[:, 0]).tolist() if self.whole else None


def mask_parts(z: Tensor, t: Tensor, eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy and Dice of logits [N, P] for targets [N, P]; `eps` is added to both counts."""
    p = z.sigmoid()
    dice = 1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)
    return (F.softplus(z) - z * t).sum() / (z.numel() + eps), dice.sum() / (len(z) + eps)


def mask_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Cross-entropy and Dice over all pixels of [N, h, w], with the weights of the published recipe."""
    entropy, dice = mask_parts(logits.flatten(1), truth.flatten(1))
    return 2 * entropy + 0.5 * dice


def bernoulli_kl(logits: Tensor, reference: Tensor) -> Tensor:
    """KL of every pixel as a Bernoulli variable, nats."""
    on = logits.sigmoid() * (F.logsigmoid(logits) - F.logsigmoid(reference))
    off = (-logits).sigmoid() * (F.logsigmoid(-logits) - F.logsigmoid(-reference))
    return on + off


Drawing = Callable[[], MaskActions]
"""Gives drawn masks once all groups have drawn, since it may read from the device."""
Draw = Callable[[Output, Settings, int, Address], Drawing]


@torch.no_grad()
def act(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Draws masks with the policy of the settings; `address` names the group."""
    name, part = settings.mask_policy, part_of("maskPolicy", settings.mask_policy)
    draw: Draw = (_POLICIES if part is None else part.POLICIES)[name]
    return torch.no_grad()(draw(output, settings, count, address))


def _all_of(output: Output, masks: Tensor, name: str, logs_of: Callable[[Output], Tensor]) -> MaskActions:
    """A whole set of masks, played with the probabilities whose logarithms `logs_of` gives."""

    def scores(other: Output) -> Scores:
        logs = logs_of(other)
        return logs[:, None], (-(logs.exp() * logs).sum()).expand(len(logs), 1)

    labels = [[(k, f"{name} {k + 1}")] for k in range(len(masks))]
    greedy = output.chosen(output.best())
    return MaskActions(masks, greedy, lambda: labels, output.later(scores(output)[0]), scores, True)


def _candidates(output: Output, settings: Settings, _count: int, _address: Address) -> Drawing:
    temperature = settings.candidate_temperature
    return lambda: _all_of(output, output.candidates(), "candidate", lambda other: other.shares(temperature))


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


def _proposals(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
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
        points = cell_centres(settings.proposal_points)
        clicks = output.actor.decoded(output.features, points, True).masks.flatten(0, 1)
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

        return _all_of(output, logits, "proposal", logs_of)

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


_POLICIES: dict[str, Draw] = {"candidates": _candidates, "field": field, "proposals": _proposals}
