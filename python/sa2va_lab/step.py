"""
One dual-loop GRPO step over all processes: sample, partner, score, advantage, loss, update, average.

A group belongs to process g mod world; what crosses processes is one gathering of rewards and one sum of gradients.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .judge import judge_metrics
from .loss import GroupScores, LossInputs, LossSettings, RewardGroup, as_array, group_scores, policy_loss
from .philox import uniform
from .play import Context, Live, play, reward_order
from .rewards import Reward
from .state import Gradients, Update, taken, update
from .step_metrics import Grid, Metrics, Played, Readback, diagnose, loop_metrics, over_passes, source_metrics
from .team import Team


@dataclass(frozen=True)
class Recorded:
    """A group as the run folder keeps it."""

    played: Played
    readback: Readback
    ratio: Grid
    kl: Grid
    clipped: Grid


@dataclass(frozen=True)
class Outcome:
    """A step's results; the groups of all processes on every process."""

    metrics: Metrics
    groups: list[Recorded]
    updates: list[Update]
    seconds: dict[str, float]


class Clock:
    """Seconds of the phases of a step."""

    def __init__(self) -> None:
        """Begins with nothing."""
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Adds the time of a block to a phase."""
        began = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began


def _reward_group(context: Context, played: Played) -> RewardGroup:
    """Rewards with their weighted parts, in another order where the settings shuffle them as a control."""
    order = reward_order(context, played.loop, played.group, len(played.rewards))
    rewards = [played.rewards[n] for n in order]
    terms = [{term["name"]: term for term in played.terms[n]} for n in order]
    weights = {name: term["weight"] for own in terms for name, term in own.items() if term["weight"] != 0}
    parts: list[tuple[float, list[Reward]]] = []
    for name, weight in weights.items():
        values = [None if rewards[n] is None or name not in own else own[name]["value"] for n, own in enumerate(terms)]
        parts.append((weight, values))
    return RewardGroup(rewards, played.weights, parts)


def _signed(context: Context, played: Played, scores: GroupScores) -> GroupScores:
    """In the control a coin turns the sign of a group's advantages."""
    if (
        not context.settings.shuffleRewards
        or uniform(context.address(played.loop, played.group, "shuffle").at(0)) < 0.5
    ):
        return scores
    return replace(scores, advantages=[-advantage if advantage else 0.0 for advantage in scores.advantages])


@torch.no_grad()
def _references(context: Context, live: list[Live]) -> None:
    """Log-probabilities of the actions under the reference, where the loss needs them."""
    s, state = context.settings, context.state
    if not s.needs_reference:
        return
    values = state.ema if s.reference == "ema" else (state.reference or state.start)
    for own in live:
        own.played.from_start = values is state.start
        if own.played.reference is None or values is not state.start:
            with context.model.values(values):
                own.played.reference = as_array(own.score()[0])


def _backward(context: Context, own: Live, settings: LossSettings, old: Grid | None) -> Readback:
    """Loss of one group; its gradient is added on the model."""
    s, played = context.settings, own.played
    logps, entropies, extra = own.score()

    def grid(values: Any) -> Any:
        return None if values is None else torch.as_tensor(values).to(logps)

    weights = None if played.weights is None else [p * len(played.weights) for p in played.weights]
    inputs = LossInputs(
        logps, entropies, grid(old), grid(played.reference), grid(played.mask), grid(played.advantages), grid(weights)
    )
    parts = policy_loss(inputs, settings)
    loss = parts.loss
    for weight, value in extra.values():
        loss = loss + value * (weight / settings.groups)
    torch.autograd.backward(loss * s.loop_weights[played.loop])
    played.auxiliary = {name: float(value.detach()) for name, (_, value) in extra.items()}
    total, policy, penalty = (float(value.detach()) for value in (loss, parts.policy, parts.kl_penalty))
    return Readback(total, policy, penalty, as_array(logps), as_array(entropies))


def _record(played: Played, readback: Readback, settings: LossSettings) -> Recorded:
    found = diagnose(readback.logps, played.sampling if played.old is None else played.old, played, settings)
    clipped = found.low + found.high + found.delta > 0
    return Recorded(replace(played), readback, found.ratio, found.kl, clipped.astype(float))


def _played(context: Context, team: Team, loop: int) -> list[Live]:
    """
    This process's groups of a step.

    Dynamic sampling replaces groups whose rewards are equal by groups of other rows, in their places.
    """
    s = context.settings
    chosen = {place: play(context, loop, place) for place in team.own(s.groups)}
    context.model.settle()

    def of_everyone(groups: dict[int, Live], spread: bool) -> list[int]:
        """Keys of the groups of all processes that have spread, or have none."""
        own = (key for key, group in groups.items() if spread != _reward_group(context, group.played).spread.zero)
        return sorted(team.all_of(list(own)))

    for round in range(1, s.resampleRounds + 1):
        dull = of_everyone(chosen, False)
        if not dull:
            break
        first = round * s.groups
        more = {first + at: play(context, loop, first + at) for at in team.own(len(dull))}
        for place, group in zip(dull, of_everyone(more, True), strict=False):
            chosen.pop(place, None)
            if group in more:
                chosen[place] = more[group]
    for place, own in chosen.items():
        own.played.place = place
    return [own for _, own in sorted(chosen.items())]


def _in_order(team: Team, items: list[Recorded]) -> list[Recorded]:
    """Groups of all processes in the order of one."""
    return sorted(team.all_of(items), key=lambda item: item.played.place)


