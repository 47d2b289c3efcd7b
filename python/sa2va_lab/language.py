"""Language models of transformers, InternLM2 as a Llama with its own projection, and the cache for decoding."""

import math
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import DynamicCache
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention, apply_rotary_pos_emb

from .errors import LabError

INTERNLM2 = "InternLM2ForCausalLM"
_INTERNLM2_NAMES = {
    "lm_head": "output", "embed_tokens": "tok_embeddings", "self_attn.o_proj": "attention.wo",
    "self_attn": "attention", "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
FAMILIES = ("Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM", "Phi3ForCausalLM", INTERNLM2)


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
    """
    Rotary angles whose scaling depends on the length of the whole sequence, also if it is computed in parts.

    The module of transformers that it replaces uses the length of each part.
    """

    def __init__(self, own: Any, limit: float = math.inf, growing: bool = False) -> None:
        """`own` gives other angles to sequences above `limit` tokens, different ones for each length if `growing`."""
        super().__init__()
        self.own, self.limit, self.growing, self.turn = own, limit, growing, WHOLE

    def alike(self, lengths: list[int]) -> bool:
        """Whether sequences of these lengths have equal rotation."""
        beyond = {length if self.growing else 0 for length in lengths if length > self.limit}
        return len(beyond) + any(length <= self.limit for length in lengths) == 1

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


_TRAINED = "original_max_position_embeddings"
"""Field with the length before rescaling."""


def _scaling(config: dict[str, Any]) -> dict[str, Any]:
    """How rotary angles are scaled, as named by transformers. Raises LabError for an unknown kind."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    given = {"type": given} if isinstance(given, str) else given
    named = given.get("rope_type") or given.get("type") or "default"
    most = config.get("max_position_embeddings", 4096)
    theta = given.get("rope_theta", config.get("rope_theta", 10000.0))
    scaling = given | {"rope_type": named, "rope_theta": float(theta)}
    scaling.pop("type", None)
    if "short_factor" in given:
        # As in transformers, the field beside the group takes precedence over the one inside, even if it is a default.
        beside = config.get(_TRAINED, 4096 if "Phi3ForCausalLM" in config.get("architectures", ()) else None)
        trained = beside or given.get(_TRAINED, most)
        growth = given.get("factor", most / trained)
        scaling |= {"rope_type": "longrope", _TRAINED: trained, "factor": growth}
        if named == "yarn":
            scaling["attention_factor"] = given.get("attention_factor", 0.1 * math.log(max(1.0, growth)) + 1)
    if scaling["rope_type"] not in ("default", *ROPE_INIT_FUNCTIONS):
        raise LabError(f"llm_config.rope_scaling of type {named} is not supported here; the model was not loaded")
    return scaling


def language_model(config: dict[str, Any]) -> Any:
    """The language model of an llm_config. Raises LabError for an unknown family."""
    family = config["architectures"][0]
    if family not in FAMILIES:
        raise LabError(f"config.json has the language model {family}; this package runs {', '.join(FAMILIES)}")
    if family != INTERNLM2:
        return transformer(family, config)
    model = transformer("LlamaForCausalLM", config | {"attention_bias": config.get("bias", True)})
    for at, layer in enumerate(model.model.layers):
        layer.self_attn = _FusedAttention(model.config, at)
    return model


def transformer(name: str, config: dict[str, Any]) -> Any:
    """The class of transformers with the sizes of an llm_config."""
    scaling, kind = _scaling(config), getattr(transformers, name)
    ours = ("architectures", "auto_map", "torch_dtype", "rope_scaling", "rope_parameters", "rope_theta")
    shown = {name: value for name, value in config.items() if name not in ours}
    made = kind.config_class(**shown, rope_parameters=scaling)
    # Sampling and training use the same attention; otherwise the ratio would not be 1.
    model = kind._from_config(made, attn_implementation="sdpa")
    if scaling["rope_type"] in ("dynamic", "longrope"):
        limit = scaling.get("original_max_position_embeddings", made.max_position_embeddings)
        model.model.rotary_emb = Rotation(model.model.rotary_emb, limit, scaling["rope_type"] == "dynamic")
    return model


# transformers 5.24 renamed the argument of layers that holds the cache.
CACHE = "cache" if "cache" in signature(LlamaAttention.forward).parameters else "past_key_values"


class _Later(DynamicCache):  # type: ignore[misc]
    """The keys and values of one layer's pass, after those of earlier passes."""

    def __init__(self, earlier: tuple[Tensor, Tensor] | None) -> None:
        super().__init__()
        self.earlier, self.own = earlier, tuple[Tensor, ...]()

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, ...]:
        self.own = (key_states, value_states)
        return self.own if self.earlier is None else tuple(map(_behind, self.earlier, self.own))


