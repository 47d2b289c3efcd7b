"""Rollouts of both loops: the policy acts, its partner answers, the reward compares."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from .data import Rgb, Row, RunData
from .errors import LabError
from .extras import part_of
from .mask_policy import MaskActions, Output, act
from .masks import Mask, Rle, encode_rle
from .model import Features, Prepared, Sa2va
from .order import RowOrder
from .philox import Address
from .policy import Actor, Asked, Completion, Found
from .reading import Grid
from .rewards import Facts, Likelihood, Reward, Scorer, score_group
from .settings import Contract, Settings
from .state import State, Update
from .step_metrics import Played, caption_metrics, mask_metrics, pair_metrics

Auxiliary = dict[str, tuple[float, Tensor]]
"""Auxiliary losses by name: weight and value."""
Score = Callable[[slice], tuple[Tensor, Tensor, Auxiliary]]
_ALL = slice(None)


@dataclass(frozen=True)
class Live:
    """A sampled group, and the function that scores its actions under the model's current weights."""

    played: Played
    score: Score
    """Takes the rollouts to score; a mask policy always scores all."""
    parts: tuple[slice, ...] = (_ALL,)
    """Rollouts of each backward pass."""

    @torch.no_grad()
    def values(self) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies [N, T] without gradient."""
        logps, entropies = zip(*(self.score(part)[:2] for part in self.parts), strict=True)
        return torch.cat(logps), torch.cat(entropies)


class Ahead(Protocol):
    """Pictures that the extra `ahead` prepares before they are asked for."""

    def draw(self) -> None:
        """Call it once for each planned draw, before its picture is asked for."""

    def taken(self, image_id: str) -> Prepared | None:
        """The prepared picture of the last draw, if that is its id."""


@dataclass
class Context:
    """Inputs of a step."""

    actor: Actor
    contract: Contract
    data: RunData
    state: State
    scorer: Scorer
    order: RowOrder
    step: int
    features: dict[str, Features] = field(default_factory=dict)
    rounding: list[Callable[[], Any]] = field(default_factory=list)
    """Errors of the pictures used in this step, read later."""
    at_once: int = 0
    """Groups that are decoded in one batch; 0 for all of the process."""
    ahead: Ahead | None = None
    """Prepares the pictures of coming steps."""
    between: Callable[[Update, int], None] | None = None
    """Called after each update of a step with the number of remaining updates."""

    @property
    def model(self) -> Sa2va:
        """The actor's model."""
        return self.actor.model

    @property
    def settings(self) -> Settings:
        """The run's settings."""
        return self.actor.settings

    def look(self, row: Row) -> Features:
        """Features of a row's picture; the last 64 are cached."""
        if row.image_id not in self.features:
            if len(self.features) >= 64:
                self.features.pop(next(iter(self.features)))
            picture = self.ahead.taken(row.image_id) if self.ahead is not None else None
            prepared = picture or self.preparation(row.rgb)
            self.features[row.image_id] = self.stored(self.model.look(prepared, *row.mask.shape))
        features = self.features[row.image_id]
        self.note(features)
        regions = part_of("regionPrompt", self.actor.region_form)
        return features if regions is None else replace(features, draw=partial(regions.drawn, self, row))

    @property
    def preparation(self) -> Callable[[Rgb], Prepared]:
        """What the towers read of a picture, computed on the host."""
        return self.model.preparation(self.settings.max_tiles, self.settings.resize_twice)

    def stored(self, features: Features) -> Features:
        """Features as the settings keep them."""
        memory = part_of("featureStorage", self.settings.feature_storage)
        return features if memory is None else memory.halved(features)

    def note(self, features: Features) -> None:
        """Counts the rounding of features that are used."""
        if features.error is not None:
            self.rounding.append(self.actor.reader.later(features.error))

    def address(self, loop: int, group: int, stream: str) -> Address:
        """Address of a group's draws in this step."""
        return Address(self.settings.seed, self.step, loop, group, self.contract.streams[stream])


def draw_row(context: Context, loop: int, group: int) -> Row:
    """The row of a group, or the next usable one. Raises LabError when there is none."""
    data, s, order = context.data, context.settings, context.order.of(loop)
    # Groups of a round of dynamic sampling are numbered after those of earlier rounds.
    round, at = divmod(group, s.groups)
    place = order.place(context.order.before(context.step) + at, context.step, round)
    if round == 0 and context.ahead is not None:
        context.ahead.draw()
    for tried in range(len(order.rows)):
        row = data.row(order.rows[(place + tried) % len(order.rows)])
        seen = s.small_regions == "force" or context.actor.seen(row.mask) is not None
        if seen and (loop != 3 or row.questions):
            return row
    if loop == 3:
        raise LabError("No training row has a question with an answer; set loop3Weight to 0 in the lab")
    raise LabError("No training row has a mask that covers a visual token; set smallRegions to force in the lab")


def _padded(rows: list[list[float]], width: int) -> Grid:
    return np.asarray([row + [0.0] * (width - len(row)) for row in rows], dtype=np.float64)


