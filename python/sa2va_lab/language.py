"""Language models: those of transformers, InternLM2 of its own, and the cache that decoding fills."""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn
from transformers import DynamicCache

from .errors import LabError
from .vision import RmsNorm

INTERNLM2 = "InternLM2ForCausalLM"
FAMILIES = ("Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM", "Phi3ForCausalLM", INTERNLM2)


class Slots(DynamicCache):  # type: ignore[misc]
    """Keys and values in buffers of a fixed length: a token's are written in place, nothing is copied as they grow."""

    def __init__(self, rows: int, length: int) -> None:
        """Empty, of `rows` sequences."""
        super().__init__()
        self.rows, self.length, self.at = rows, length, 0
        self.buffers: dict[int, list[Tensor]] = {}
        self.places: Tensor | None = None
        """Where keys and values are written, on the device; behind the filled places if it is None."""

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Places that are filled."""
        return self.at

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, ...]:
        """Writes behind the filled places; returns the whole buffers, whose rest a mask must hide."""
        own = (key_states, value_states)
        if layer_idx not in self.buffers:
            self.buffers[layer_idx] = [x.new_zeros(self.rows, x.shape[1], self.length, x.shape[3]) for x in own]
        places = self.places
        if places is None:
            places = torch.arange(self.at, self.at + key_states.shape[2], device=key_states.device)
        for buffer, x in zip(self.buffers[layer_idx], own, strict=True):
            buffer.index_copy_(2, places, x)
        return tuple(self.buffers[layer_idx])

    def spread(self, rows: int, length: int) -> "Slots":
        """The one sequence `rows` times, with room up to `length`."""
        made = Slots(rows, length)
        made.at = self.at
        for layer, own in self.buffers.items():
            made.buffers[layer] = [
                F.pad(x[:, :, : self.at], (0, 0, 0, length - self.at)).repeat(rows, 1, 1, 1) for x in own
            ]
        return made


def visibility(queries: Tensor, keys: Tensor, real: Tensor, window: int | None, like: Tensor) -> Tensor:
    """
    What attention adds to its scores, [n, 1, Q, K]: 0 where a key is seen, the lowest number elsewhere.

    `queries` [n, Q] and `keys` [n, K] are positions in the text, `real` [n, K] says which keys are there.
    """
    gap = queries[:, :, None] - keys[:, None, :]
    seen = real[:, None, :] & (gap >= 0)
    if window is not None:
        seen &= gap < window
    hidden = torch.zeros(seen.shape, dtype=like.dtype, device=like.device)
    return hidden.masked_fill(~seen, torch.finfo(like.dtype).min)[:, None]


def window_of(config: dict[str, Any]) -> int | None:
    """How far back a token sees; None without a bound. Raises LabError for one that only some layers have."""
    if config.get("use_sliding_window"):
        raise LabError("llm_config.use_sliding_window is not known here; the model was not loaded")
    return config.get("sliding_window") if config["architectures"][0] == "Phi3ForCausalLM" else None


class Rotation(nn.Module):
    """
    Rotary angles whose scaling goes by the length of a sequence, that of the whole where it is computed in parts.

    Modules of transformers go by the length of each part; where that differs, this one takes their place.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        """`config` is the checkpoint's llm_config. Raises LabError for a scaling that is not known here."""
        super().__init__()
        self.length: int | None = None
        """Of the whole sequence; None for that of the pass."""
        scaling = _scaling(config)
        kind, size = _kind(scaling), _head_size(config)
        most = config.get("max_position_embeddings", 4096)
        self.limit = math.inf
        """Tokens above which angles change."""
        self._kind, self._growth, self._amplitude = kind, float(scaling.get("factor", 1.0)), 1.0
        self._theta = float(scaling.get("rope_theta", config.get("rope_theta", 10000.0)))
        self._powers = torch.arange(0, size, 2, dtype=torch.float64) / size
        self._divisors = [torch.ones(size // 2, dtype=torch.float64)] * 2
        if kind == "linear":
            self._divisors = [own * self._growth for own in self._divisors]
        elif kind == "dynamic":
            self.limit = most
        elif "short_factor" in scaling:
            trained = config.get("original_max_position_embeddings", most)
            self.limit = scaling.get("original_max_position_embeddings", trained)
            lists = (scaling["short_factor"], scaling["long_factor"])
            self._divisors = [torch.tensor(own, dtype=torch.float64) for own in lists]
            growth = scaling.get("factor", most / self.limit)
            logs = 0.0 if growth <= 1 else math.log(growth)
            root = 0.1 * logs + 1 if kind == "yarn" else math.sqrt(1 + logs / math.log(self.limit))
            self._amplitude = float(scaling.get("attention_factor", root))
        elif kind != "default":
            raise LabError(f"llm_config.rope_scaling of type {kind} is not known here; the model was not loaded")

    def alike(self, lengths: list[int]) -> bool:
        """Whether sequences of these lengths are rotated alike."""
        beyond = {length if self._kind == "dynamic" else 0 for length in lengths if length > self.limit}
        return len(beyond) + any(length <= self.limit for length in lengths) == 1

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [n, T, d] of positions [n, T]."""
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        length = self.length or int(position_ids.max()) + 1
        theta = self._theta
        if self._kind == "dynamic" and length > self.limit:
            growth = self._growth * length / self.limit - (self._growth - 1)
            theta *= growth ** (len(self._powers) / (len(self._powers) - 1))
        turns = theta**-self._powers / self._divisors[length > self.limit]
        angles = position_ids[..., None].to(wide) * turns.to(x.device, wide)
        angles = torch.cat([angles, angles], -1)
        return (angles.cos() * self._amplitude).to(x.dtype), (angles.sin() * self._amplitude).to(x.dtype)


def _scaling(config: dict[str, Any]) -> dict[str, Any]:
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return {"type": scaling} if isinstance(scaling, str) else scaling


def _kind(scaling: dict[str, Any]) -> str:
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    return "longrope" if kind == "su" else str(kind)


def _head_size(config: dict[str, Any]) -> int:
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def language_model(config: dict[str, Any]) -> nn.Module:
    """The language model of an llm_config. Raises LabError for a family that is not known."""
    family = config["architectures"][0]
    if family == INTERNLM2:
        return InternLm2(config)
    if family not in FAMILIES:
        raise LabError(f"config.json has the language model {family}; this package runs {', '.join(FAMILIES)}")
    shown = {name: value for name, value in config.items() if name not in ("architectures", "auto_map", "torch_dtype")}
    own = _kind(_scaling(config)) in ("dynamic", "longrope") or "short_factor" in _scaling(config)
    if own:
        shown = {name: value for name, value in shown.items() if name not in ("rope_scaling", "rope_parameters")}
        shown["rope_theta"] = _scaling(config).get("rope_theta", config.get("rope_theta", 10000.0))
    made = getattr(transformers, family.replace("ForCausalLM", "Config"))(**shown)
    # One attention for sampling and training, or the ratio would not be 1.
    made._attn_implementation = "sdpa"
    model: Any = getattr(transformers, family)._from_config(made, attn_implementation="sdpa")
    if own:
        model.model.rotary_emb = Rotation(config)
    language: nn.Module = model
    return language


@dataclass(frozen=True)
class _Said:
    last_hidden_state: Tensor


class _Norm(RmsNorm):
    def forward(self, x: Tensor) -> Tensor:
        wide = x.float() if x.itemsize < 4 else x
        return super().forward(wide).to(x.dtype)


class _Attention(nn.Module):
    def __init__(self, config: dict[str, Any], layer: int) -> None:
        super().__init__()
        width, self.heads = config["hidden_size"], config["num_attention_heads"]
        self.groups = config.get("num_key_value_heads") or self.heads
        self.size, self.layer = width // self.heads, layer
        bias = config.get("bias", True)
        self.wqkv = nn.Linear(width, (self.heads + 2 * self.groups) * self.size, bias=bias)
        self.wo = nn.Linear(self.heads * self.size, width, bias=bias)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor, cache: DynamicCache | None) -> Tensor:
        rows, length, _ = x.shape
        # Of every key head: its query heads, its key, its value.
        parts = self.wqkv(x).unflatten(-1, (self.groups, -1, self.size))
        q = parts[..., :-2, :].reshape(rows, length, self.heads, self.size).transpose(1, 2)
        k, v = (parts[..., at, :].transpose(1, 2) for at in (-2, -1))
        q, k = _rotated(q, turn), _rotated(k, turn)
        if cache is not None:
            k, v = cache.update(k, v, self.layer)
        shared = self.heads // self.groups
        k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        out: Tensor = self.wo(mixed.transpose(1, 2).flatten(2))
        return out


def _rotated(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = turn
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class _FeedForward(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.w2(F.silu(self.w1(x)) * self.w3(x))
        return out


class _Layer(nn.Module):
    def __init__(self, config: dict[str, Any], layer: int) -> None:
        super().__init__()
        width, eps = config["hidden_size"], config["rms_norm_eps"]
        self.attention = _Attention(config, layer)
        self.feed_forward = _FeedForward(config)
        self.attention_norm, self.ffn_norm = _Norm(width, eps), _Norm(width, eps)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor, cache: DynamicCache | None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), turn, mask, cache)
        out: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return out


class _Body(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.tok_embeddings = nn.Embedding(config["vocab_size"], width)
        self.layers = nn.ModuleList(_Layer(config, layer) for layer in range(config["num_hidden_layers"]))
        self.norm = _Norm(width, config["rms_norm_eps"])
        self.rotary_emb = Rotation(config)

    def forward(
        self,
        inputs_embeds: Tensor,
        past_key_values: DynamicCache | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        use_cache: bool = False,
    ) -> _Said:
        x, before = inputs_embeds, 0 if past_key_values is None else past_key_values.get_seq_length()
        if position_ids is None:
            position_ids = torch.arange(before, before + x.shape[1], device=x.device)[None]
        if attention_mask is None:
            keys = torch.arange(before + x.shape[1], device=x.device)[None]
            attention_mask = visibility(position_ids, keys, torch.ones_like(keys, dtype=torch.bool), None, x)
        cos, sin = self.rotary_emb(x, position_ids)
        turn = (cos[:, None], sin[:, None])
        for layer in self.layers:
            x = layer(x, turn, attention_mask, past_key_values)
        return _Said(self.norm(x))


class InternLm2(nn.Module):
    """InternLM2 with the published tensor names; it is called as the models of transformers are."""

    def __init__(self, config: dict[str, Any]) -> None:
        """`config` is the checkpoint's llm_config."""
        super().__init__()
        self.model = _Body(config)
        self.output = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of token embeddings."""
        return self.model.tok_embeddings

    def get_output_embeddings(self) -> nn.Linear:
        """The head."""
        return self.output