def grpo_step(context: Context, team: Team) -> Outcome:
    """Runs one optimiser step and changes weights and state."""
    s, clock = context.settings, Clock()
    live: dict[int, list[Live]] = {}
    for loop in s.active_loops:
        with clock.phase("generate"):
            live[loop] = _played(context, team, loop)
    with clock.phase("advantage"):
        sizes = _advantages(context, team, live)
        for own in live.values():
            _references(context, own)
        context.model.settle()
    first: dict[tuple[int, int], Grid] = {}
    _later_passes(context, live, first)
    context.model.settle()
    passes: dict[int, list[Metrics]] = {loop: [] for loop in live}
    updates: list[Update] = []
    records: list[Recorded] = []
    for turn in range(s.iterations * s.windows):
        gradients: Gradients = {}
        for loop, groups in live.items():
            with clock.phase("loss"):
                own, settings, seen = _window_pass(context, loop, groups, sizes[loop], turn, first)
                gradients[loop] = taken(context.model, loop, s)
            found = _in_order(team, [_record(g.played, r, settings) for g, r in zip(own, seen, strict=True)])
            if turn < s.windows:
                records += found
            everyone = [item.played for item in found]
            passes[loop].append(loop_metrics(loop, everyone, [item.readback for item in found], settings, turn == 0))
            _follow_entropy(context, loop, found, passes[loop][-1])
            for group, readback in zip(own, seen, strict=True):
                if turn < s.windows:
                    first[loop, group.played.place] = readback.logps
        with clock.phase("update"):
            updates.append(update(context.model, context.state, gradients, s, team))
        if context.between is not None:
            context.between(updates[-1], s.iterations * s.windows - 1 - turn)
    metrics = {name: value for own in passes.values() for name, value in over_passes(own).items()}
    for loop in live:
        mine = [item.played for item in records if item.played.loop == loop]
        metrics |= source_metrics(loop, mine, context.order.source)
        if s.resampleRounds > 0:
            metrics[f"loop{loop}/resampled_groups"] = sum(own.group >= s.groups for own in mine)
    metrics |= judge_metrics([term for item in records for terms in item.played.terms for term in terms])
    return Outcome(metrics | updates[-1].metrics, records, updates, clock.seconds)


def _follow_entropy(context: Context, loop: int, groups: list[Recorded], metrics: Metrics) -> None:
    """Moves an adaptive entropy bonus by the mean entropy of what kept its policy term, and logs the bonus."""
    s, state = context.settings, context.state
    counted = [
        item.readback.entropies[_kept_actions(item.readback.entropies, item.played.mask > 0.5, s.topEntropyQuantile)]
        for item in groups
    ]
    values = np.concatenate(counted)
    state.entropy[loop] = state.entropy[loop].after(float(values.mean()) if len(values) else math.nan, s)
    if s.adaptiveEntropy or s.entropyCoefficient != 0:
        metrics[f"loop{loop}/entropy_coef"] = state.entropy[loop].coefficient


def _kept_actions(entropies: Grid, active: npt.NDArray[np.bool_], share: float) -> npt.NDArray[np.bool_]:
    if share >= 1 or not active.any():
        return active
    threshold = float(np.quantile(entropies[active], 1 - share))
    return np.asarray(active & (entropies >= threshold - 1e-6 * abs(threshold)))


def _advantages(context: Context, team: Team, live: dict[int, list[Live]]) -> dict[int, tuple[float, int]]:
    """Gives every group its advantages; returns counted actions and the longest rollout of each loop."""
    found = [
        (own.played.loop, own.played.place, _reward_group(context, own.played), float(own.played.mask.sum()),
         own.played.mask.shape[1])
        for groups in live.values() for own in groups
    ]  # fmt: skip
    everyone = sorted(team.all_of(found), key=lambda item: item[:2])
    sizes = {}
    for loop, groups in live.items():
        mine = [item for item in everyone if item[0] == loop]
        scores = group_scores([item[2] for item in mine], context.settings)
        for own in groups:
            own.played.scores = _signed(context, own.played, scores[own.played.place])
        longest = context.settings.maxNewTokens if loop != 2 else max([1, *(item[4] for item in mine)])
        sizes[loop] = (sum(item[3] for item in mine), longest)
    return sizes


def _window(context: Context, turn: int) -> range:
    size = context.settings.groups // context.settings.windows
    at = turn % context.settings.windows
    return range(at * size, (at + 1) * size)


@torch.no_grad()
def _later_passes(context: Context, live: dict[int, list[Live]], first: dict[tuple[int, int], Grid]) -> None:
    """Log-probabilities of groups whose first update comes after another one's."""
    for own in (own for groups in live.values() for own in groups):
        if own.played.place not in _window(context, 0):
            first[own.played.loop, own.played.place] = as_array(own.score()[0])


def _window_pass(
    context: Context,
    loop: int,
    live: list[Live],
    size: tuple[float, int],
    turn: int,
    first: dict[tuple[int, int], Grid],
) -> tuple[list[Live], LossSettings, list[Readback]]:
    """Backward passes of this process's groups of one accumulation window."""
    s, window = context.settings, _window(context, turn)
    own = [group for group in live if group.played.place in window]
    bonus = context.state.entropy[loop].applied(s)
    settings = LossSettings(s, len(window), size[0] / s.windows, size[1], bonus)
    seen = []
    for group in own:
        known = first.get((loop, group.played.place))
        old = group.played.reference if s.objective == "notes" else known
        group.played.old = old
        seen.append(_backward(context, group, settings, old))
    return own, settings, seen
