"""Scores held-out rows with fixed draws, as in the lab (`eval.jsonl`)."""

import math
from dataclasses import replace

import torch

from ..extras import part_of
from ..folder import RunFolder
from ..mask_policy import Output, act
from ..masks import encode_rle, iou, overlap
from ..order import RowOrder
from ..philox import Address
from ..play import Context, text_facts, told_facts
from ..policy import Asked, Completion
from ..records import exact_json
from ..rewards import Facts, Reward, Term, mean_of, score_group
from ..settings import Settings
from ..team import Team
from .report import REWARDS, Scores, report_of


@torch.no_grad()
def score_row(context: Context, index: int) -> Scores | None:
    """One row's scores; None for a row whose mask covers no visual token."""
    s, actor, draws = context.settings, context.actor, context.contract.evaluation["draws"]
    row = context.data.row(index)
    cells = actor.seen(row.mask)
    if cells is None:
        return None
    features, (height, width) = context.look(row), row.mask.shape

    def address(loop: int) -> Address:
        fixed = context.contract.evaluation
        return Address(fixed["seed"], 0, loop, index, fixed["stream"])

    said = _texts_of(context, actor.asked(features, row.mask, cells), address(1))
    output = Output(actor, features, row.caption, row.others)
    drawn = act(output, s, draws, address(2))()
    masks = actor.sized(torch.cat([drawn.greedy, drawn.logits]), height, width)()
    with context.model.values(context.state.ema):
        # The true caption and the true mask come last: the partner's answers to them are compared with the policy's.
        *found, partner = actor.search(features, [*(own.text for own in said), row.caption], height, width)()
        *told, described = actor.describe([(features, [*(own.mask for own in masks), row.mask], None)])[0]
    facts = {
        1: text_facts(context, 1, row, row.caption, said, found)(),
        2: told_facts(context, row, masks, [told])()[0],
    }
    if 3 in s.active_loops and row.questions:
        question, answer = row.exchange(3, 0)
        answers = _texts_of(context, actor.asked(features, row.mask, cells, question), address(3))
        facts[3] = text_facts(context, 3, row, answer, answers, [])()
    texts = [said[0].text, *told, described]
    meteors = [context.scorer.meteor.score(row.caption, text or "")["score"] for text in texts]
    ious = [0.0 if own is None else iou(own.mask, row.mask) for own in [*found, partner, masks[0]]]
    scores = {1: ious[1:-2], 2: meteors[2:-1]}
    return {
        "rowId": row.id, "imageId": row.image_id, "caption": row.caption, "givenMask": row.rle,
        "captionGreedy": said[0].text, "captionPrime": told[0] or "",
        "maskPrime": found[0] and encode_rle(found[0].mask),
        "maskGreedy": encode_rle(masks[0].mask),
        "groundingPixels": list(overlap(masks[0].mask, row.mask)),
        "loop1_greedy": ious[0],
        "loop1_sampled": mean_of(scores[1]),
        "loop2_greedy": meteors[1],
        "loop2_sampled": mean_of(scores[2], drawn.weights),
        "grounding_iou": ious[-1],
        "caption_meteor": meteors[0],
        "partnerMask": partner and encode_rle(partner.mask),
        "partnerIou": ious[-2],
        "partnerCaption": described or "",
        "partnerMeteor": meteors[-1],
        **_own_rewards(context, facts, drawn.weights),
        "drawn": {
            loop: _drawn(own[1:], scores.get(loop), drawn.weights if loop == 2 else None) for loop, own in facts.items()
        },
    }  # fmt: skip


def _drawn(sampled: list[Facts], scores: list[float] | None, weights: list[float] | None) -> list[Scores]:
    """The sampled rollouts behind the mean of a row."""
    shares = weights or [1.0] * len(sampled)
    return [
        {
            "caption": own.caption or "",
            "mask": None if own.predicted is None else encode_rle(own.predicted),
            "score": scores[n] if scores else None,
            "weight": shares[n] / sum(shares),
        }
        for n, own in enumerate(sampled)
    ]


def _texts_of(context: Context, asked: Asked, address: Address) -> list[Completion]:
    """The greedy answer of the policy to a prompt, followed by sampled ones."""
    draws = context.contract.evaluation["draws"]
    return context.actor.texts([asked], 1, None)[0] + context.actor.texts([asked], draws, [address])[0]


def _own_rewards(context: Context, facts: dict[int, list[Facts]], weights: list[float] | None) -> Scores:
    """The run's reward of the greedy and the sampled rollouts of both loops, and the judge's cost."""
    s, scorer = context.settings, context.scorer
    if not s.eval_judge:
        scorer = replace(scorer, judge=None)
    # METEOR instead of a verdict would be another score.
    own = s.changed(missing_verdict="pause" if s.missing_verdict == "pause" else "drop")
    out: dict[str, Reward] = {name: None for name in REWARDS if int(name[6]) in facts}
    rows: list[list[Term]] = []
    for loop in (loop for loop in s.active_loops if loop in facts):
        greedy, terms = score_group(facts[loop][:1], loop, own, scorer)
        sampled, more = score_group(facts[loop][1:], loop, own, scorer)
        rows += terms + more
        out[f"reward{loop}_greedy"] = greedy[0]
        out[f"reward{loop}_sampled"] = mean_of(sampled, weights if loop == 2 else None)
    verdicts = [term["judge"] for terms in rows for term in terms if "judge" in term]
    spent = {name: sum(verdict[name] for verdict in verdicts) for name in ("calls", "cost")}
    return {"rewards": out} | ({"judge": spent} if spent["calls"] else {})


def evaluate_due(context: Context, folder: RunFolder, team: Team, step: int, new: bool = True) -> None:
    """Evaluates if the settings ask for it at this step, and unless it is stored if the step is not `new`."""
    stored = folder.lines("eval.jsonl") if team.first and not new else []
    known = team.all_of([own["report"]["step"] for own in stored])
    s = context.settings
    if (step % s.eval_steps == 0 or step == s.steps) and step not in known:
        evaluate(context, folder, team, step)


def evaluated(order: RowOrder, settings: Settings, indices: list[int]) -> list[int]:
    """Held-out rows in the order in which they are evaluated: with a mix, the sources alternate."""
    mix = part_of("mixSources", settings.mix_sources)
    return indices if mix is None else list(mix.alternating(settings.mix_sources, order.ids, indices))


def evaluate(context: Context, folder: RunFolder, team: Team, step: int) -> None:
    """Scores held-out rows on all processes and stores the report; an evaluation at or past the step is replaced."""
    s, data = context.settings, context.data
    chosen = max(1, math.floor(s.eval_rows * s.selection_share + 0.5)) if data.selection else 0
    places = [(index, "report") for index in evaluated(context.order, s, data.report)[: s.eval_rows - chosen]]
    places += [(index, "selection") for index in evaluated(context.order, s, data.selection)[:chosen]]
    mine = []
    for at in team.own(len(places)):
        index, part = places[at]
        scores = score_row(context, index)
        if scores is not None:
            mine.append((at, scores | {"part": part}))
    context.model.settle()
    rows = [scores for _, scores in sorted(team.all_of(mine), key=lambda item: item[0])]
    if not team.first:
        return
    earlier = [stored for stored in folder.lines("eval.jsonl") if stored["report"]["step"] < step]
    report = report_of(step, rows, s, earlier)
    folder.replace_lines(
        "eval.jsonl", [exact_json(own, plain=True) for own in (*earlier, {"report": report, "rows": rows})]
    )
