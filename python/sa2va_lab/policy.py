"""Captions of regions, masks of phrases, and the log-probabilities of both under given weights."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, takewhile

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache

from .extras import part_of
from .language import Slots, Turn
from .masks import Mask, region_cells
from .model import Features, Sa2va
from .philox import Address, uniforms
from .reading import Reader
from .sam2 import Decoded
from .sampler import Drawn, Sampler, draw
from .settings import Settings
from .text import Prompt, Words, plain_phrase
from .token_step import TokenStep


@dataclass(frozen=True)
class Asked:
    """A prompt about a picture with one marked region."""

    prompt: Prompt
    features: Features
    cells: Mask | None
    """Visual tokens that the prompt repeats for the region; None where the region is drawn."""


@dataclass
class Completion:
    """A sampled caption while it is generated."""

    ids: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    ended: bool = False
    broken: bool = False
    """Whether its logits were not finite."""
    clips: int = 0
    """Logits that the guard clipped."""
    text: str = ""
    """Generated text without special tokens and stop word."""


@dataclass(frozen=True)
class Found:
    """A mask at picture size and its mean probability inside; None for an empty mask."""

    mask: Mask
    confidence: float | None


@dataclass(frozen=True)
class Start:
    """A prompt whose tails [t, D] follow one prefix [P, D]; drawn at an address each, or greedily."""

    prefix: Tensor
    tails: list[Tensor]
    addresses: list[Address] | None
    picture: tuple[int, int, int]
    """Index of the first visual token in the whole, and the grid's rows and columns."""
    prompt: list[int] = field(default_factory=list)
    """Ids with a repetition penalty."""

    @property
    def end(self) -> int:
        """Length with the longest tail."""
        return len(self.prefix) + max(map(len, self.tails))