def _draft(row: Row, prompt: str, reward: Reward, terms: list[dict[str, Any]], **own: object) -> dict[str, Any]:
    """Common fields of the rollouts of all loops."""
    return {
        "row_id": row.id, "image_id": row.image_id, "prompt": prompt, "reference_caption": row.caption,
        "given_mask": row.rle, "pixels": row.pixels, "reward": reward, "terms": terms,
        "greedy_mask": None, "caption_prime": None,
    } | own  # fmt: skip


def _rle(mask: Mask | None) -> Rle | None:
    return None if mask is None else encode_rle(mask)


def likelihoods_of(
    context: Context, loop: int, row: Row, masks: Sequence[Mask | None]
) -> Callable[[], Sequence[Likelihood | bool | None]]:
    """
    Likelihood of the row's caption for masks, under the weights in the settings, read later; False if no reward needs
    it.
    """
    weights = context.settings.weights[loop] if loop in context.settings.active_loops else {}
    part = part_of("likelihood", any(weights.get(name, 0) != 0 for name in ("likelihood", "contrast")))
    if part is None:
        return lambda: [False] * len(masks)
    found: Callable[[], Sequence[Likelihood | None]] = part.of(context, row, masks)
    return found


def text_facts(
    context: Context, loop: int, row: Row, reference: str, said: list[Completion], found: Sequence[Found | None]
) -> Callable[[], list[Facts]]:
    """Facts that reward captions of loop 1, with the partner's masks, and answers of loop 3; read later."""
    segments = [own.ids.count(context.actor.words.seg) for own in said]
    if loop == 3:
        return lambda: [
            Facts(reference, own.text, row.mask, None, None, False, not own.ended, count)
            for own, count in zip(said, segments, strict=True)
        ]
    known = likelihoods_of(context, loop, row, [own.mask if own else None for own in found])
    return lambda: [
        Facts(reference, text.text, row.mask, own.mask if own else None, (own and own.confidence) or 0.0, likelihood,
              not text.ended, count)
        for text, own, likelihood, count in zip(said, found, known(), segments, strict=True)
    ]  # fmt: skip


def told_facts(
    context: Context, row: Row, masks: list[Found], texts: list[list[str | None]]
) -> Callable[[], list[list[Facts]]]:
    """Facts that reward masks of loop 2, for each of the partner's texts about all masks; read later."""
    known = likelihoods_of(context, 2, row, [own.mask for own in masks])
    return lambda: [
        [
            Facts(row.caption, text, row.mask, own.mask, own.confidence or 0.0, likelihood)
            for text, own, likelihood in zip(told, masks, known(), strict=True)
        ]
        for told in texts
    ]


def text_group(context: Context, loop: int, group: int) -> Generator[Asked | None, list[Completion], Live]:
    """
    A group whose actions are the tokens of texts for one prompt; yields the prompt and takes the texts, and yields
    None before it reads from the device, so that the values of all groups are read at once.

    Loop 1: captions of a row's mask, for which the partner finds masks. Loop 3: answers to a question about its region,
    compared with the row's answer.
    """
    s, actor, words = context.settings, context.actor, context.actor.words
    row = draw_row(context, loop, group)
    features, cells = context.look(row), actor.cells(row.mask)
    question, reference = row.exchange(loop, context.step)
    asked = actor.asked(features, row.mask, cells, question)
    said = yield asked
    captions = [own.text for own in said]
    masks_of: Callable[[], list[Found | None]] = list
    if loop == 1:
        with context.model.values(context.state.ema):
            masks_of = actor.search(features, captions, *row.mask.shape)
    yield None
    found = masks_of()
    facts = text_facts(context, loop, row, reference, said, found)
    yield None
    rewards, terms = score_group(facts(), loop, s, context.scorer)
    masks = [own.mask if own else None for own in found] or [None] * len(said)
    longest = max(1, *(len(own.ids) for own in said))
    counts = [[1.0 if own.ended or not s.mask_truncated_completions else 0.0] * len(own.ids) for own in said]
    drafts = [
        _draft(
            row, asked.prompt.text, rewards[n], terms[n], completion=words.decode(own.ids, True), caption=own.text,
            predicted_mask=_rle(masks[n]), truncated=not own.ended,
            reference_caption=reference,
        )
        for n, own in enumerate(said)
    ]  # fmt: skip
    metrics = caption_metrics(captions, said) | (mask_metrics(masks, row.mask) if loop == 1 else {})
    metrics |= {
        "sampling/non_finite": sum(own.broken for own in said),
        "sampling/guard_clips": sum(own.clips for own in said),
    }
    played = Played(
        loop, group, row.id, rewards, terms, None, _padded(counts, longest),
        _padded([own.logps for own in said], longest), True,
        [[(token, words.decode([token], True)) for token in own.ids] for own in said], asked.prompt.ids, None, drafts,
        metrics,
    )  # fmt: skip

    def score(rows: slice) -> tuple[Tensor, Tensor, Auxiliary]:
        return (
            *actor.text_scores(asked, [own.ids for own in said[rows]], longest, s.temperature, s.max_completion_length),
            {},
        )

    size = s.micro_rollouts or len(said)
    return Live(played, score, tuple(slice(at, at + size) for at in range(0, len(said), size)))


