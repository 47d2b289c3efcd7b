"""A tiny Sa2VA on Qwen-VL with random weights, under the published names."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from sa2va_lab.model import Sa2va

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "sa2va-tiny-qwen2"
_TEXT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
         "rope_theta": 1e6}  # fmt: skip
_VISION = {"temporal_patch_size": 2, "spatial_merge_size": 2, "depth": 2, "hidden_size": 32, "num_heads": 2,
           "intermediate_size": 40, "out_hidden_size": 32}  # fmt: skip
_KINDS: dict[str, dict[str, Any]] = {
    "qwen3_vl": {"hidden_act": "gelu_pytorch_tanh", "patch_size": 16, "num_position_embeddings": 36,
                 "deepstack_visual_indexes": [0, 1]},
    "qwen2_5_vl": {"hidden_act": "silu", "patch_size": 14, "window_size": 112, "fullatt_block_indexes": [1]},
}  # fmt: skip
_VISUAL = {"<IMG_CONTEXT>": "<|image_pad|>", "<img>": "<|vision_start|>", "</img>": "<|vision_end|>"}


def tiny_config(kind: str) -> dict[str, Any]:
    """config.json in the published layout."""
    golden = json.loads((GOLDEN / "config.json").read_text())
    rope = {"mrope_section": [2, 1, 1], "mrope_interleaved": kind == "qwen3_vl", "rope_type": "default"}
    text = _TEXT | {"model_type": f"{kind}_text", "vocab_size": golden["llm_config"]["vocab_size"]}
    return {
        "architectures": ["Sa2VAChatModelQwen"], "model_type": "sa2va_chat", "template": "qwen_chat",
        "tie_word_embeddings": False, "text_config": text | {"rope_scaling": rope},
        "vision_config": {"model_type": kind} | _VISION | _KINDS[kind], "sam2_config": golden["sam2_config"],
    }  # fmt: skip


def tiny_qwen(folder: Path, kind: str) -> Path:
    """Writes a model folder."""
    folder.mkdir()
    config = tiny_config(kind)
    (folder / "config.json").write_text(json.dumps(config))
    torch.manual_seed(5)
    model = Sa2va(config)
    values = {
        **dict(model.named_parameters()),
        **dict(model.grounding_encoder.named_buffers(prefix="grounding_encoder")),
    }
    written: dict[str, torch.Tensor] = {}
    for name, value in values.items():
        value.data.normal_(std=0.2)
        known = model.published(name)
        written[known] = value.detach().clone().contiguous()
    save_file(written, folder / "model.safetensors", metadata={"format": "pt"})
    for name in ("tokenizer.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"):
        if (GOLDEN / name).exists():
            text = (GOLDEN / name).read_text()
            for own, other in _VISUAL.items():
                text = text.replace(json.dumps(own), json.dumps(other))
            (folder / name).write_text(text)
    return folder


__all__ = ["shutil", "tiny_config", "tiny_qwen"]
