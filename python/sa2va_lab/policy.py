"""Captions of regions, masks of phrases, and the log-probabilities of both under given weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache

from .language import Slots
from .masks import Mask, region_cells
from .model import Features, Sa2va
from .philox import Address, uniform
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
    cells: Mask


@dataclass(frozen=True)
class Likelihood:
    """Likelihood of a caption given a mask; `contrast` is None without other captions."""

    likelihood: float
    contrast: float | None


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


class Actor:
    """A model with its tokenizer; it uses the model's current weights."""

    def __init__(self, model: Sa2va, words: Words, settings: Settings) -> None:
        """All three are shared; none is changed."""
        self.model, self.words, self.settings = model, words, settings

    def _spliced(self, ids: list[int], features: Features, cells: Mask | None) -> Tensor:
        """Embeddings [T, D] with the visual tokens and the region's copies of the last tile's tokens inserted."""
        visual = self.model.project(features)
        fill = [visual.flatten(0, 1)]
        if cells is not None:
            fill.append(visual[-1][torch.from_numpy(cells.reshape(-1).astype(bool)).to(visual.device)])
        x = self.model.embed(ids)
        places = torch.tensor([at for at, token in enumerate(ids) if token == self.words.context], device=x.device)
        return x.index_put((places,), torch.cat(fill))

    def _behind(self, prefix: Tensor, tails: Tensor, length: int) -> Tensor:
        """States [n, T, D] of tails that follow one prefix [P, D], which runs once; `length` is that of the whole."""
        if self.model.lockstep is not None and torch.is_grad_enabled() and len(prefix):
            # A split layer is gathered for one backward pass, so keys of an earlier pass would have no gradient.
            whole = torch.cat([prefix.expand(len(tails), *prefix.shape), tails], 1)
            return self.model.states(whole, length=length)[:, len(prefix) :]
        cache = DynamicCache()
        if len(prefix):
            self.model.states(prefix[None], cache, length)
            cache.batch_repeat_interleave(len(tails))
        return self.model.states(tails, cache, length)

    def asked(self, features: Features, cells: Mask, question: str = "") -> Asked:
        """A question about a region, or the prompt for its caption."""
        prompt = self.words.region_prompt(features.tiles, self.model.side**2, int(cells.sum()), question)
        return Asked(prompt, features, cells)

    def _embedded(self, asked: Asked) -> Tensor:
        return self._spliced(asked.prompt.ids, asked.features, asked.cells)

    def draw(self, logits: Tensor, sampler: Sampler, address: Address | None, seen: list[int]) -> Drawn:
        """One token; without an address the likeliest."""
        return draw(logits, sampler, None if address is None else uniform(address), seen)

    @torch.no_grad()
    def decode(
        self, prefix: Tensor, tails: list[Tensor], most: int, sampler: Sampler, addresses: list[Address] | None,
        prompt: list[int], one_length: bool = False,
    ) -> list[Completion]:  # fmt: skip
        """
        Completes tails [t, D] that follow one prefix [P, D]; greedily without `addresses`.

        `prompt` counts for a repetition penalty. With `one_length` everything is rotated as in the longest sequence;
        otherwise the length grows token by token.
        """
        rows, width, first = len(tails), max(len(tail) for tail in tails), len(prefix)
        turning, shortest = self.model.rotation, min(len(tail) for tail in tails)
        if turning and shortest < width and not turning.alike([first + shortest, first + width + most]):
            return [
                self.decode(prefix, [tail], most, sampler, addresses and [addresses[row]], prompt, one_length)[0]
                for row, tail in enumerate(tails)
            ]
        length, device = first + width + most - 1, prefix.device
        # Slots of the prefix, of the tails (shorter ones are padded in front), and of generated tokens.
        short = torch.tensor([width - len(tail) for tail in tails], device=device)[:, None]
        slots = torch.arange(length, device=device)[None]
        keys = torch.where(slots < first, slots, (slots - short).clamp_min(0))
        there = (slots < first) | (slots >= first + short)
        cache, whole = Slots(1, max(1, first)), first + width + (most if one_length else 0)
        if first:
            every = slots[:, :first]
            real = torch.ones_like(every, dtype=torch.bool)
            self.model.decoding_states(prefix[None], cache, every, every, real, whole)
        cache = cache.spread(rows, length)
        x = torch.stack([F.pad(tail, (0, 0, width - len(tail), 0)) for tail in tails])
        done = first + width
        hidden = self.model.decoding_states(x, cache, keys[:, first:done], keys, there & (slots < done), whole)
        step = TokenStep(self.model, cache, keys, there)
        said = [Completion() for _ in tails]
        for position in range(most):
            logits = self.model.logits(hidden[:, -1]).double().cpu()
            for row, own in enumerate(said):
                if own.ended or own.broken:
                    continue
                address = None if addresses is None else addresses[row].at(addresses[row].rollout, position)
                drawn = self.draw(logits[row], sampler, address, prompt + own.ids)
                own.broken = drawn.id < 0
                if not own.broken:
                    own.ids.append(drawn.id)
                    own.logps.append(drawn.logp)
                    own.clips += drawn.clips
                    own.ended = self.words.ended(own.ids)
            if all(own.ended or own.broken for own in said) or position + 1 == most:
                break
            x = self.model.embed([[own.ids[-1] if own.ids else 0] for own in said])
            hidden = step(x, done, whole if one_length else done + 1)
            done += 1
        for own in said:
            own.text = self.words.answer(own.ids)
        return said

    @torch.no_grad()
    def texts(self, asked: Asked, rollouts: int, address: Address | None, one_length: bool = False) -> list[Completion]:
        """Answers to one prompt, drawn at an address of their group, or greedy; `one_length` as in `decode`."""
        s, whole = self.settings, self._embedded(asked)
        sampler, addresses = Sampler(guard=s.logitGuard), None
        if address is not None:
            sampler = Sampler(s.temperature, s.logitGuard, s.topK, s.topP, s.minP, s.repetitionPenalty)
            addresses = [address.at(n) for n in range(rollouts)]
        tails = [whole[-1:]] * rollouts
        return self.decode(whole[:-1], tails, s.maxNewTokens, sampler, addresses, asked.prompt.ids, one_length)

    def seen(self, mask: Mask) -> Mask | None:
        """Visual tokens that a mask covers; None where it covers none."""
        cells = region_cells(mask, self.model.side, self.settings.smallRegions == "force")
        return cells if cells.any() else None

    @torch.no_grad()
    def describe(
        self, features: Features, masks: list[Mask], temperature: float = 1.0, address: Address | None = None
    ) -> list[str | None]:
        """Captions of masks, drawn at an address of their group, or greedy; None if a mask covers no visual token."""
        captions: list[str | None] = [None] * len(masks)
        cells = {at: own for at, mask in enumerate(masks) if (own := self.seen(mask)) is not None}
        if not cells:
            return captions
        asked = [self.asked(features, own) for own in cells.values()]
        wholes = [self._embedded(own) for own in asked]
        # The shared part ends with the picture's tokens, because region tokens differ in content.
        shared = asked[0].prompt.ids.index(self.words.context) + features.tiles * self.model.side**2
        sampler = Sampler(temperature, self.settings.logitGuard)
        addresses = None if address is None else [address.at(at) for at in cells]
        tails, most = [whole[shared:] for whole in wholes], self.settings.partnerMaxTokens
        said = self.decode(wholes[0][:shared], tails, most, sampler, addresses, [])
        for at, completion in zip(cells, said, strict=True):
            captions[at] = completion.text
        return captions

    @torch.no_grad()
    def likelihoods(
        self, features: Features, masks: Sequence[Mask | None], caption: str, others: tuple[str, ...]
    ) -> list[Likelihood | None]:
        """
        Likelihood of a caption for each mask, compared with `others`; None for a mask that covers no visual token.
        """
        found: list[Likelihood | None] = [None] * len(masks)
        seen = [(at, self.seen(mask)) for at, mask in enumerate(masks) if mask is not None]
        asked = [(at, self.asked(features, cells)) for at, cells in seen if cells is not None]
        longest = max((len(one.prompt.ids) for _, one in asked), default=0)
        texts = list(dict.fromkeys(map(plain_phrase, [caption, *others])))
        ids = [self.words.caption_answer(text, longest)[0] for text in texts]
        width = max(len(own) for own in ids)
        for at, one in asked:
            logps, _ = self.text_scores(one, ids, width, 1.0, width)
            sums = [float(row[: len(own)].double().sum()) for row, own in zip(logps, ids, strict=True)]
            # Infinite, not an error, if another caption is more than e^709 times as likely.
            rivals = (torch.tensor(sums, dtype=torch.float64) - sums[0]).exp().sum()
            contrast = None if len(texts) == 1 else float(1 / rivals)
            found[at] = Likelihood(math.exp(sums[0] / len(ids[0])), contrast)
        return found

    def text_scores(
        self, asked: Asked, completions: list[list[int]], width: int, temperature: float, most: int
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies [N, width] of answers, at most `most` tokens long; differentiable."""
        whole = self._embedded(asked)
        targets = torch.tensor([(own + [0] * width)[:width] for own in completions], device=whole.device)
        first = whole[-1:].expand(len(completions), 1, -1)
        tails = torch.cat([first, self.model.embed(targets[:, :-1])], 1)
        logits = self.model.logits(self._behind(whole[:-1], tails, len(whole) + most))
        guard = self.settings.logitGuard
        logs = (logits.clamp(-guard, guard) / temperature).log_softmax(-1)
        return logs.gather(-1, targets[..., None])[..., 0], -(logs.exp() * logs).sum(-1)

    def answer_loss(self, asked: Asked, answer: list[int]) -> Tensor:
        """Mean cross-entropy of a given answer's tokens; differentiable."""
        whole = torch.cat([self._embedded(asked), self.model.embed(answer[:-1])])
        logits = self.model.logits(self.model.states(whole[None])[0, len(asked.prompt.ids) - 1 :])
        return F.cross_entropy(logits, torch.tensor(answer, device=logits.device))

    def phrase_prompts(self, features: Features, phrases: list[str]) -> Tensor:
        """Prompts of the mask decoder [n, C], the answer forced; differentiable."""
        ids = []
        for phrase in phrases:
            prompt, answer, _ = self.words.segment_prompt(features.tiles, self.model.side**2, phrase)
            ids.append(prompt.ids + answer)
        whole = self._spliced(ids[0], features, None)
        rotation = self.model.rotation
        if rotation is not None and not rotation.alike([len(own) for own in ids]):
            return torch.cat([self.phrase_prompts(features, [phrase]) for phrase in phrases])
        if len(ids) == 1:
            return self.model.seg_prompt(self.model.states(whole[None])[:, -1])
        # The last token of each belongs to its own tail.
        columns = zip(*(own[:-1] for own in ids), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
        tails = [own[shared:] for own in ids]
        width = max(len(own) for own in tails)
        filled = self.model.embed([own + [0] * (width - len(own)) for own in tails])
        hidden = self._behind(whole[:shared], filled, shared + width)
        last = torch.tensor([len(own) - 1 for own in tails], device=hidden.device)
        return self.model.seg_prompt(hidden[torch.arange(len(tails), device=hidden.device), last])

    def decoded(self, features: Features, prompts: Tensor, clicks: bool = False) -> Decoded:
        """Candidate masks of language prompts [n, C], or of one click each at (x, y) in 0 to 1; differentiable."""
        encoder = self.model.sam2.sam_prompt_encoder
        return self.model.sam2.decode(features.levels, (encoder.clicks if clicks else encoder.phrases)(prompts))

    @torch.no_grad()
    def find(self, features: Features, phrases: list[str], height: int, width: int) -> list[Found | None]:
        """The mask for each phrase; None for an empty one."""
        named = [at for at, phrase in enumerate(phrases) if plain_phrase(phrase)]
        found: list[Found | None] = [None] * len(phrases)
        if named:
            made = self.decoded(features, self.phrase_prompts(features, [phrases[at] for at in named]))
            for at, mask in zip(named, self.sized(made.best, height, width), strict=True):
                found[at] = mask
        return found

    @torch.no_grad()
    def sized(self, maps: Tensor, height: int, width: int) -> list[Found]:
        """Masks at picture size from low-resolution logits [n, h, w], enlarged through SAM2's input size."""
        side = (self.model.sam_size, self.model.sam_size)
        large = F.interpolate(maps[:, None], side, mode="bilinear", align_corners=False)
        logits = F.interpolate(large, (height, width), mode="bilinear", align_corners=False)[:, 0]
        found = []
        for own in logits:
            mask = self.inside(own)
            sure = own[torch.from_numpy(mask).to(own.device) > 0]
            found.append(Found(mask, float(sure.sigmoid().mean()) if len(sure) else None))
        return found

    def inside(self, logits: Tensor) -> Mask:
        """The mask of logits [h, w]."""
        return (logits > 0).cpu().numpy().astype(np.uint8)
