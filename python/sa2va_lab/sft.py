"""One supervised step: the same rows, update and moving average, with the region's caption and mask as targets."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .data import Row
from .language import Turn
from .mask_policy import Output, mask_parts
from .masks import nearest, region_cells
from .philox import Address, uniforms
from .play import Context
from .policy import Actor, Asked
from .state import taken, update
from .step import Outcome, phase
from .step_metrics import Metrics, mean
from .team import Team

# Draws of points have a stream number in the place of a loop's number.
_SUPERVISED = 3
_OVERSAMPLE = 3
_UNCERTAIN = 0.75
_COUNT_EPS = 1e-4


def _sample(maps: Tensor, points: Tensor) -> Tensor:
    """Bilinear values [1, P] of maps [1, h, w] at (x, y) in 0 to 1, zero outside."""
    grid = (2 * points - 1)[:, :, None]
    return F.grid_sample(maps[:, None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[:, 0, :, 0]


def _points(logits: Tensor, count: int, address: Address) -> Tensor:
    """Three quarters of the points are the least certain candidates, one quarter is uniform, [1, P, 2]."""
    candidates, certain = _OVERSAMPLE * count, int(_UNCERTAIN * count + 0.5)
    drawn = uniforms(address, 2 * (candidates + count - certain)).astype(np.float32)
    places = torch.from_numpy(drawn).to(logits).reshape(1, -1, 2)
    distance = _sample(logits.detach(), places[:, :candidates]).abs()
    order = distance[0].argsort(stable=True)[:certain]
    return torch.cat([places[:, order], places[:, candidates:]], 1)


def answer_loss(actor: Actor, asked: Asked, answer: list[int]) -> Tensor:
    """Mean cross-entropy of a given answer's tokens, whose scores have no guard; differentiable."""
    model = actor.model
    whole = torch.cat([actor.embedded(asked), model.embed(answer[:-1])])
    turn = Turn(pictures=(actor.picture(asked.prompt.ids, asked.features),))
    logits = model.logits(model.states(whole[None], turn=turn)[0, len(asked.prompt.ids) - 1 :])
    return F.cross_entropy(logits, torch.tensor(answer, device=logits.device))


def row_loss(context: Context, row: Row, at: int) -> tuple[Tensor, Metrics]:
    """Loss of one row, the `at`-th of the step, and its metrics."""
    s, actor, words = context.settings, context.actor, context.actor.words
    features = context.look(row)
    cells = region_cells(row.mask, features.grid, True)
    asked = actor.asked(features, row.mask, cells)
    answer, cut = words.caption_answer(row.caption, len(asked.prompt.ids))
    token = answer_loss(actor, asked, answer)
    output = Output(actor, features, row.caption)
    logits = output.chosen(output.best())
    side = logits.shape[-1]
    truth = torch.from_numpy(nearest(row.mask, side, side))[None].to(logits)
    address = Address(s.seed, context.step, _SUPERVISED, at, context.contract.streams["mask"])
    if side * side > s.sft_points and s.loops != "1":
        points = _points(logits, s.sft_points, address)
        bce, dice = mask_parts(_sample(logits, points), _sample(truth, points), _COUNT_EPS)
    else:
        bce, dice = mask_parts(logits.flatten(1), truth.flatten(1))
    weights = (0 if s.loops == "2" else 1, *((0, 0) if s.loops == "1" else (s.sft_bce_weight, s.sft_dice_weight)))
    loss = token * weights[0] + bce * weights[1] + dice * weights[2]
    numbers = {
        "sft/loss": float(loss.detach()),
        "sft/captions/cut": float(cut),
        "sft/captions/spell_tokens": float(words.spells(row.caption)),
    }
    if s.loops != "2":
        numbers["sft/token_loss"] = float(token.detach())
    if s.loops != "1":
        numbers |= {"sft/mask_bce": float(bce.detach()), "sft/mask_dice": float(dice.detach())}
    return loss, numbers


def sft_step(context: Context, team: Team) -> Outcome:
    """Runs one optimiser step and changes weights and state."""
    s, seconds, order_of = context.settings, dict[str, float](), context.order
    order = order_of.of(1)
    count = s.rows_per_step
    found: list[tuple[str | None, Metrics]] = []
    for at in team.own(count):
        if context.ahead is not None:
            context.ahead.draw()
        row = context.data.row(order.rows[order.place(context.order.before(context.step) + at, context.step)])
        with phase(seconds, "loss"):
            loss, numbers = row_loss(context, row, at)
            torch.autograd.backward(loss / count)
        found.append((None if order_of.mixed is None else order_of.mixed.source(s.mix_sources, row.id), numbers))
    gradients = {0: taken(context.model, 0, s)}
    everyone = team.all_of(found)
    with phase(seconds, "update"):
        done = update(context.model, context.state, gradients, s, team)
    means = {name: sum(own[name] for _, own in everyone) / count for name in everyone[0][1]}
    for source in {source for source, _ in everyone if source is not None}:
        means[f"sft/source_loss/{source}"] = mean([own["sft/loss"] for of, own in everyone if of == source])
    return Outcome(means | done.metrics, [], [done], seconds)
