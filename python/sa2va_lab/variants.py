"""
The extra `variants`: groups sampled again, an adaptive entropy bonus, several captions of the partner, a reference that
follows the policy, and shuffled rewards as a control.
"""

import math
from dataclasses import replace

import torch

from .extras import part_of
from .loss import GroupScores, inputs_of, spread_of
from .model import Sa2va
from .philox import uniform
from .play import Context, Live, play
from .rewards import Reward, Term, mean_of
from .settings import Settings
from .state import State, copies
from .step import reward_group
from .step_metrics import Played, Recorded
from .team import Team

Bonus = dict[str, float | None]
"""The `coefficient` of a loop's entropy bonus, and `lastEntropy`, the mean of its last update."""


def sampled_again(
    context: Context, team: Team, loop: int, chosen: dict[int, Live]
) -> tuple[dict[int, Live], list[Live]]:
    """
    Replaces groups with equal rewards by groups of other rows, in their places.

    Takes and returns this process's groups by place, and returns the dropped ones.
    """
    s, chosen, everything = context.settings, dict(chosen), list(chosen.values())

    def of_everyone(groups: dict[int, Live], spread: bool) -> list[int]:
        """Keys of the groups of all processes with spread, or without."""
        given = {key: reward_group(context, group.played) for key, group in groups.items()}
        zero = {key: spread_of(inputs_of(group, s), group.weights).zero for key, group in given.items()}
        return sorted(team.all_of([key for key, flat in zero.items() if spread != flat]))

    for round in range(1, s.resample_rounds + 1):
        dull = of_everyone(chosen, False)
        if not dull:
            break
        first = round * s.groups
        fresh = [first + at for at in team.own(len(dull))]
        more = dict(zip(fresh, play(context, loop, fresh), strict=True))
        everything += more.values()
        for place, group in zip(dull, of_everyone(more, True), strict=False):
            chosen.pop(place, None)
            if group in more:
                chosen[place] = more[group]
    return chosen, [own for own in everything if all(own is not other for other in chosen.values())]


def reward_order(context: Context, loop: int, group: int, count: int) -> list[int]:
    """The rollout whose reward trains each action, at random."""
    order, address = list(range(count)), context.address(loop, group, "shuffle")
    for last in range(count - 1, 0, -1):
        other = math.floor(uniform(address.at(last)) * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def signed(context: Context, played: Played, scores: GroupScores) -> GroupScores:
    """A group's advantages multiplied by a random sign."""
    if uniform(context.address(played.loop, played.group, "shuffle")) < 0.5:
        return scores
    return replace(scores, advantages=[-advantage if advantage else 0.0 for advantage in scores.advantages])


def bonus(kept: Bonus, s: Settings) -> float:
    """Weight in the coming update: only while the last entropy was at or below the target."""
    last, coefficient = kept["lastEntropy"], kept["coefficient"] or 0.0
    return coefficient if last is not None and last <= s.entropy_target else 0.0


def after(kept: Bonus, entropy: float, s: Settings) -> Bonus:
    """The state after an update with this mean entropy; a value that is not finite changes nothing."""
    if not math.isfinite(entropy):
        return kept
    coefficient = kept["coefficient"] or 0.0
    if entropy <= s.entropy_target:
        coefficient = min(s.entropy_coef_max, coefficient + s.entropy_coef_delta)
    else:
        coefficient = max(s.entropy_coef_min, coefficient - s.entropy_coef_delta)
    return {"coefficient": coefficient, "lastEntropy": entropy}


def followed(context: Context, loop: int, groups: list[Recorded]) -> float:
    """Updates a loop's bonus from the mean entropy of actions that kept their policy term; its coefficient."""
    s, kept, counted = context.settings, context.state.entropy, []
    chosen = part_of("topEntropyQuantile", s.top_entropy_quantile)
    for item in groups:
        entropies, mask = torch.from_numpy(item.entropies), torch.from_numpy(item.played.mask)
        counts = mask if chosen is None else chosen.top_entropy(entropies, mask, s.top_entropy_quantile)
        counted.append(entropies[counts > 0.5])
    kept[loop] = after(kept[loop], float(torch.cat(counted).mean()), s)
    return kept[loop]["coefficient"] or 0.0


def mean_scores(
    draws: list[tuple[list[Reward], list[list[Term]]]], texts: list[list[str | None]]
) -> tuple[list[Reward], list[list[Term]]]:
    """Means over several texts of the same rollouts; details are those of the first."""
    rewards, first = draws[0]
    means = [mean_of([scored[0][n] for scored in draws]) for n in range(len(rewards))]
    terms = []
    for n, row in enumerate(first):
        by_name = [{term["name"]: term["value"] for term in scored[1][n]} for scored in draws]
        terms.append(
            [_mean_term(term, [own.get(term["name"]) for own in by_name], [t[n] for t in texts]) for term in row]
        )
    return means, terms


def _mean_term(term: Term, values: list[Reward], texts: list[str | None]) -> Term:
    if all(value == term["value"] for value in values):
        return term
    said = ", ".join(
        f"“{text or ''}” {'missing' if value is None else f'{value:.3f}'}"
        for text, value in zip(texts, values, strict=True)
    )
    return term | {"value": mean_of(values), "note": f"mean over {len(values)} captions′: {said}"}


def synchronise(model: Sa2va, state: State, s: Settings) -> None:
    """Mixes the policy into the reference when it is due."""
    if state.optimiser_steps % s.ref_model_sync_steps == 0:
        state.reference = state.reference or copies(state.start)
        for value, parameter in zip(state.reference, model.trained, strict=True):
            value += s.ref_model_mixup_alpha * (parameter.data - value)
