"""Prompts and answers in the lab's form."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer, PreTrainedTokenizerFast

from .errors import LabError
from .extras import extra
from .settings import Contract

# JavaScript's white space: Python's has other characters.
_SPACE = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
_GAPS = re.compile(f"[{_SPACE}]+")
_VISUAL = (("<img>", "<IMG_CONTEXT>", "</img>"), ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>"))
"""Texts around a picture and of a visual token, by family."""


def plain_phrase(text: str) -> str:
    """A caption in one line."""
    return _GAPS.sub(" ", text).strip(_SPACE)


def clean_phrase(text: str) -> str:
    """An expression as in training prompts: lower case, no full stop at the end."""
    return re.sub(r"\.+$", "", text.strip(_SPACE).lower()).strip(_SPACE)


@dataclass(frozen=True)
class Prompt:
    """Token ids of a prompt, and its text with visual tokens counted."""

    ids: list[int]
    text: str


class Words:
    """A checkpoint's tokenizer with the run's template and texts."""

    def __init__(self, folder: Path, config: dict[str, Any], contract: Contract) -> None:
        """`config` is that of the model. Raises LabError for a template that the contract lacks."""
        name = str(config["template"]).replace("-", "_")
        if name not in contract.templates:
            raise LabError(f"config.json names the template {name}, which scale/contract.json lacks")
        self.template = contract.templates[name]
        self.stops: tuple[str, ...] = tuple(self.template["stopWords"])
        self.wordings = contract.wordings
        if (folder / "tokenizer.json").exists():
            self.tokenizer: Any = PreTrainedTokenizerFast.from_pretrained(str(folder))
        elif (folder / "tokenizer.model").exists():
            self.tokenizer = extra("pieces", str(folder / "tokenizer.model")).PiecesTokenizer(folder)
        else:
            self.tokenizer = AutoTokenizer.from_pretrained(str(folder))
        self.visual = next((own for own in _VISUAL if self._id(own[1]) is not None), _VISUAL[0])
        self.context, self.seg = self._needed(self.visual[1]), self._needed("[SEG]")
        self.eos = self.tokenizer.eos_token_id
        adds = getattr(self.tokenizer, "add_bos_token", False)
        self.begin = [self.tokenizer.bos_token_id] if adds or self.template["bos"] else []
        limit = config.get("llm_config", config.get("text_config", {})).get("max_position_embeddings", 8192)
        self.limit = min(8192, int(limit))

    def _id(self, token: str) -> int | None:
        found = self.tokenizer.convert_tokens_to_ids(token)
        return None if found in (None, self.tokenizer.unk_token_id) else int(found)

    def _needed(self, token: str) -> int:
        found = self._id(token)
        if found is None:
            raise LabError(f"The tokenizer has no {token}; the model is not a Sa2VA checkpoint")
        return found

    def encode(self, text: str) -> list[int]:
        """Ids of a text with its special tokens."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def spells(self, text: str) -> bool:
        """Whether a caption spells one of the tokenizer's added tokens."""
        return any(token in text for token in self.tokenizer.get_added_vocab())

    def _literal(self, before: str, phrase: str, after: str) -> list[int]:
        """A prompt around a phrase that is plain text, whatever tokens it spells."""
        if not self.spells(phrase):
            return self.encode(before + phrase + after)
        head, mark, lead = before.rpartition(">")
        tail, stop, rest = after.partition("<")
        inner = self.tokenizer.encode(lead + phrase + tail, add_special_tokens=False, split_special_tokens=True)
        return self.encode(head + mark) + list(inner) + self.encode(stop + rest)

    def _prompt(self, wording: str, tokens: int, cells: int, phrase: str = "") -> Prompt:
        texts, (before, token, after) = [], self.visual
        for write in (lambda n: token * n, lambda n: f"{n}×"):
            picture = f"{before}{write(tokens)}{after}"
            if cells:
                picture += f"\nThere are 1 part regions in the picture: region1<vp>{write(cells)}</vp>.\n"
            said = wording.replace("<image>", picture)
            texts.append(self.template["before"] + said + self.template["after"])
        before, slot, after = texts[0].partition("{phrase}")
        ids = self._literal(before, phrase, after) if slot else self.encode(before)
        if ids.count(self.context) != tokens + cells:
            raise LabError(f"The prompt came out with {ids.count(self.context)} visual tokens; nothing was sampled")
        return Prompt(self.begin + ids, texts[1].replace("{phrase}", phrase))

    def region_prompt(self, tokens: int, cells: int, question: str = "", form: str = "tokens") -> Prompt:
        """
        A question about a region of `cells` visual tokens, or the prompt for its caption; drawn regions have none.

        Raises LabError for a question that is too long.
        """
        wording = self.wordings[("question" if question else "caption") + ("" if cells else f"-{form}")]
        made = self._prompt(wording, tokens, cells, question.strip(_SPACE))
        if question and len(made.ids) > self.limit:
            raise LabError(f"The question is longer than the model's context of {self.limit} tokens; nothing was asked")
        return made

    def segment_prompt(self, tokens: int, phrase: str) -> tuple[Prompt, list[int], bool]:
        """The question for a mask, the forced answer up to [SEG], and whether the phrase was cut to the context."""
        answer = self.encode(self.wordings["answer"] + self.stops[0])
        answer = answer[: answer.index(self.seg) + 1]

        def made(text: str) -> Prompt:
            return self._prompt(self.wordings["segment"], tokens, 0, clean_phrase(text))

        text = self._fitted(phrase, lambda text: len(made(text).ids) + len(answer))
        return made(text), answer, text != plain_phrase(phrase)

    def caption_tokens(self, caption: str) -> list[int]:
        """A caption from the data, unchanged, with the first stop word."""
        return self._literal("", caption, self.stops[0])

    def caption_answer(self, caption: str, prompt: int) -> tuple[list[int], bool]:
        """A caption from the data with the first stop word, and whether it was cut to fit after `prompt` tokens."""
        text = self._fitted(caption, lambda text: prompt + len(self.caption_tokens(text)))
        return self.caption_tokens(text), text != plain_phrase(caption)

    def _fitted(self, caption: str, length: Callable[[str], int]) -> str:
        """The caption in one line, cut if its sequence exceeds the context."""
        text = plain_phrase(caption)
        while True:
            over, said = length(text) - self.limit, len(self.encode(text))
            if over <= 0 or said <= 32:
                return text
            begin = text[: min(len(text) - 1, int(max(32, said - over) / said * len(text)))]
            word = begin.rfind(" ")
            text = begin[:word] if word > len(begin) / 2 else begin

    def decode(self, ids: list[int], special: bool) -> str:
        """Text of ids, with or without special tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=not special))

    def ended(self, ids: list[int]) -> bool:
        """Whether an answer is over: the end id, or a text that ends with a stop word."""
        if not ids or ids[-1] == self.eos:
            return bool(ids)
        text = re.sub(r"[\r\n]", "", self.decode(ids[-64:], True))
        return text.endswith(self.stops)

    def answer(self, ids: list[int]) -> str:
        """Text of an answer without special tokens and stop word."""
        text = self.decode(ids, False).strip(_SPACE)
        for word in self.stops:
            text = text.removesuffix(word).strip(_SPACE)
        return text
