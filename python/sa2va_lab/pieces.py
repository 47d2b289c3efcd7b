"""
A folder with only `tokenizer.model`, read like the published slow tokenizers of InternLM2 and Llama.

Added tokens are cut out of a text first, and the text between them is encoded separately. The libraries' own
conversions to a fast tokenizer place blanks differently, and other ids would be another prompt.
"""

import re
from pathlib import Path
from typing import Any

import sentencepiece

from .settings import read_json

_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_CLEAN = ((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"),
          (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"))  # fmt: skip
_MARK = "\u2581"


def _named(value: Any) -> str | None:
    return value.get("content") if isinstance(value, dict) else value


def _clean(text: str) -> str:
    for before, after in _CLEAN:
        text = text.replace(before, after)
    return text


class PiecesTokenizer:
    """The methods of a transformers tokenizer that this package calls."""

    def __init__(self, folder: Path) -> None:
        """Reads the pieces and the tokens that were added to them."""
        self._whole: Any = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        config = read_json(folder / "tokenizer_config.json")
        added = folder / "added_tokens.json"
        self._listed: dict[str, int] = dict(read_json(added)) if added.exists() else {}
        about = config.get("added_tokens_decoder", {})
        self._listed |= {own["content"]: int(token) for token, own in about.items()}
        roles = {name: _named(config.get(name)) for name in _ROLES}
        self._further = {own for own in map(_named, config.get("additional_special_tokens", [])) if own}
        self._special = {own for own in roles.values() if own} | self._further
        self._size: int = self._whole.vocab_size()
        inherent = {own: self._piece_id(own) for own in self._special if own and own not in self._listed}
        self._cut = self._listed | {text: found for text, found in inherent.items() if found is not None}
        self._names = {token: text for text, token in self._cut.items()}
        longest = sorted(map(re.escape, self._cut), key=len, reverse=True)
        self._pattern = re.compile(f"({'|'.join(longest)})") if longest else None
        marked = {own["content"] for own in about.values() if own.get("special")}
        self._dropped = self._special | marked | (set(self._listed) - {own["content"] for own in about.values()})
        self._published = str(config.get("tokenizer_class", "")).startswith("InternLM2")
        self._legacy = config.get("legacy") is not False
        self._tidy = config.get("clean_up_tokenization_spaces") is True
        self.unk_token: str = roles["unk_token"] or "<unk>"
        self.unk_token_id = self.convert_tokens_to_ids(self.unk_token)
        self.eos_token_id = None if roles["eos_token"] is None else self.convert_tokens_to_ids(roles["eos_token"])
        self.bos_token_id = None if roles["bos_token"] is None else self.convert_tokens_to_ids(roles["bos_token"])
        self.add_bos_token = config.get("add_bos_token", True)

    def _piece_id(self, text: str) -> int | None:
        found: int = self._whole.piece_to_id(text)
        return found if self._whole.id_to_piece(found) == text else None

    def convert_tokens_to_ids(self, token: str) -> int | None:
        """Id of an added token or a piece; None for another text."""
        return self._cut.get(token, self._piece_id(token))

    def get_added_vocab(self) -> dict[str, int]:
        """Ids of added tokens."""
        return dict(self._cut)

    def encode(self, text: str, add_special_tokens: bool = False, split_special_tokens: bool = False) -> list[int]:
        """Ids of a text; with `split_special_tokens` added tokens are plain text."""
        once = not self._published and not self._legacy
        if once and text:
            text = _MARK + text.replace(_MARK, " ")
        cuts = self._pattern is not None and not split_special_tokens
        parts = self._pattern.split(text) if cuts and self._pattern is not None else [text]
        out: list[int] = []
        for at, part in enumerate(parts):
            if cuts and at % 2 == 1:
                out.append(self._cut[part])
            elif part:
                out += self._as_is(part) if once else list(self._whole.encode(part))
        blank = once and len(out) > 1 and len(parts) > 1 and parts[0] == _MARK
        return out[1:] if blank and self._name(out[1]) in self._special else out

    def _as_is(self, text: str) -> list[int]:
        """Ids of a text inside another one: the library puts a blank in front of whole texts."""
        return list(self._whole.encode(self.unk_token + text))[len(self._whole.encode(self.unk_token)) :]

    def _name(self, token: int) -> str:
        return self._names.get(token) or str(self._whole.id_to_piece(token))

    def decode(self, ids: list[int], skip_special_tokens: bool = False) -> str:
        """Text of ids; added tokens without a role are surrounded by blanks."""
        known = [self._name(token) for token in ids if token in self._names or token < self._size]
        kept = [token for token in known if not (skip_special_tokens and token in self._dropped)]
        parts: list[str] = []
        run: list[str] = []
        for token in kept:
            further = token in self._further and self._listed.get(token, 0) >= self._size
            if token not in self._listed or (token in self._special and not further):
                run.append(token)
                continue
            before = self._joined(run) if run else ""
            parts += [before, token] if before else [token]
            run = []
        if run:
            parts.append(self._joined(run))
        text = " ".join(parts)
        return _clean(text) if self._tidy else text

    def _plain(self, pieces: list[str]) -> str:
        kept = not self._published and not self._legacy and bool(pieces) and pieces[0].startswith(_MARK)
        return " " * kept + str(self._whole.decode_pieces(pieces))

    def _joined(self, given: list[str]) -> str:
        published, legacy = self._published, self._legacy
        run = list(given)
        if not published and run[0].startswith(_MARK):
            run[0] = run[0][1:]
        text, after = "", False
        waiting: list[str] = []
        for at, token in enumerate(run):
            if token in self._special:
                blank = not after and (published or (legacy and at > 0))
                text += (" " if blank else "") + self._plain(waiting) + token
                waiting, after = [], True
                continue
            if not published and after and at == 1 and not token.startswith(_MARK):
                text += " "
            waiting.append(token)
            after = False
        text += self._plain(waiting)
        return _clean(text) if published else text
