"""The extra `rotation`: rotary angles that depend on the length of the whole sequence, of Phi-3 and InternLM2."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .language import Rotation
from .philox import Address
from .policy import Start

_TRAINED = "original_max_position_embeddings"
"""Field with the length before rescaling."""


def long_scaling(config: dict[str, Any], given: dict[str, Any], named: str) -> dict[str, Any]:
    """Fields of a scaling of an llm_config with factors for short and long sequences, as named by transformers."""
    most = config.get("max_position_embeddings", 4096)
    # As in transformers, the field beside the group takes precedence over the one inside, even if it is a default.
    beside = config.get(_TRAINED, 4096 if "Phi3ForCausalLM" in config.get("architectures", ()) else None)
    trained = beside or given.get(_TRAINED, most)
    growth = given.get("factor", most / trained)
    scaling = {"rope_type": "longrope", _TRAINED: trained, "factor": growth}
    if named == "yarn":
        scaling["attention_factor"] = given.get("attention_factor", 0.1 * math.log(max(1.0, growth)) + 1)
    return scaling


def rotation(own: Any, config: Any) -> "ByLength":
    """The angles of a language model with a configuration of transformers."""
    scaling = config.rope_parameters
    limit = scaling.get(_TRAINED, config.max_position_embeddings)
    return ByLength(own, limit, scaling["rope_type"] == "dynamic")


class ByLength(Rotation):
    """
    Rotary angles whose scaling depends on the length of the whole sequence, also if it is computed in parts.

    The module of transformers that it replaces uses the length of each part.
    """

    def __init__(self, own: Any, limit: float, growing: bool) -> None:
        """`own` gives other angles to sequences above `limit` tokens, different ones for each length if `growing`."""
        super().__init__(own)
        self.limit, self.growing = limit, growing

    def alike(self, lengths: list[int]) -> bool:
        """Whether sequences of these lengths have equal rotation."""
        beyond = {length if self.growing else 0 for length in lengths if length > self.limit}
        return len(beyond) + any(length <= self.limit for length in lengths) == 1

    def apart(self, starts: list[Start], most: int, one_length: bool) -> list[list[Start]] | None:
        """Each prompt, or each tail of a single one, if their lengths have different rotation."""
        begins = [] if one_length else [len(own.prefix) + min(map(len, own.tails)) for own in starts]
        if self.alike([*begins, *(own.end + most for own in starts)]):
            return None
        if len(starts) > 1:
            return [[own] for own in starts]
        return [rows(starts[0])] if len(set(map(len, starts[0].tails))) > 1 else None

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [n, T, d] of positions [n, T]."""
        count = position_ids.shape[1]
        if self.turn.length is not None:
            last = position_ids.new_full((len(position_ids), 1), self.turn.length - 1)
            position_ids = torch.cat([position_ids, last], 1)
        # Values of an earlier, longer sequence would remain.
        self.own.max_seq_len_cached = 0
        cos, sin = self.own(x, position_ids)
        return cos[:, :count], sin[:, :count]


def rows(start: Start) -> list[Start]:
    """The tails as prompts of their own."""
    drawn: Sequence[Address | None] = start.addresses or [None] * len(start.tails)
    return [
        replace(start, tails=[tail], addresses=None if address is None else [address])
        for tail, address in zip(start.tails, drawn, strict=True)
    ]
