"""Rollouts of both loops: the policy acts, its partner answers, the reward compares."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .data import Row, RunData
from .errors import LabError
from .loss import as_array
from .mask_policy import MaskActions, Output, act, bernoulli_kl, mask_loss
from .masks import Mask, Rle, encode_rle, nearest, region_cells
from .meteor import Meteor
from .model import Features, Sa2va
from .philox import Address, uniform, uniforms_of_rows
from .policy import Actor
from .rewards import Facts, Reward, score_group
from .settings import Contract, Settings
from .state import State
from .step_metrics import Grid, Played, caption_metrics, mask_metrics, pair_metrics

Auxiliary = dict[str, tuple[float, Tensor]]
"""Losses beside the policy's by name: weight and value."""
Score = Callable[[], tuple[Tensor, Tensor, Auxiliary]]


@dataclass(frozen=True)
class Live:
    """A played group with the way to score its actions under the weights that the model has then."""

    played: Played
    score: Score


@dataclass
class Context:
    """What a step works on."""

    actor: Actor
    settings: Settings
    contract: Contract
    data: RunData
    state: State
    meteor: Meteor
    step: int
    features: dict[str, Features] = field(default_factory=dict)

    @property
    def model(self) -> Sa2va:
        """The actor's."""
        return self.actor.model

    def look(self, row: Row) -> Features:
        """Features of a row's picture; the last 64 are kept."""
        if row.image_id not in self.features:
            if len(self.features) >= 64:
                self.features.pop(next(iter(self.features)))
            self.features[row.image_id] = self.model.look(row.rgb, self.settings.maxTiles)
        return self.features[row.image_id]

    def address(self, loop: int, group: int, stream: str) -> Address:
        """Of a group's draws in this step."""
        return Address(self.settings.seed, self.step, loop, group, self.contract.streams[stream])


@lru_cache(maxsize=8)
def _epoch(rows: int, seed: int, loop: int, epoch: int, stream: int) -> tuple[int, ...]:
    """Order of an epoch by a forward Fisher and Yates."""
    order = list(range(rows))
    draws = uniforms_of_rows(Address(seed, epoch, loop, 0, stream), rows)
    for at in range(rows):
        other = at + math.floor(draws[at] * (rows - at))
        order[at], order[other] = order[other], order[at]
    return tuple(order)


