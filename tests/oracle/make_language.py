"""
python make_language.py --case NAME --seed S --out FILE: a tiny language model of transformers' own class with random
weights, and what transformers and PEFT compute with it: logits, greedy ids, gradients of the low-rank factors.
"""

import argparse
import json
import sys

# Pictures are not needed; a build of torchvision that does not fit torch must not matter.
sys.modules.setdefault("torchvision", None)

import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file

SIZES = {
    "vocab_size": 40,
    "hidden_size": 24,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
WAVES = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
CASES = {
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "qwen3-tied": ("Qwen3", {"head_dim": 8, "tie_word_embeddings": True, "attention_bias": True}),
    "llama": ("Llama", {"rms_norm_eps": 1e-5, "attention_bias": True, "mlp_bias": True}),
    "llama3": (
        "Llama",
        {
            "head_dim": 16,
            "tie_word_embeddings": True,
            "rope_theta": 5e5,
            "rope_scaling": WAVES | {"original_max_position_embeddings": 48},
        },
    ),
    "qwen2": ("Qwen2", {}),
    "qwen3-yarn": ("Qwen3", {"head_dim": 32, "rope_scaling": YARN}),
    "llama-yarn": (
        "Llama",
        {"head_dim": 16, "rope_theta": 5e5, "rope_scaling": YARN | {"factor": 7.0, "beta_fast": 6.0, "attention_factor": 1.2}},
    ),
}
PROMPT, NEW = 11, 9
RANK, ALPHA = 2, 3


def model_of(case, seed):
    """Module and settings; every weight is random, norms and biases too, so that none can be left out unseen."""
    kind, changes = CASES[case]
    settings = getattr(transformers, kind + "Config")(**SIZES, **changes, attn_implementation="eager")
    made = getattr(transformers, kind + "ForCausalLM")(settings).float().eval()
    random = torch.Generator().manual_seed(seed)
    for name, weight in made.named_parameters():
        noise = torch.randn(weight.shape, generator=random)
        weight.data = 1 + 0.2 * noise if "norm" in name else 0.3 * noise
    made.tie_weights()
    return made, kind, settings


def main(case, seed, out):
    made, kind, settings = model_of(case, seed)
    random = torch.Generator().manual_seed(seed + 1)
    stored = {"weight.language_model." + n: w.data.clone() for n, w in made.named_parameters()}
    prompt = torch.randn(1, PROMPT, settings.hidden_size, generator=random)
    with torch.no_grad():
        greedy = made.generate(inputs_embeds=prompt, max_new_tokens=NEW, do_sample=False, eos_token_id=None, pad_token_id=0)
    layers = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()
    lora = LoraConfig(r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=layers, task_type="CAUSAL_LM")
    tuned = get_peft_model(made, lora).eval()
    for name, weight in tuned.named_parameters():
        if "lora_" in name:
            weight.data = 0.3 * torch.randn(weight.shape, generator=random)
    ids = torch.randint(settings.vocab_size, (NEW,), generator=random)
    embedded = torch.cat([prompt, made.get_input_embeddings()(ids)[None]], 1).detach()
    logits = tuned(inputs_embeds=embedded, use_cache=False).logits[0]
    loss = -logits.log_softmax(-1)[PROMPT - 1 : -1].gather(1, ids[:, None]).mean()
    loss.backward()
    for name, weight in tuned.named_parameters():
        if "lora_" not in name:
            continue
        path = name.replace("base_model.model.", "language_model.").replace(".default.", ".")
        stored["lora." + path] = weight.data.clone()
        stored["grad." + path] = weight.grad.clone()
    stored |= {"prompt": prompt[0], "logits": logits.detach(), "ids": ids.int(), "greedy": greedy[0].int()}
    fields = json.loads(settings.to_json_string(use_diff=True)) | {"architectures": [kind + "ForCausalLM"]}
    facts = {"config": json.dumps(fields), "scale": str(ALPHA / RANK), "loss": repr(loss.item())}
    save_file({n: t.contiguous() for n, t in stored.items()}, out, facts | {"transformers": transformers.__version__})


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", required=True, choices=CASES)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    main(given.case, given.seed, given.out)
