"""Language models of transformers, and the cache for decoding."""

from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import DynamicCache
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention

from .errors import LabError
from .extras import extra, part_of

FAMILIES = ("Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM", "Phi3ForCausalLM")


class Slots(DynamicCache):  # type: ignore[misc]
    """
    Keys and values in buffers of fixed length: those of a token are written in place, and nothing is copied as they
    grow.
    """

    def __init__(self, rows: int, length: int) -> None:
        """Empty, of `rows` sequences."""
        super().__init__()
        self.rows, self.length, self.at = rows, length, 0
        self.buffers: dict[int, list[Tensor]] = {}
        self.places: Tensor | None = None
        """Slots where keys and values are written, on the device; None writes after the filled ones."""

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Number of filled slots."""
        return self.at

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, ...]:
        """Writes after the filled slots; returns the whole buffers, whose rest a mask must hide."""
        own = (key_states, value_states)
        if layer_idx not in self.buffers:
            self.buffers[layer_idx] = [x.new_zeros(self.rows, x.shape[1], self.length, x.shape[3]) for x in own]
        places = self.places
        if places is None:
            places = torch.arange(self.at, self.at + key_states.shape[2], device=key_states.device)
        for buffer, x in zip(self.buffers[layer_idx], own, strict=True):
            buffer.index_copy_(2, places, x)
        return tuple(self.buffers[layer_idx])

    @staticmethod
    def joined(prompts: list["Slots"], rows: list[int], first: int, length: int) -> "Slots":
        """Each prompt repeated for its rows, ending before slot `first`, with room up to `length`."""
        made, ends = Slots(sum(rows), length), [sum(rows[: at + 1]) for at in range(len(rows))]
        made.at = first
        for layer in next((own.buffers for own in prompts if own.buffers), {}):
            like = next(own.buffers[layer] for own in prompts if own.buffers)
            made.buffers[layer] = [x.new_zeros(made.rows, x.shape[1], length, x.shape[3]) for x in like]
            for own, count, end in zip(prompts, rows, ends, strict=True):
                for buffer, x in zip(made.buffers[layer], own.buffers.get(layer, ()), strict=False):
                    buffer[end - count : end, :, first - own.at : first] = x[:, :, : own.at]
        return made


def visibility(queries: Tensor, keys: Tensor, real: Tensor, window: int | None, like: Tensor) -> Tensor:
    """
    The bias that attention adds to its scores, [n, 1, Q, K]: 0 where a key is visible, the lowest number elsewhere.

    `queries` [n, Q] and `keys` [n, K] are positions in the text; `real` [n, K] marks existing keys.
    """
    gap = queries[:, :, None] - keys[:, None, :]
    seen = real[:, None, :] & (gap >= 0)
    if window is not None:
        seen &= gap < window
    hidden = torch.zeros(seen.shape, dtype=like.dtype, device=like.device)
    return hidden.masked_fill(~seen, torch.finfo(like.dtype).min)[:, None]


def window_of(config: dict[str, Any]) -> int | None:
    """Number of tokens that a token sees; None without a limit. Raises LabError for a limit of some layers only."""
    if config.get("use_sliding_window"):
        raise LabError("llm_config.use_sliding_window is not supported here; the model was not loaded")
    return config.get("sliding_window") if config["architectures"][0] == "Phi3ForCausalLM" else None


@dataclass(frozen=True)
class Turn:
    """What the rotary angles of sequences may depend on beside the indices of their tokens."""

    length: int | None = None
    """Length of the whole sequence; None for that of the pass."""
    pictures: tuple[tuple[int, int, int], ...] = ()
    """Of each sequence, or of all, the index of the first visual token and the grid's rows and columns."""


WHOLE = Turn()


class Rotation(nn.Module):
    """Rotary angles that depend on more than the index of a token."""

    fixed = False
    """Whether the same kernels compute the angles of every token of a decoding."""

    def __init__(self, own: Any) -> None:
        """`own` is the module of transformers that this one replaces."""
        super().__init__()
        self.own, self.turn = own, WHOLE

    def alike(self, lengths: list[int]) -> bool:
        """Whether sequences of these lengths have equal rotation."""
        return True

    def apart(self, starts: list[Any], most: int, one_length: bool) -> list[list[Any]] | None:
        """The prompts of which each must be decoded alone, prompt by prompt; None where all go together."""
        return None


def _scaling(config: dict[str, Any]) -> dict[str, Any]:
    """How rotary angles are scaled, as named by transformers. Raises LabError for an unknown kind."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    given = {"type": given} if isinstance(given, str) else given
    named = given.get("rope_type") or given.get("type") or "default"
    theta = given.get("rope_theta", config.get("rope_theta", 10000.0))
    scaling = given | {"rope_type": named, "rope_theta": float(theta)}
    scaling.pop("type", None)
    if "short_factor" in given:
        scaling |= extra("rotation", "llm_config.rope_scaling with factors").long_scaling(config, given, named)
    if scaling["rope_type"] not in ("default", *ROPE_INIT_FUNCTIONS):
        raise LabError(f"llm_config.rope_scaling of type {named} is not supported here; the model was not loaded")
    return scaling


def language_model(config: dict[str, Any]) -> Any:
    """The language model of an llm_config. Raises LabError for an unknown family."""
    family = config["architectures"][0]
    part = part_of("architectures", family)
    if part is not None:
        return part.language_model(config)
    if family not in FAMILIES:
        runs = f"{', '.join(FAMILIES)}, InternLM2ForCausalLM"
        raise LabError(f"config.json has the language model {family}; this package runs {runs}")
    return transformer(family, config)


def transformer(name: str, config: dict[str, Any]) -> Any:
    """The class of transformers with the sizes of an llm_config."""
    scaling, kind = _scaling(config), getattr(transformers, name)
    ours = ("architectures", "auto_map", "torch_dtype", "rope_scaling", "rope_parameters", "rope_theta")
    shown = {name: value for name, value in config.items() if name not in ours}
    made = kind.config_class(**shown, rope_parameters=scaling)
    # Sampling and training use the same attention; otherwise the ratio would not be 1.
    model = kind._from_config(made, attn_implementation="sdpa")
    part = part_of("rope_type", scaling["rope_type"])
    if part is not None:
        model.model.rotary_emb = part.rotation(model.model.rotary_emb, made)
    return model


# transformers 5.24 renamed the argument of layers that holds the cache.
CACHE = "cache" if "cache" in signature(LlamaAttention.forward).parameters else "past_key_values"


def language_names(config: dict[str, Any]) -> dict[str, str]:
    """Patterns of the names of transformers and PEFT and their replacements in checkpoints, in order."""
    part = part_of("architectures", config["architectures"][0])
    return {r"\.base_layer": "", r"\.default": ""} | ({} if part is None else part.NAMES)