def _behind(earlier: Tensor, own: Tensor) -> Tensor:
    return torch.cat([earlier, own], -2)


def recompute(layer: Any) -> None:
    """
    Makes a decoder layer keep only its input for a backward pass, which computes the rest again.

    transformers does the same without a cache only; here the prompt's keys and values stay, with their gradients.
    """
    inner, at = layer.forward, layer.self_attn.layer_idx

    def forward(hidden_states: Tensor, *args: Any, **given: Any) -> Any:
        cache = given.get(CACHE)
        if not torch.is_grad_enabled():
            return inner(hidden_states, *args, **given)
        if cache is None:
            return checkpoint(inner, hidden_states, *args, use_reentrant=False, preserve_rng_state=False, **given)
        known = at < len(cache.layers) and cache.layers[at].is_initialized
        earlier = (cache.layers[at].keys, cache.layers[at].values) if known else None

        def part(x: Tensor) -> tuple[Any, tuple[Tensor, ...]]:
            later = _Later(earlier)
            return inner(x, *args, **given | {CACHE: later}), later.own

        out, own = checkpoint(part, hidden_states, use_reentrant=False, preserve_rng_state=False)
        cache.update(*own, at)
        return out

    layer.forward = forward


class _FusedAttention(LlamaAttention):  # type: ignore[misc]
    """InternLM2's attention: one projection gives, for every key head, its query heads, its key and its value."""

    def __init__(self, config: Any, layer: int) -> None:
        super().__init__(config, layer)
        wide = (config.num_attention_heads + 2 * config.num_key_value_heads) * self.head_dim
        self.wqkv = nn.Linear(config.hidden_size, wide, bias=config.attention_bias)
        self.groups = config.num_key_value_heads
        del self.q_proj, self.k_proj, self.v_proj

    def forward(
        self,
        hidden_states: Tensor,
        position_embeddings: tuple[Tensor, Tensor],
        attention_mask: Tensor | None = None,
        **given: Any,
    ) -> tuple[Tensor, None]:
        cache: DynamicCache | None = given.get(CACHE)
        parts = self.wqkv(hidden_states).unflatten(-1, (self.groups, -1, self.head_dim))
        q = parts[..., :-2, :].flatten(2, 3).transpose(1, 2)
        k, v = (parts[..., at, :].transpose(1, 2) for at in (-2, -1))
        q, k = apply_rotary_pos_emb(q, k, *position_embeddings)
        if cache is not None:
            k, v = cache.update(k, v, self.layer_idx)
        attend = ALL_ATTENTION_FUNCTIONS["sdpa"]
        mixed, _weights = attend(self, q, k, v, attention_mask, dropout=0.0, scaling=self.scaling)
        return self.o_proj(mixed.flatten(2)), None


def language_names(config: dict[str, Any]) -> dict[str, str]:
    """Patterns of the names of transformers and PEFT and their replacements in checkpoints, in order."""
    fused = config["architectures"][0] == INTERNLM2
    return {r"\.base_layer": "", r"\.default": ""} | (_INTERNLM2_NAMES if fused else {})
