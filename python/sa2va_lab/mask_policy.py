"""Mask policies of loop 2: they decide where randomness enters, and score drawn masks under other weights."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from .extras import part_of
from .model import Features
from .philox import Address
from .policy import Actor
from .sam2 import Decoded
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
    imitate: Callable[[Output, list[float | None]], Tensor] | None = None
    """Loss that replaces the policy gradient, for the rewards."""

    @property
    def weights(self) -> list[float] | None:
        """Probabilities of a whole action set."""
        return np.exp(self.logps()[:, 0]).tolist() if self.whole else None


def mask_parts(z: Tensor, t: Tensor, eps: float = 0.0) -> tuple[Tensor, Tensor]:
    """Mean cross-entropy and Dice of logits [N, P] for targets [N, P]; `eps` is added to both counts."""
    p = z.sigmoid()
    dice = 1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)
    return (F.softplus(z) - z * t).sum() / (z.numel() + eps), dice.sum() / (len(z) + eps)


Drawing = Callable[[], MaskActions]
"""Gives drawn masks once all groups have drawn, since it may read from the device."""
Draw = Callable[[Output, Settings, int, Address], Drawing]


@torch.no_grad()
def act(output: Output, settings: Settings, count: int, address: Address) -> Drawing:
    """Draws masks with the policy of the settings; `address` names the group."""
    name, part = settings.mask_policy, part_of("maskPolicy", settings.mask_policy)
    draw: Draw = candidates if part is None else part.POLICIES[name]
    return torch.no_grad()(draw(output, settings, count, address))


def all_of(output: Output, masks: Tensor, name: str, logs_of: Callable[[Output], Tensor]) -> MaskActions:
    """A whole set of masks, played with the probabilities whose logarithms `logs_of` gives."""

    def scores(other: Output) -> Scores:
        logs = logs_of(other)
        return logs[:, None], (-(logs.exp() * logs).sum()).expand(len(logs), 1)

    labels = [[(k, f"{name} {k + 1}")] for k in range(len(masks))]
    greedy = output.chosen(output.best())
    return MaskActions(masks, greedy, lambda: labels, output.later(scores(output)[0]), scores, True)


def candidates(output: Output, settings: Settings, _count: int, _address: Address) -> Drawing:
    """The three candidates of the phrase, each with its probability."""
    temperature = settings.candidate_temperature
    return lambda: all_of(output, output.candidates(), "candidate", lambda other: other.shares(temperature))