class Actor:
    """A model with its tokenizer; it uses the model's current weights."""

    def __init__(self, model: Sa2va, words: Words, settings: Settings) -> None:
        """All three are shared; none is changed."""
        self.model, self.words, self.settings = model, words, settings
        self.reader = Reader()
        """What a step reads back from the device."""

    @property
    def region_form(self) -> str:
        """How a region is shown: by copies of its tokens, or drawn into the picture."""
        chosen = str(self.settings.region_prompt)
        return self.model.family.region_prompt if chosen == "auto" else chosen

    def _spliced(self, ids: list[int], features: Features, cells: Mask | None) -> Tensor:
        """Embeddings [T, D] with the visual tokens and the region's copies of the last tile's tokens inserted."""
        visual = self.model.project(features)
        fill = [visual.flatten(0, 1)]
        if cells is not None:
            fill.append(
                self.model.family.widened(visual[-1][torch.from_numpy(np.flatnonzero(cells)).to(visual.device)])
            )
        x = self.model.embed(ids)
        places = torch.tensor([at for at, token in enumerate(ids) if token == self.words.context], device=x.device)
        return x.index_put((places,), torch.cat(fill))

    def picture(self, ids: list[int], features: Features) -> tuple[int, int, int]:
        """Index of the first visual token among ids, and the rows and columns of the grid."""
        return ids.index(self.words.context), *features.grid

    def _behind(self, prefix: Tensor, tails: Tensor, turn: Turn) -> Tensor:
        """States [n, T, D] of tails that follow one prefix [P, W], which runs once; `turn` is that of the whole."""
        if self.model.lockstep is not None and torch.is_grad_enabled() and len(prefix):
            # A split layer is gathered for one backward pass, so keys of an earlier pass would have no gradient.
            whole = torch.cat([prefix.expand(len(tails), *prefix.shape), tails], 1)
            return self.model.states(whole, turn=turn)[:, len(prefix) :]
        cache = DynamicCache()
        if len(prefix):
            self.model.states(prefix[None], cache, turn)
            cache.batch_repeat_interleave(len(tails))
        return self.model.states(tails, cache, turn)

    def asked(self, features: Features, mask: Mask, cells: Mask, question: str = "") -> Asked:
        """A question about a region and the visual tokens that it covers, or the prompt for its caption."""
        if features.draw is not None:
            prompt = self.words.region_prompt(features.tokens, 0, question, self.region_form)
            return Asked(prompt, replace(features, vision=features.draw(mask)), None)
        return Asked(self.words.region_prompt(features.tokens, int(cells.sum()), question), features, cells)

    def embedded(self, asked: Asked) -> Tensor:
        """Embeddings of a prompt, [T, W]."""
        return self._spliced(asked.prompt.ids, asked.features, asked.cells)

    def draw(
        self, logits: Tensor, sampler: Sampler, u: Tensor | None, seen: Tensor | None, addresses: list[Address]
    ) -> Drawn:
        """One token of each row; `addresses` name their draws, or are empty for the likeliest tokens."""
        return draw(logits, sampler, u, seen)

    @torch.no_grad()
    def decode(
        self, starts: list["Start"], most: int, sampler: Sampler, one_length: bool = False
    ) -> list[list[Completion]]:
        """
        Completes the tails of all prompts in one batch, at most `most` tokens each.

        With `one_length` everything is rotated as in the longest sequence; otherwise the length grows token by token.
        """
        rotation = self.model.rotation
        apart = None if rotation is None else rotation.apart(starts, most, one_length)
        if apart is None:
            return _Decoding(self, starts, most, sampler, one_length).run()
        return [[said for own in parts for said in self.decode([own], most, sampler, one_length)[0]] for parts in apart]

    @torch.no_grad()
    def texts(
        self, asked: list[Asked], rollouts: int, addresses: list[Address] | None, one_length: bool = False
    ) -> list[list[Completion]]:
        """Answers to prompts, drawn at an address of each group, or greedy; `one_length` as in `decode`."""
        s, starts = self.settings, list[Start]()
        for at, own in enumerate(asked):
            whole = self.embedded(own)
            drawn = None if addresses is None else [addresses[at].at(n) for n in range(rollouts)]
            picture = self.picture(own.prompt.ids, own.features)
            starts.append(Start(whole[:-1], [whole[-1:]] * rollouts, drawn, picture, own.prompt.ids))
        sampler = Sampler(guard=s.logit_guard)
        if addresses is not None:
            sampler = Sampler(s.temperature, s.logit_guard, s.top_k, s.top_p, s.min_p, s.repetition_penalty)
        return self.decode(starts, s.max_completion_length, sampler, one_length)

    def seen(self, mask: Mask) -> Mask | None:
        """Visual tokens that a mask covers; None where it covers none."""
        cells = self.cells(mask)
        return cells if cells.any() else None

    def cells(self, mask: Mask) -> Mask:
        """Visual tokens [rows, cols], 1 where a mask covers one."""
        return region_cells(mask, self.model.family.grid(*mask.shape), self.settings.small_regions == "force")

    @torch.no_grad()
    def describe(
        self, pictures: list[tuple[Features, list[Mask], Address | None]], temperature: float = 1.0
    ) -> list[list[str | None]]:
        """
        Captions of the masks of pictures, drawn at an address of their group, or greedy without it.

        None if a mask covers no visual token.
        """
        found: list[list[str | None]] = [[None] * len(masks) for _, masks, _ in pictures]
        starts, places = list[Start](), list[tuple[int, int]]()
        for picture, (features, masks, address) in enumerate(pictures):
            cells = {at: own for at, mask in enumerate(masks) if (own := self.seen(mask)) is not None}
            if not cells:
                continue
            asked = [self.asked(features, masks[at], own) for at, own in cells.items()]
            wholes = [self.embedded(own) for own in asked]
            first, grid = asked[0].prompt.ids.index(self.words.context), features.grid
            # The shared part ends with the picture's tokens, because region tokens differ in content. A region that is
            # drawn has a picture of its own.
            shared, every = first + features.tokens, list(range(len(wholes)))
            for rows in [every] if features.draw is None else [[at] for at in every]:
                drawn = None if address is None else [address.at(list(cells)[at]) for at in rows]
                tails = [wholes[at][shared:] for at in rows]
                starts.append(Start(wholes[rows[0]][:shared], tails, drawn, (first, *grid)))
            places += [(picture, at) for at in cells]
        if starts:
            said = self.decode(
                starts, self.settings.partner_max_tokens, Sampler(temperature, self.settings.logit_guard)
            )
            for (picture, at), completion in zip(places, chain.from_iterable(said), strict=True):
                found[picture][at] = completion.text
        return found

    def text_scores(
        self, asked: Asked, completions: list[list[int]], width: int, temperature: float, most: int
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies [N, width] of answers, at most `most` tokens long; differentiable."""
        whole = self.embedded(asked)
        targets = torch.tensor([(own + [0] * width)[:width] for own in completions], device=whole.device)
        first = whole[-1:].expand(len(completions), 1, -1)
        tails = torch.cat([first, self.model.embed(targets[:, :-1])], 1)
        turn = Turn(len(whole) + most, (self.picture(asked.prompt.ids, asked.features),))
        states = self._behind(whole[:-1], tails, turn)
        guard = self.settings.logit_guard

        def scores(states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
            logs = (self.model.logits(states).clamp(-guard, guard) / temperature).log_softmax(-1)
            return logs.gather(-1, targets[..., None])[..., 0], -(logs.exp() * logs).sum(-1)

        if self.settings.gradient_checkpointing and torch.is_grad_enabled():
            scores = partial(part_of("gradientCheckpointing", True).row_by_row, scores)
        return scores(states, targets)

    def phrase_prompts(self, features: Features, phrases: list[str]) -> Tensor:
        """Prompts of the mask decoder [n, C], the answer forced; differentiable."""
        ids = []
        for phrase in phrases:
            prompt, answer, _ = self.words.segment_prompt(features.tokens, phrase)
            ids.append(prompt.ids + answer)
        whole = self._spliced(ids[0], features, None)
        rotation = self.model.rotation
        if rotation is not None and not rotation.alike([len(own) for own in ids]):
            return torch.cat([self.phrase_prompts(features, [phrase]) for phrase in phrases])
        pictures = (self.picture(ids[0], features),)
        if len(ids) == 1:
            return self.model.seg_prompt(self.model.states(whole[None], turn=Turn(pictures=pictures))[:, -1])
        # The last token of each belongs to its own tail.
        columns = zip(*(own[:-1] for own in ids), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
        tails = [own[shared:] for own in ids]
        width = max(len(own) for own in tails)
        filled = self.model.embed([own + [0] * (width - len(own)) for own in tails])
        hidden = self._behind(whole[:shared], filled, Turn(shared + width, pictures))
        last = torch.tensor([len(own) - 1 for own in tails], device=hidden.device)
        return self.model.seg_prompt(hidden[torch.arange(len(tails), device=hidden.device), last])

    def decoded(self, features: Features, prompts: Tensor) -> Decoded:
        """Candidate masks of language prompts [n, C]; differentiable."""
        sam2 = self.model.sam2
        return sam2.decode(features.levels, sam2.sam_prompt_encoder.phrases(prompts))

    @torch.no_grad()
    def search(
        self, features: Features, phrases: list[str], height: int, width: int
    ) -> Callable[[], list[Found | None]]:
        """The mask for each phrase, None for an empty one; read later."""
        named = [at for at, phrase in enumerate(phrases) if plain_phrase(phrase)]
        if not named:
            return lambda: [None] * len(phrases)
        made = self.decoded(features, self.phrase_prompts(features, [phrases[at] for at in named]))
        masks = self.sized(made.best, height, width)

        def found() -> list[Found | None]:
            known = dict(zip(named, masks(), strict=True))
            return [known.get(at) for at in range(len(phrases))]

        return found

    @torch.no_grad()
    def sized(self, maps: Tensor, height: int, width: int) -> Callable[[], list[Found]]:
        """Masks at picture size from logits [n, h, w], enlarged through SAM2's input size; read later."""
        side = (self.model.sam_size, self.model.sam_size)
        large = F.interpolate(maps[:, None], side, mode="bilinear", align_corners=False)
        logits = F.interpolate(large, (height, width), mode="bilinear", align_corners=False)[:, 0]
        inside = self.inside(logits)
        sums = torch.stack([(logits.sigmoid() * inside).sum((1, 2)), inside.sum((1, 2)).to(logits)])
        masks, read = self.reader.later(inside.to(torch.uint8)), self.reader.later(sums)
        return lambda: [
            Found(mask, sure / size if size else None)
            for mask, sure, size in zip(masks(), *read().tolist(), strict=True)
        ]

    def inside(self, logits: Tensor) -> Tensor:
        """The masks of logits [n, h, w], on their device."""
        return logits > 0


class _Decoding:
    """One batch of prompts of different lengths, padded in front."""

    def __init__(self, actor: Actor, starts: list[Start], most: int, sampler: Sampler, one_length: bool) -> None:
        """As in `decode`; all sequences have equal rotation."""
        self.actor, self.starts, self.most, self.sampler, self.one_length = actor, starts, most, sampler, one_length
        self.end = max(own.end for own in starts)
        self.said = [[Completion() for _ in own.tails] for own in starts]
        self.addresses = [address for own in starts for address in own.addresses or ()]

    def _turn(self, drawn: int, starts: list[Start]) -> Turn:
        """Of all rows of some prompts: the length of the longest sequence, or what it will be, and their pictures."""
        pictures = tuple(own.picture for own in starts for _ in own.tails)
        return Turn(self.end + (self.most if self.one_length else drawn), pictures)

    def _draws(self, device: torch.device) -> Tensor | None:
        """Uniform numbers [most, n] of all draws; None without addresses."""
        if not self.addresses:
            return None
        return torch.from_numpy(np.stack([uniforms(own, self.most) for own in self.addresses], 1)).to(device)

    def _begun(self) -> tuple[Tensor, TokenStep, int]:
        """States after the tails, the pass of a token, and the slots in use."""
        model, starts = self.actor.model, self.starts
        device, counts = starts[0].prefix.device, [len(own.tails) for own in starts]
        first = max(len(own.prefix) for own in starts)
        tails = [tail for own in starts for tail in own.tails]
        width = max(map(len, tails))
        length, done = first + width + self.most - 1, first + width
        # Slots of prefixes and tails (shorter ones are padded in front), and of generated tokens.
        slots = torch.arange(length, device=device)[None]
        gaps = [first - len(own.prefix) for own in starts for _ in own.tails]
        before = torch.tensor(gaps, device=device)[:, None]
        between = torch.tensor([width - len(tail) for tail in tails], device=device)[:, None]
        shared = slots < first
        keys = torch.where(shared, slots - before, slots - before - between).clamp_min(0)
        there = torch.where(shared, slots >= before, slots >= first + between)
        prompts = []
        for own in starts:
            cache, every = Slots(1, max(1, len(own.prefix))), slots[:, : len(own.prefix)]
            if len(own.prefix):
                real = torch.ones_like(every, dtype=torch.bool)
                turn = self._turn(0, [replace(own, tails=own.tails[:1])])
                model.decoding_states(own.prefix[None], cache, every, every, real, turn)
            prompts.append(cache)
        cache = Slots.joined(prompts, counts, first, length)
        x = torch.stack([F.pad(tail, (0, 0, width - len(tail), 0)) for tail in tails])
        real = there & (slots < done)
        hidden = model.decoding_states(x, cache, keys[:, first:done], keys, real, self._turn(0, starts))
        return hidden, TokenStep(model, cache, keys, there), done

    def run(self) -> list[list[Completion]]:
        """All completions by prompt; one value of each row is read back per token."""
        actor, rows = self.actor, [own for group in self.said for own in group]
        with actor.model.sampling():
            hidden, step, done = self._begun()
            drawn, seen = self._draws(hidden.device), None
            penalty = part_of("repetitionPenalty", self.sampler.penalty)
            if penalty is not None:
                width = len(actor.model.language_model.get_output_embeddings().weight)
                seen = penalty.seen_in([own.prompt for own in self.starts for _ in own.tails], width, hidden.device)
            for position in range(self.most):
                logits = actor.model.logits(hidden[:, -1])
                places = [own.at(own.rollout, position) for own in self.addresses]
                now = actor.draw(logits, self.sampler, None if drawn is None else drawn[position], seen, places)
                ids = now.ids.clamp_min(0)[:, None]
                if seen is not None:
                    seen.scatter_(1, ids, True)
                self._take(rows, torch.stack([own.double() for own in now], 1).tolist())
                if all(own.ended or own.broken for own in rows) or position + 1 == self.most:
                    break
                hidden = step(actor.model.embed(ids), done, self._turn(position + 1, self.starts))
                done += 1
        for own in rows:
            own.text = actor.words.answer(own.ids)
        return self.said

    def _take(self, rows: list[Completion], values: list[list[float]]) -> None:
        """Adds the drawn tokens to the rows that are not over."""
        for own, (token, logp, clips) in zip(rows, values, strict=True):
            if own.ended or own.broken:
                continue
            own.broken = token < 0
            if not own.broken:
                own.ids.append(int(token))
                own.logps.append(logp)
                own.clips += int(clips)
                own.ended = self.actor.words.ended(own.ids)
