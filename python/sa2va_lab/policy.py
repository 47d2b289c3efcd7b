"""What weights do: captions of regions, masks of phrases, and the log-probabilities of both."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache

from .masks import Mask, region_cells
from .model import Features, Sa2va
from .sampler import Sampler, draw
from .settings import Settings
from .text import Words, plain_phrase

Uniform = Callable[[int, int], float]
"""Uniform of a rollout and position."""


@dataclass(frozen=True)
class Completion:
    """A sampled caption."""

    ids: list[int]
    logps: list[float]
    entropies: list[float]
    ended: bool
    broken: bool
    clips: int


@dataclass(frozen=True)
class Decoded:
    """Mask logits [n, 4, h, w] and predicted IoU [n, 4]; candidate 0 is never used."""

    masks: Tensor
    iou: Tensor


@dataclass(frozen=True)
class Found:
    """A mask at picture size and its mean probability inside; None for an empty mask."""

    mask: Mask
    confidence: float | None


def sampler_of(settings: Settings) -> Sampler:
    """Sampling as the run's settings say."""
    s = settings
    return Sampler(s.temperature, s.logitGuard, s.topK, s.topP, s.minP, s.repetitionPenalty)


class Actor:
    """A model with its words; its weights are those that the model has at the time."""

    def __init__(self, model: Sa2va, words: Words, settings: Settings) -> None:
        """All three are shared, none is changed."""
        self.model, self.words, self.settings = model, words, settings

    def _spliced(self, ids: list[int], features: Features, cells: Mask | None) -> Tensor:
        """Embeddings [T, D] with the visual tokens, and the region's copies of the last tile's, written in."""
        visual = self.model.project(features)
        fill = [visual.flatten(0, 1)]
        if cells is not None:
            fill.append(visual[-1][torch.from_numpy(cells.reshape(-1).astype(bool)).to(visual.device)])
        x = self.model.embed(ids)
        places = torch.tensor([at for at, token in enumerate(ids) if token == self.words.context], device=x.device)
        return x.index_put((places,), torch.cat(fill))

    def _behind(self, prefix: Tensor, tails: Tensor) -> Tensor:
        """States [n, T, D] of tails that follow one prefix [P, D], which runs once."""
        cache = DynamicCache()
        if len(prefix):
            self.model.states(prefix[None], cache)
            cache.batch_repeat_interleave(len(tails))
        return self.model.states(tails, cache)

    def caption_ids(self, features: Features, cells: Mask) -> tuple[list[int], str]:
        """Prompt of a region's caption: ids and text."""
        prompt = self.words.caption_prompt(features.tiles, self.model.side**2, int(cells.sum()))
        return prompt.ids, prompt.text

    @torch.no_grad()
    def decode(
        self, prefix: Tensor, tails: list[Tensor], most: int, sampler: Sampler, u: Uniform | None, prompt: list[int]
    ) -> list[Completion]:
        """Completes tails [t, D] behind one prefix [P, D]; without `u` greedily. `prompt` counts for a penalty."""
        rows, width = len(tails), max(len(tail) for tail in tails)
        places = torch.tensor([[len(prefix) + at - (width - len(tail)) for at in range(width)] for tail in tails])
        places = places.clamp_min(0).to(prefix.device)
        mask = torch.ones(rows, len(prefix) + width, dtype=torch.long, device=prefix.device)
        for row, tail in enumerate(tails):
            mask[row, len(prefix) : len(prefix) + width - len(tail)] = 0
        cache = DynamicCache()
        if len(prefix):
            self.model.states(prefix[None], cache)
            cache.batch_repeat_interleave(rows)
        x = torch.stack([F.pad(tail, (0, 0, width - len(tail), 0)) for tail in tails])
        hidden = self.model.states(x, cache, attention_mask=mask, position_ids=places)
        ids: list[list[int]] = [[] for _ in tails]
        logps: list[list[float]] = [[] for _ in tails]
        entropies: list[list[float]] = [[] for _ in tails]
        ended, broken, clips = [False] * rows, [False] * rows, [0] * rows
        for position in range(most):
            logits = self.model.logits(hidden[:, -1]).double().cpu().numpy()
            for row in range(rows):
                if ended[row]:
                    continue
                drawn = draw(logits[row], sampler, None if u is None else u(row, position), prompt + ids[row])
                if drawn.id < 0:
                    ended[row] = broken[row] = True
                    continue
                ids[row].append(drawn.id)
                logps[row].append(drawn.logp)
                entropies[row].append(drawn.entropy)
                clips[row] += drawn.clips
                ended[row] = self.words.ended(ids[row])
            if all(ended) or position + 1 == most:
                break
            x = self.model.embed([[own[-1] if own else 0] for own in ids])
            mask = F.pad(mask, (0, 1), value=1)
            places = places[:, -1:] + 1
            hidden = self.model.states(x, cache, attention_mask=mask, position_ids=places)
        return [
            Completion(own, logps[row], entropies[row], self.words.ended(own), broken[row], clips[row])
            for row, own in enumerate(ids)
        ]

    @torch.no_grad()
    def captions(self, features: Features, cells: Mask, rollouts: int, u: Uniform | None) -> list[Completion]:
        """Rollouts of one region's caption, drawn with `u`, or greedy."""
        ids, _ = self.caption_ids(features, cells)
        whole = self._spliced(ids, features, cells)
        sampler = sampler_of(self.settings) if u is not None else Sampler(guard=self.settings.logitGuard)
        return self.decode(whole[:-1], [whole[-1:]] * rollouts, self.settings.maxNewTokens, sampler, u, ids)

    @torch.no_grad()
    def describe(self, features: Features, masks: list[Mask]) -> list[str | None]:
        """Greedy captions of masks; None for one that covers no visual token."""
        keep = self.settings.smallRegions == "force"
        captions: list[str | None] = [None] * len(masks)
        asked = []
        for at, mask in enumerate(masks):
            cells = region_cells(mask, self.model.side, keep)
            if cells.any():
                asked.append((at, self._spliced(self.caption_ids(features, cells)[0], features, cells)))
        if not asked:
            return captions
        # What they share ends where the picture's own tokens do: region tokens differ in content.
        shared = self._picture_end(features)
        tails = [whole[shared:] for _, whole in asked]
        sampler = Sampler(guard=self.settings.logitGuard)
        said = self.decode(asked[0][1][:shared], tails, self.settings.partnerMaxTokens, sampler, None, [])
        for (at, _), completion in zip(asked, said, strict=True):
            captions[at] = self.words.answer(completion.ids)
        return captions

    def _picture_end(self, features: Features) -> int:
        ids = self.words.caption_prompt(features.tiles, self.model.side**2, 1).ids
        return ids.index(self.words.context) + features.tiles * self.model.side**2

    def caption_scores(
        self, features: Features, cells: Mask, completions: list[list[int]], width: int
    ) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies [N, width] of sampled captions; differentiable."""
        ids, _ = self.caption_ids(features, cells)
        whole = self._spliced(ids, features, cells)
        targets = torch.tensor([(own + [0] * width)[:width] for own in completions], device=whole.device)
        first = whole[-1:].expand(len(completions), 1, -1)
        tails = torch.cat([first, self.model.embed(targets[:, :-1])], 1)
        logits = self.model.logits(self._behind(whole[:-1], tails))
        guard, temperature = self.settings.logitGuard, self.settings.temperature
        logs = (logits.clamp(-guard, guard) / temperature).log_softmax(-1)
        return logs.gather(-1, targets[..., None])[..., 0], -(logs.exp() * logs).sum(-1)

    def answer_loss(self, features: Features, cells: Mask, answer: list[int]) -> Tensor:
        """Mean cross-entropy of a given answer's tokens; differentiable."""
        ids, _ = self.caption_ids(features, cells)
        whole = torch.cat([self._spliced(ids, features, cells), self.model.embed(answer[:-1])])
        logits = self.model.logits(self.model.states(whole[None])[0, len(ids) - 1 :])
        return F.cross_entropy(logits, torch.tensor(answer, device=logits.device))

    def phrase_prompts(self, features: Features, phrases: list[str]) -> Tensor:
        """Prompts of the mask decoder [n, C], the answer forced; differentiable."""
        ids = []
        for phrase in phrases:
            prompt, answer, _ = self.words.segment_prompt(features.tiles, self.model.side**2, phrase)
            ids.append(prompt.ids + answer)
        shared = 0
        if len(ids) > 1:
            shortest = min(len(own) for own in ids) - 1
            while shared < shortest and len({own[shared] for own in ids}) == 1:
                shared += 1
        whole = self._spliced(ids[0], features, None)
        if len(ids) == 1:
            return self.model.seg_prompt(self.model.states(whole[None])[:, -1])
        tails = [own[shared:] for own in ids]
        width = max(len(own) for own in tails)
        hidden = self._behind(whole[:shared], self.model.embed([own + [0] * (width - len(own)) for own in tails]))
        last = torch.tensor([len(own) - 1 for own in tails], device=hidden.device)
        return self.model.seg_prompt(hidden[torch.arange(len(tails), device=hidden.device), last])

    def decoded(self, features: Features, prompts: Tensor) -> Decoded:
        """Candidate masks of prompts about one picture; differentiable."""
        return Decoded(*self.model.grounding_encoder.sam2_model.decode(features.levels, prompts))

    @torch.no_grad()
    def find(self, features: Features, phrases: list[str], height: int, width: int) -> list[Found | None]:
        """What is found for each phrase; None for an empty one."""
        named = [at for at, phrase in enumerate(phrases) if plain_phrase(phrase)]
        found: list[Found | None] = [None] * len(phrases)
        if named:
            made = self.decoded(features, self.phrase_prompts(features, [phrases[at] for at in named]))
            best = made.iou[:, 1:].argmax(1)
            maps = made.masks[torch.arange(len(named), device=best.device), 1 + best]
            for at, mask in zip(named, self.sized(maps, height, width), strict=True):
                found[at] = mask
        return found

    @torch.no_grad()
    def sized(self, maps: Tensor, height: int, width: int) -> list[Found]:
        """Masks at picture size of low-resolution logits [n, h, w], enlarged through SAM2's own size."""
        side = (self.model.sam_size, self.model.sam_size)
        large = F.interpolate(maps[:, None], side, mode="bilinear", align_corners=False)
        logits = F.interpolate(large, (height, width), mode="bilinear", align_corners=False)[:, 0]
        inside = (logits > 0).cpu().numpy().astype(np.uint8)
        found = []
        for mask, own in zip(inside, logits, strict=True):
            sure = own[own > 0]
            found.append(Found(mask, float(sure.sigmoid().mean()) if len(sure) else None))
        return found
