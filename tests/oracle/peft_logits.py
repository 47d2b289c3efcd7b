"""Logits of a checkpoint's language model with an adapter that the real PEFT loads or makes.

  peft_logits.py load CHECKPOINT ADAPTER IDS       loads ADAPTER onto the language model
  peft_logits.py make CHECKPOINT ADAPTER IDS RANK  makes a random adapter and saves it as ADAPTER
  peft_logits.py plain CHECKPOINT - IDS            the language model alone

IDS is a JSON list. Prints one JSON object: logits [T][V], and the adapter's scaling.
"""
import json
import os
import sys

# Pictures are not needed; a build of torchvision that does not fit torch must not matter.
sys.modules["torchvision"] = None

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors import safe_open
import transformers

SEPARATE = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TARGETS = dict.fromkeys(("Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM"), SEPARATE)
TARGETS["Phi3ForCausalLM"] = ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]


def qwen_vl(fields):
    """Qwen-VL as a whole, which Sa2VA wraps as `model`, and the layers that adapters change."""
    name = {"qwen3_vl": "Qwen3VL", "qwen2_5_vl": "Qwen2_5_VL"}[fields["vision_config"]["model_type"]]
    parts = {part: dict(fields[part]) for part in ("text_config", "vision_config")}
    config = getattr(transformers, f"{name}Config")(**parts, tie_word_embeddings=False)
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
    return model, r"model\.language_model\..*\.(" + "|".join(SEPARATE) + ")"


def language_model(folder):
    with open(os.path.join(folder, "config.json")) as file:
        fields = json.load(file)
    if "text_config" in fields:
        model, targets = qwen_vl(fields)
        load(model, folder, "model.")
        return model, targets
    fields = fields["llm_config"]
    family = fields["architectures"][0]
    targets = TARGETS[family]
    config_class = getattr(transformers, family.replace("ForCausalLM", "Config"))
    model_class = getattr(transformers, family)
    known = {key: value for key, value in fields.items() if key not in ("architectures", "rope_scaling")}
    if fields.get("rope_scaling"):
        # Transformers 5 looks for the length beside the factors, 4 refuses it there.
        beside = ("original_max_position_embeddings",) if int(transformers.__version__.split(".")[0]) >= 5 else ()
        known["rope_scaling"] = fields["rope_scaling"] | {key: fields[key] for key in beside if key in fields}
    model = model_class(config_class(**known)).eval()
    load(model, folder, "language_model.")
    return model, targets


def load(model, folder, prefix):
    state = {}
    for name in sorted(os.listdir(folder)):
        if not (name.startswith("model") and name.endswith(".safetensors")):
            continue
        with safe_open(os.path.join(folder, name), "pt") as file:
            for key in file.keys():
                if key.startswith(prefix):
                    state[key[len(prefix):]] = file.get_tensor(key).float()
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected, unexpected
    assert all("lm_head" in key for key in missing), missing


def main():
    mode, checkpoint, adapter, ids = sys.argv[1:5]
    torch.manual_seed(7)
    model, targets = language_model(checkpoint)
    scaling = None
    if mode == "load":
        model = PeftModel.from_pretrained(model, adapter).eval()
    elif mode == "make":
        rank = int(sys.argv[5])
        model = get_peft_model(
            model,
            LoraConfig(r=rank, lora_alpha=3 * rank, target_modules=targets, task_type="CAUSAL_LM", init_lora_weights=False),
        ).eval()
        model.save_pretrained(adapter)
    if mode != "plain":
        layer = next(module for module in model.modules() if hasattr(module, "scaling") and isinstance(module.scaling, dict))
        scaling = layer.scaling["default"]
        count = sum(1 for name, _ in model.named_parameters() if ".lora_A." in name)
        assert count > 0
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([json.loads(ids)])).logits[0]
    print(json.dumps({"logits": logits.tolist(), "scaling": scaling}))


if __name__ == "__main__":
    main()
