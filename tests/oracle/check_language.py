"""
python check_language.py: this folder's language models against the modules of transformers, and adapters against PEFT.

Qwen2, Qwen3, Llama and Phi-3 are compared with their own classes. InternLM2 has none there: its fused rows are taken apart and given to the Qwen2
class, whose arithmetic is the same.
"""

import sys

# Picture extras are not needed here, and a build of them that does not match PyTorch must not get in the way.
sys.modules.setdefault("torchvision", None)

import torch
from peft import LoraConfig, get_peft_model
import transformers

import model
import weights

SIZES = {
    "vocab_size": 61,
    "hidden_size": 48,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1e4,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
}
FACTORS = {"short_factor": [1.0, 1.1, 1.3, 2.0], "long_factor": [1.0, 2.5, 4.0, 8.0]}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 200,
}
LENGTH = 23
CASES = {
    "qwen2": ("Qwen2ForCausalLM", {}),
    "qwen2 tied": ("Qwen2ForCausalLM", {"tie_word_embeddings": True, "num_key_value_heads": 6}),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 12, "tie_word_embeddings": True}),
    "qwen3 bias": ("Qwen3ForCausalLM", {"head_dim": 8, "attention_bias": True, "num_key_value_heads": 6}),
    "llama": ("LlamaForCausalLM", {"tie_word_embeddings": True}),
    "llama bias": ("LlamaForCausalLM", {"head_dim": 10, "attention_bias": True, "mlp_bias": True}),
    "llama3 waves": ("LlamaForCausalLM", {"rope_scaling": LLAMA3, "head_dim": 16}),
    "linear positions": ("LlamaForCausalLM", {"rope_scaling": {"rope_type": "linear", "factor": 2.5}}),
    "internlm2": ("InternLM2ForCausalLM", {}),
    "internlm2 grown base": (
        "InternLM2ForCausalLM",
        {"max_position_embeddings": 16, "rope_scaling": {"type": "dynamic", "factor": 3.0}},
    ),
    "phi3": ("Phi3ForCausalLM", {}),
    "phi3 window": ("Phi3ForCausalLM", {"sliding_window": 7, "num_key_value_heads": 6}),
    "phi3 short": (
        "Phi3ForCausalLM",
        {"original_max_position_embeddings": 64, "rope_scaling": {"type": "longrope", **FACTORS}},
    ),
    "phi3 long": (
        "Phi3ForCausalLM",
        {"original_max_position_embeddings": 16, "rope_scaling": {"type": "longrope", **FACTORS}},
    ),
}


def taken_apart(tensors, c):
    """InternLM2's tensors under Qwen2's names: fused rows separated, biases zero."""
    groups = c["num_key_value_heads"]
    shared, d = c["num_attention_heads"] // groups, c["hidden_size"] // c["num_attention_heads"]
    renamed = {"tok_embeddings": "embed_tokens", "attention_norm": "input_layernorm", "attention.wo": "self_attn.o_proj"}
    renamed |= {"ffn_norm": "post_attention_layernorm", "feed_forward.w1": "mlp.gate_proj"}
    renamed |= {"feed_forward.w2": "mlp.down_proj", "feed_forward.w3": "mlp.up_proj", "output.": "lm_head."}
    out = {}
    for name, tensor in tensors.items():
        if "wqkv" in name:
            rows = tensor.reshape(groups, shared + 2, d, -1)
            parts = rows[:, :shared], rows[:, shared], rows[:, shared + 1]
            for part, value in zip("qkv", parts, strict=True):
                path = name.replace("attention.wqkv.weight", f"self_attn.{part}_proj")
                out[path + ".weight"] = value.reshape(-1, tensor.shape[1])
                out[path + ".bias"] = torch.zeros(out[path + ".weight"].shape[0])
            continue
        for old, new in renamed.items():
            name = name.replace(old, new)
        out[name] = tensor
    return out


def original(family, c, tensors):
    """The module of transformers with these weights."""
    fields = {k: v for k, v in c.items() if k not in ("architectures", "bias")}
    fields |= {"pad_token_id": 0, "attn_implementation": "eager"}
    name = "Qwen2ForCausalLM" if family == "InternLM2ForCausalLM" else family
    settings = getattr(transformers, name.replace("ForCausalLM", "Config"))
    made = getattr(transformers, name)(settings(**fields)).float().eval()
    given = taken_apart(tensors, c) if family == "InternLM2ForCausalLM" else tensors
    missing, unexpected = made.load_state_dict(given, strict=False)
    missing = [name for name in missing if not (c["tie_word_embeddings"] and name == "lm_head.weight")]
    if missing or unexpected:
        raise SystemExit(f"{family}: {missing} {unexpected}")
    return made


@torch.no_grad()
def check(name, family, changes, seed):
    c = {"architectures": [family], "rope_scaling": None, **SIZES, **changes}
    config, m = {"llm_config": c}, weights.Maker(seed)
    weights.language(m, config)
    x = torch.randn(LENGTH, c["hidden_size"], generator=torch.Generator().manual_seed(seed))
    factors = weights.adapter(config, {"r": 3, "targets": "all"}, seed + 1, m.tensors)
    made = original(family, c, {k.removeprefix("language_model."): v for k, v in m.tensors.items()})
    prefix, suffix = "base_model.model.", ".weight"
    ours = model.Adapter({k.removeprefix(prefix).removesuffix(suffix): v for k, v in factors.items()}, 2.0)
    errors = [compare(made, m.tensors, config, x, None)]
    if family != "InternLM2ForCausalLM":
        # The names under which PEFT keeps its factors are those of adapter_model.safetensors with the adapter's name in them.
        targets = [layer.split(".")[-1] for layer in weights.lora_layers(config, "all")]
        tuned = get_peft_model(made, LoraConfig(r=3, lora_alpha=6, target_modules=targets, task_type="CAUSAL_LM"))
        named = {k.replace(".lora_A.", ".lora_A.default.").replace(".lora_B.", ".lora_B.default."): v for k, v in factors.items()}
        expected = {k for k in tuned.state_dict() if "lora_" in k}
        if expected != set(named):
            raise SystemExit(f"{name}: PEFT has {sorted(expected ^ set(named))[:4]}")
        tuned.load_state_dict(named, strict=False)
        errors.append(compare(tuned.eval(), m.tensors, config, x, ours))
    return max(errors)


def compare(made, tensors, config, x, adapter):
    expected = made(inputs_embeds=x[None], use_cache=False).logits[0]
    got = model.head(tensors, config, model.language(tensors, config, x, adapter))
    return float((expected - got).abs().max() / expected.abs().max())


if __name__ == "__main__":
    torch.set_num_threads(1)
    failed = 0
    for index, (name, (family, changes)) in enumerate(CASES.items()):
        error = check(name, family, changes, 40 + index)
        failed += error > 1e-5
        print(f"{'ok  ' if error <= 1e-5 else 'MISS'} {name}: {error:.2e}")
    sys.exit(1 if failed else 0)
