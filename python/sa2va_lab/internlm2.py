"""The extra `internlm2`: InternLM2 as a Llama with its own projection."""

from typing import Any

from torch import Tensor, nn
from transformers import DynamicCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaAttention, apply_rotary_pos_emb

from .language import CACHE, transformer

NAMES = {
    "lm_head": "output", "embed_tokens": "tok_embeddings", "self_attn.o_proj": "attention.wo",
    "self_attn": "attention", "mlp.gate_proj": "feed_forward.w1", "mlp.up_proj": "feed_forward.w3",
    "mlp.down_proj": "feed_forward.w2", "input_layernorm": "attention_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip
"""Patterns of the names of transformers and their replacements in checkpoints, in order."""


def language_model(config: dict[str, Any]) -> Any:
    """The language model of an llm_config."""
    model = transformer("LlamaForCausalLM", config | {"attention_bias": config.get("bias", True)})
    for at, layer in enumerate(model.model.layers):
        layer.self_attn = _FusedAttention(model.config, at)
    return model


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