@torch.no_grad()
def _ask_start(
    context: Context, row: Row, features: Features, drawn: MaskActions
) -> tuple[Callable[[], Grid] | None, Callable[[Output], Tensor] | None]:
    """If the settings need them: log-probabilities under the starting weights, read later, and the anchor's loss."""
    s = context.settings
    anchored = part_of("maskAnchor", s.mask_anchor if s.mask_anchor_weight != 0 else "none")
    referred = s.needs_reference and s.reference == "start" and not s.sync_ref_model
    if anchored is None and not referred:
        return None, None
    with context.model.values(context.state.start):
        output = Output(context.actor, features, row.caption, row.others)
        start = output.later(drawn.scores(output)[0]) if referred else None
        return start, None if anchored is None else anchored.anchor(output, row.mask, s)


def segment_group(
    context: Context, group: int
) -> Generator[tuple[Features, list[Mask], Address | None] | None, list[str | None], Live]:
    """
    Loop 2: the policy's masks for a row's caption; yields them for the partner and takes its captions, and yields None
    before it reads from the device.

    The partner gives the likeliest caption of each mask, or several sampled ones.
    """
    s, actor, words = context.settings, context.actor, context.actor.words
    row = draw_row(context, 2, group)
    features = context.look(row)
    height, width = row.mask.shape
    with torch.no_grad():
        output = Output(actor, features, row.caption, row.others)
        drawing = act(output, s, s.num_generations, context.address(2, group, "mask"))
    yield None
    drawn = drawing()
    masks_of = actor.sized(torch.cat([drawn.greedy, drawn.logits]), height, width)
    start, anchor = _ask_start(context, row, features, drawn)
    yield None
    greedy, *found = masks_of()
    masks = [own.mask for own in found]
    draws = s.partner_samples if s.partner_temperature > 0 else 1
    told = yield features, masks * draws, context.address(2, group, "token") if s.partner_temperature > 0 else None
    texts = [told[draw * len(masks) : (draw + 1) * len(masks)] for draw in range(draws)]
    facts = told_facts(context, row, found, texts)
    yield None
    scored = [score_group(own, 2, s, context.scorer) for own in facts()]
    several = part_of("partnerSamples", draws)
    rewards, terms = scored[0] if several is None else several.mean_scores(scored, texts)
    captions = texts[0]
    prompt, answer, cut = words.segment_prompt(features.tokens, row.caption)
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
        2, group, row.id, rewards, terms, drawn.weights, np.ones_like(drawn.logps()), drawn.logps(),
        drawn.imitate is None, drawn.labels(), prompt.ids, answer, drafts,
        observed | mask_metrics(masks, row.mask) | pair_metrics(masks, captions), start and start(),
    )  # fmt: skip

    def score(_: slice) -> tuple[Tensor, Tensor, Auxiliary]:
        output = Output(actor, features, row.caption)
        extra: Auxiliary = {}
        if anchor is not None:
            extra["mask_anchor"] = (s.mask_anchor_weight, anchor(output))
        if drawn.imitate is not None:
            order = reward_order(context, 2, group, len(rewards))
            extra["imitation"] = (1.0, drawn.imitate(output, [rewards[n] for n in order]))
        return (*drawn.scores(output), extra)

    return Live(played, score)


def reward_order(context: Context, loop: int, group: int, count: int) -> list[int]:
    """The rollout whose reward trains each action: its own, or in the control experiment another one."""
    shuffled = part_of("shuffleRewards", context.settings.shuffle_rewards)
    return list(range(count)) if shuffled is None else list(shuffled.reward_order(context, loop, group, count))


def play(context: Context, loop: int, groups: list[int]) -> list[Live]:
    """Samples groups of a loop, `at_once` of them in one batch."""
    size = context.at_once or len(groups)
    return [
        own for at in range(0, len(groups), max(1, size)) for own in _together(context, loop, groups[at : at + size])
    ]


def _together(context: Context, loop: int, groups: list[int]) -> list[Live]:
    s, actor = context.settings, context.actor
    answers: Sequence[object]
    if loop == 2:
        games: list[Any] = [segment_group(context, group) for group in groups]
        pictures = _sent(games)
        with context.model.values(context.state.ema):
            answers = actor.describe(pictures, s.partner_temperature or 1.0)
    else:
        games = [text_group(context, loop, group) for group in groups]
        addresses = [context.address(loop, group, "token") for group in groups]
        answers = actor.texts(_sent(games), s.num_generations, addresses, True)
    return _sent(games, answers)


def _sent(games: list[Any], answers: Sequence[object] = ()) -> list[Any]:
    """What each game yields or returns after an answer; all wait before each of their readings."""
    found = list[Any]()
    while all(own is None for own in found):
        given, answers, found = answers or [None] * len(games), (), []
        for game, answer in zip(games, given, strict=True):
            try:
                found.append(game.send(answer))
            except StopIteration as over:
                found.append(over.value)
        if not games:
            break
    return found
