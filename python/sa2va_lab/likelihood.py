"""The extra `likelihood`: how likely a model finds a row's caption about a mask, and beside the picture's others."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .data import Row
from .masks import Mask
from .model import Features
from .play import Context
from .policy import Actor
from .rewards import Facts, Likelihood, Term, term_of
from .text import plain_phrase


def of(context: Context, row: Row, masks: Sequence[Mask | None]) -> Callable[[], list[Likelihood | None]]:
    """Likelihood of the row's caption for masks, under the weights in the settings; read later."""
    judge = context.state.start if context.settings.likelihood_judge == "start" else context.state.ema
    with context.model.values(judge):
        return likelihoods(context.actor, context.look(row), masks, row.caption, row.others)


@torch.no_grad()
def likelihoods(
    actor: Actor, features: Features, masks: Sequence[Mask | None], caption: str, others: tuple[str, ...]
) -> Callable[[], list[Likelihood | None]]:
    """
    Likelihood of a caption for each mask, compared with `others`; None for a mask that covers no visual token.

    They are read later.
    """
    seen = [(at, mask, actor.seen(mask)) for at, mask in enumerate(masks) if mask is not None]
    asked = [(at, actor.asked(features, mask, cells)) for at, mask, cells in seen if cells is not None]
    longest = max((len(one.prompt.ids) for _, one in asked), default=0)
    texts = list(dict.fromkeys(map(plain_phrase, [caption, *others])))
    ids = [actor.words.caption_answer(text, longest)[0] for text in texts]
    width = max(len(own) for own in ids)
    read: dict[int, Callable[[], Any]] = {}
    for at, one in asked:
        logps, _ = actor.text_scores(one, ids, width, 1.0, width)
        sums = torch.stack([row[: len(own)].double().sum() for row, own in zip(logps, ids, strict=True)])
        # Infinite, not an error, if another caption is more than e^709 times as likely.
        contrast = 1 / (sums - sums[0]).exp().sum()
        read[at] = actor.reader.later(torch.stack([(sums[0] / len(ids[0])).exp(), contrast]))

    def found() -> list[Likelihood | None]:
        known = {at: own().tolist() for at, own in read.items()}
        if len(texts) == 1:
            known = {at: [likelihood, None] for at, (likelihood, _) in known.items()}
        return [Likelihood(*known[at]) if at in known else None for at in range(len(masks))]

    return found


def terms(facts: Facts) -> list[Term]:
    """Likelihood and contrast; a mask that covers no visual token scores 0."""
    known = facts.likelihood
    if not isinstance(known, Likelihood):
        note = "no mask" if facts.predicted is None else "covers no visual token"
        return [term_of(name, 0.0, note) for name in ("likelihood", "contrast")]
    alone = "no other object in the picture" if known.contrast is None else ""
    return [term_of("likelihood", known.likelihood), term_of("contrast", known.contrast, alone)]
