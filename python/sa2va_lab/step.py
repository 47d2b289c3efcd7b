"""
One dual-loop GRPO step over all processes: sample, partner, score, advantage, loss, update, average.

A group belongs to process g mod world. Only one gathering of rewards and one sum of gradients cross processes.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from . import loss
from .extras import extra, part_of
from .play import Auxiliary, Context, Live, play, reward_order
from .reading import Grid
from .rewards import Reward
from .state import Gradients, Update, taken, update
from .step_metrics import (
    Metrics,
    Played,
    Recorded,
    average,
    pass_metrics,
    sampled_metrics,
)
from .team import Team


@dataclass(frozen=True)
class Outcome:
    """A step's results: the groups of all processes, on every process."""

    metrics: Metrics
    groups: list[Recorded]
    updates: list[Update]
    seconds: dict[str, float]


@contextmanager
def phase(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Adds the time of a block to a phase of the step."""
    began = time.monotonic()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.monotonic() - began


def reward_group(context: Context, played: Played) -> loss.RewardGroup:
    """Rewards with their weighted parts, permuted if the settings shuffle them as a control."""
    order = reward_order(context, played.loop, played.group, len(played.rewards))
    rewards = [played.rewards[n] for n in order]
    terms = [{term["name"]: term for term in played.terms[n]} for n in order]
    weights = {name: term["weight"] for own in terms for name, term in own.items() if term["weight"] != 0}
    parts: list[tuple[float, list[Reward]]] = []
    for name, weight in weights.items():
        values = [None if rewards[n] is None or name not in own else own[name]["value"] for n, own in enumerate(terms)]
        parts.append((weight, values))
    return loss.RewardGroup(rewards, played.weights, parts)


@torch.no_grad()
def _compare(context: Context, groups: list[Live]) -> None:
    """
    Log-probabilities of the groups' actions for comparison in the loss.

    Those under the reference, if needed, and the policy's own if another update comes first.
    """
    s, state, later = context.settings, context.state, context.actor.reader.later
    values, from_start = state.ema if s.reference == "ema" else (state.reference or state.start), False
    if s.needs_reference:
        from_start = values is state.start
        asked = [own for own in groups if own.played.reference is None or not from_start]
        with context.model.values(values):
            references = [later(own.values()[0].double()) for own in asked]
        for own, read in zip(asked, references, strict=True):
            own.played.reference = read()
    waiting = [own for own in groups if own.played.place not in s.window(0)]
    firsts = [later(own.values()[0].double()) for own in waiting]
    for own, read in zip(waiting, firsts, strict=True):
        own.played.first = read()
    for own in groups:
        own.played.from_start = from_start


def _still(context: Context, live: dict[int, list[Live]]) -> Callable[[], list[bool]]:
    """
    Whether the policy has the weights of its reference, and of the start; only if a group has no advantage. Read later.
    """
    s, state = context.settings, context.state
    if all(any(own.played.advantages) for groups in live.values() for own in groups):
        return lambda: [False, False]
    values = state.ema if s.reference == "ema" else (state.reference or state.start)
    alike = [
        torch.stack(
            [(parameter.data == value).all() for parameter, value in zip(context.model.trained, own, strict=True)]
        )
        for own in (values, state.start)
    ]
    return context.actor.reader.later(torch.stack(alike).all(1))


def _inputs(played: Played, logps: Tensor, entropies: Tensor, old: Grid | None) -> loss.LossInputs:
    def grid(values: Any) -> Any:
        return None if values is None else torch.as_tensor(values).to(logps)

    weights = None if played.weights is None else [p * len(played.weights) for p in played.weights]
    grids = (old, played.reference, played.mask, played.advantages, weights)
    return loss.LossInputs(logps, entropies, *map(grid, grids))


def _backward(
    context: Context, own: Live, settings: loss.LossSettings, still: Sequence[bool]
) -> Callable[[], Recorded]:
    """
    Loss of one group, whose gradient is added on the model, and what it did to the actions, for later.

    `still`: whether the weights are those of the reference and of the start. If no action has an advantage, losses that
    compare the policy with them are 0 by definition, and not the rounding between two passes.
    """
    s, played = context.settings, own.played
    played.old = played.reference if s.objective == "notes" else played.first
    apart = len(own.parts) > 1
    if apart:
        # The loss depends on all rollouts of a group, so its derivatives come first and then flow back part by part.
        logps, entropies = (values.requires_grad_() for values in own.values())
        beside: Auxiliary = {}
    else:
        logps, entropies, beside = own.score(own.parts[0])
    given = _inputs(played, logps, entropies, played.old)
    silent = not any(played.advantages)
    if silent and still[0] and given.reference is not None:
        given = replace(given, reference=logps.detach())
    whole, policy = loss.policy_loss(given, settings)
    for name, (weight, value) in beside.items():
        if not (silent and still[1] and name == "mask_anchor" and s.mask_anchor == "start"):
            whole = whole + value * (weight / settings.groups)
    torch.autograd.backward(whole * s.loop_weights[played.loop])
    if apart:
        extra("memory", "microRollouts").backward_by_parts(own, logps.grad, entropies.grad)
    results = [logps, entropies, whole, policy, *(value for _, value in beside.values())]
    read = [context.actor.reader.later(value.detach().double()) for value in results]

    def recorded() -> Recorded:
        grids = read[0](), read[1]()
        played.auxiliary = {name: float(value()) for name, value in zip(beside, read[4:], strict=True)}
        old = played.sampling if played.old is None else played.old
        logps, entropies = map(torch.from_numpy, grids)
        effect = loss.effect_of(_inputs(played, logps, entropies, old), settings)
        found = Recorded(replace(played), effect, float(read[2]()), float(read[3]()), *grids)
        played.first = found.logps if played.first is None else played.first
        return found

    return recorded


def _played(context: Context, team: Team, loop: int) -> tuple[list[Live], list[Live]]:
    """This process's groups of a step, and those of other rows that they replaced."""
    s, dropped = context.settings, list[Live]()
    mine = team.own(s.groups)
    chosen = dict(zip(mine, play(context, loop, mine), strict=True))
    context.model.settle()
    again = part_of("resampleRounds", s.resample_rounds)
    if again is not None:
        chosen, dropped = again.sampled_again(context, team, loop, chosen)
    for place, own in chosen.items():
        own.played.place = place
    return [own for _, own in sorted(chosen.items())], dropped


def grpo_step(context: Context, team: Team) -> Outcome:
    """Runs one optimiser step and changes weights and state."""
    s, seconds = context.settings, dict[str, float]()
    live: dict[int, list[Live]] = {}
    terms: list[dict[str, Any]] = []
    for loop in s.active_loops:
        with phase(seconds, "generate"):
            live[loop], dropped = _played(context, team, loop)
        if s.resample_rounds > 0:
            terms += team.all_of([term for own in dropped for one in own.played.terms for term in one])
    with phase(seconds, "advantage"):
        sizes = _advantages(context, team, live)
        still = _still(context, live)
        _compare(context, [own for groups in live.values() for own in groups])
        context.model.settle()
    adaptive = part_of("useAdaptiveEntropy", s.use_adaptive_entropy)
    passes: dict[int, list[Metrics]] = {loop: [] for loop in live}
    updates: list[Update] = []
    records: list[Recorded] = []
    for turn in range(s.num_iterations * s.windows):
        gradients: Gradients = {}
        settings: dict[int, loss.LossSettings] = {}
        mine: dict[int, list[Callable[[], Recorded]]] = {}
        with phase(seconds, "loss"):
            alike = (still if turn == 0 else _still(context, live))()
            for loop, groups in live.items():
                bonus = s.entropy_coef if adaptive is None else adaptive.bonus(context.state.entropy[loop], s)
                settings[loop] = loss.LossSettings(
                    s, len(s.window(turn)), sizes[loop][0] / s.windows, sizes[loop][1], bonus
                )
                now = [own for own in groups if own.played.place in s.window(turn)]
                mine[loop] = [_backward(context, own, settings[loop], alike) for own in now]
                gradients[loop] = taken(context.model, loop, s)
            read = team.all_of([own() for groups in mine.values() for own in groups])
        for loop in live:
            found = sorted((own for own in read if own.played.loop == loop), key=lambda own: own.played.place)
            records += found if turn < s.windows else []
            passes[loop].append(pass_metrics(loop, found, settings[loop], turn == 0))
            coefficient = s.entropy_coef if adaptive is None else adaptive.followed(context, loop, found)
            if adaptive is not None or coefficient != 0:
                passes[loop][-1][f"loop{loop}/entropy_coef"] = coefficient
        with phase(seconds, "update"):
            updates.append(update(context.model, context.state, gradients, s, team))
        if context.between is not None:
            context.between(updates[-1], s.num_iterations * s.windows - 1 - turn)
    metrics = {name: value for own in passes.values() for name, value in average(own).items()}
    for loop in live:
        played = [item.played for item in records if item.played.loop == loop]
        metrics |= sampled_metrics(loop, played)
        if context.order.mixed is not None:
            metrics |= context.order.mixed.source_metrics(loop, played, s.mix_sources)
        if s.resample_rounds > 0:
            metrics[f"loop{loop}/resampled_groups"] = sum(own.group >= s.groups for own in played)
    if context.scorer.judge is not None:
        terms += [term for item in records for one in item.played.terms for term in one]
        metrics |= extra("judge", f"judge {s.judge}").judge_metrics(terms)
    return Outcome(metrics | updates[-1].metrics, records, updates, seconds)


def _advantages(context: Context, team: Team, live: dict[int, list[Live]]) -> dict[int, tuple[float, int]]:
    """Sets every group's advantages; returns counted actions and the longest rollout of each loop."""
    found = [
        (own.played.loop, own.played.place, reward_group(context, own.played), float(own.played.mask.sum()),
         own.played.mask.shape[1])
        for groups in live.values() for own in groups
    ]  # fmt: skip
    everyone = sorted(team.all_of(found), key=lambda item: item[:2])
    sizes, shuffled = {}, part_of("shuffleRewards", context.settings.shuffle_rewards)
    for loop, groups in live.items():
        mine = [item for item in everyone if item[0] == loop]
        scores = loss.group_scores([item[2] for item in mine], context.settings)
        for own in groups:
            known = scores[own.played.place]
            own.played.scores = known if shuffled is None else shuffled.signed(context, own.played, known)
        longest = context.settings.max_completion_length if loop != 2 else max([1, *(item[4] for item in mine)])
        sizes[loop] = (sum(item[3] for item in mine), longest)
    return sizes