def prompt_row(rows: int, n: int, loop: int, seed: int, stream: int) -> int:
    """Place among the training rows of the n-th prompt of a loop."""
    return _epoch(rows, seed, loop, n // rows, stream)[n % rows]


def draw_row(context: Context, loop: int, group: int) -> Row:
    """The row of a group, or the next that can be played. Raises LabError when there is none."""
    data, s, side = context.data, context.settings, context.model.side
    n = (context.step - 1) * s.groups + group
    place = prompt_row(len(data.train), n, loop, s.seed, context.contract.streams["data"])
    for tried in range(len(data.train)):
        row = data.row(data.train[(place + tried) % len(data.train)])
        if s.smallRegions == "force" or region_cells(row.mask, side, False).any():
            return row
    raise LabError("No training row has a mask that covers a visual token; set smallRegions to force in the lab")


def _padded(rows: list[list[float]], width: int) -> Grid:
    return np.asarray([row + [0.0] * (width - len(row)) for row in rows], dtype=np.float64)


def _draft(row: Row, prompt: str, reward: Reward, terms: list[dict[str, Any]], **own: object) -> dict[str, Any]:
    """Fields that the rollouts of both loops share."""
    return {
        "row_id": row.id, "image_id": row.image_id, "prompt": prompt, "reference_caption": row.caption,
        "given_mask": row.rle, "reward": reward, "terms": terms, "greedy_mask": None, "caption_prime": None,
    } | own  # fmt: skip


def _rle(mask: Mask | None) -> Rle | None:
    return None if mask is None else encode_rle(mask)


def describe_group(context: Context, group: int) -> Live:
    """Loop 1: captions of a row's mask by the policy, masks of the captions by the partner."""
    s, actor, words = context.settings, context.actor, context.actor.words
    row = draw_row(context, 1, group)
    features = context.look(row)
    cells = region_cells(row.mask, context.model.side, s.smallRegions == "force")
    address = context.address(1, group, "token")
    said = actor.captions(features, cells, s.groupSize, lambda n, t: uniform(address.at(n, t)))
    captions = [words.answer(own.ids) for own in said]
    height, width = row.mask.shape
    with context.model.values(context.state.ema):
        found = actor.find(features, captions, height, width)
    facts = [
        Facts(row.caption, caption, row.mask, mask.mask if mask else None, (mask and mask.confidence) or 0.0)
        for caption, mask in zip(captions, found, strict=True)
    ]
    rewards, terms = score_group(facts, 1, s, context.meteor)
    ids, prompt = actor.caption_ids(features, cells)
    longest = max(1, *(len(own.ids) for own in said))
    counts = [[1.0 if own.ended or not s.maskTruncated else 0.0] * len(own.ids) for own in said]
    drafts = [
        _draft(
            row, prompt, rewards[n], terms[n], completion=words.decode(own.ids, True), caption=captions[n],
            predicted_mask=_rle(facts[n].predicted), truncated=not own.ended,
        )
        for n, own in enumerate(said)
    ]  # fmt: skip
    metrics = caption_metrics(captions, said) | mask_metrics([own.predicted for own in facts], row.mask)
    played = Played(
        1, group, row.id, rewards, terms, None, _padded(counts, longest), _padded([own.logps for own in said], longest),
        True, [[(token, words.decode([token], True)) for token in own.ids] for own in said], ids, None, drafts,
        metrics
        | {
            "sampling/non_finite": sum(own.broken for own in said),
            "sampling/guard_clips": sum(own.clips for own in said),
        },
    )  # fmt: skip

    def score() -> tuple[Tensor, Tensor, Auxiliary]:
        logps, entropies = actor.caption_scores(features, cells, [own.ids for own in said], longest)
        return logps, entropies, {}

    return Live(played, score)


@dataclass(frozen=True)
class _Anchor:
    """What the weights of the run's beginning say about a phrase, as far as the settings ask."""

    logits: Tensor | None
    truth: Tensor | None
    index: int
    start: Grid | None


@torch.no_grad()
def _ask_start(context: Context, row: Row, features: Features, drawn: MaskActions) -> _Anchor:
    s = context.settings
    anchored = s.maskAnchor != "none" and s.maskAnchorWeight != 0
    referred = s.needs_reference and s.reference == "start" and not s.syncReference
    if not anchored and not referred:
        return _Anchor(None, None, 0, None)
    with context.model.values(context.state.start):
        output = Output(context.actor, features, row.caption)
        start = as_array(drawn.scores(output)[0]) if referred else None
        if not anchored:
            return _Anchor(None, None, 0, start)
        if s.maskAnchor == "start":
            return _Anchor(output.candidates().clone(), None, 0, start)
        side = output.candidates().shape[-1]
        truth = torch.from_numpy(nearest(row.mask, side, side))[None].to(output.candidates())
        return _Anchor(None, truth, output.best(), start)


def _shares(rewards: list[Reward]) -> list[float]:
    """Each rollout's share of the group's reward; equal ones where nothing was earned."""
    scores = [max(0.0, reward or 0.0) for reward in rewards]
    total = sum(scores)
    return [score / total if total > 0 else 1 / len(scores) for score in scores]


def segment_group(context: Context, group: int) -> Live:
    """Loop 2: masks of a row's caption by the policy, captions of the masks by the partner."""
    s, actor, words = context.settings, context.actor, context.actor.words
    row = draw_row(context, 2, group)
    features = context.look(row)
    height, width = row.mask.shape
    with torch.no_grad():
        drawn = act(Output(actor, features, row.caption), s, s.groupSize, context.address(2, group, "mask"))
    found = actor.sized(drawn.logits, height, width)
    greedy = actor.sized(drawn.greedy, height, width)[0]
    masks = [own.mask for own in found]
    with context.model.values(context.state.ema):
        captions = actor.describe(features, masks)
    facts = [
        Facts(row.caption, caption, row.mask, own.mask, own.confidence or 0.0)
        for caption, own in zip(captions, found, strict=True)
    ]
    rewards, terms = score_group(facts, 2, s, context.meteor)
    anchor = _ask_start(context, row, features, drawn)
    prompt, answer, cut = words.segment_prompt(features.tiles, context.model.side**2, row.caption)
    drafts = [
        _draft(
            row, prompt.text, rewards[n], terms[n], completion=words.wordings["answer"], caption=row.caption,
            caption_prime=captions[n], predicted_mask=encode_rle(mask), greedy_mask=encode_rle(greedy.mask),
            truncated=False,
        )
        for n, mask in enumerate(masks)
    ]  # fmt: skip
    observed = {"captions/cut": float(cut), "captions/spell_tokens": float(words.spells(row.caption))}
    played = Played(
        2, group, row.id, rewards, terms, drawn.weights, np.ones_like(drawn.logps), drawn.logps,
        drawn.imitate is None, drawn.labels, prompt.ids, answer, drafts,
        observed | mask_metrics(masks, row.mask) | pair_metrics(masks, captions), anchor.start,
    )  # fmt: skip

    def score() -> tuple[Tensor, Tensor, Auxiliary]:
        output = Output(actor, features, row.caption)
        extra: Auxiliary = {}
        if anchor.logits is not None:
            extra["mask_anchor"] = (s.maskAnchorWeight, bernoulli_kl(output.candidates(), anchor.logits).mean())
        elif anchor.truth is not None:
            own = output.candidates()[anchor.index : anchor.index + 1]
            extra["mask_anchor"] = (s.maskAnchorWeight, mask_loss(own, anchor.truth))
        if drawn.imitate is not None:
            order = reward_order(context, 2, group, len(rewards))
            extra["imitation"] = (1.0, drawn.imitate(output, _shares([rewards[n] for n in order])))
        return (*drawn.scores(output), extra)

    return Live(played, score)


def reward_order(context: Context, loop: int, group: int, count: int) -> list[int]:
    """Which rollout's reward each action is trained with: its own, or another one where rewards are shuffled as a control."""
    order = list(range(count))
    if context.settings.shuffleRewards:
        address = context.address(loop, group, "shuffle")
        for last in range(count - 1, 0, -1):
            other = math.floor(uniform(address.at(last)) * (last + 1))
            order[last], order[other] = order[other], order[last]
    return order


def play(context: Context, loop: int, group: int) -> Live:
    """One group of a loop."""
    return (describe_group if loop == 1 else segment_group)(context, group)
