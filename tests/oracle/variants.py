"""Sizes and forms of the generated golden folders; what a variant does not name is the base's."""

BASE = {
    "family": "qwen2",
    "tokenizer": "qwen",
    "template": "qwen_chat",
    "image": (168, 88),
    "force_image_size": 112,
    "min_dynamic_patch": 1,
    "max_dynamic_patch": 4,
    "use_thumbnail": True,
    "ps_version": "v2",
    "select_layer": -1,
    "vision": {
        "patch_size": 14,
        "image_size": 112,
        "hidden_size": 32,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "qkv_bias": True,
        "qk_normalization": False,
        "norm_type": "layer_norm",
        "layer_norm_eps": 1e-6,
    },
    "llm": {
        "hidden_size": 48,
        "intermediate_size": 80,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1e6,
    },
    "sam2": {
        "image_size": 128,
        "embed_dim": 8,
        "num_heads": 2,
        "stages": [1, 2, 3, 1],
        "global_att_blocks": [4],
        "window_spec": [8, 4, 4, 2],
        "window_pos_embed_bkg_spatial_size": [7, 7],
        "hidden_dim": 32,
        "mem_dim": 8,
        "decoder_depth": 2,
        "decoder_num_heads": 8,
        "decoder_mlp_dim": 64,
        "iou_head_hidden_dim": 32,
        "mask_in_chans": 16,
        "num_maskmem": 7,
        "memory_num_layers": 2,
        "memory_ff_dim": 64,
    },
    "lora": {"r": 4, "alpha": 8, "targets": "all"},
    "regions": 1,
    "segs": 1,
    "greedy_segs": 1,
    "greedy_cut": False,
    "group": 3,
    "completion": (5, 10),
    "points": 64,
    "clip": 0.2,
    "beta": 0.04,
    "store": "plain",
    "phrase": "the red circle",
    "update": {"lr": 1e-3, "weight_decay": 0.05, "max_grad_norm": 1.0, "ema_decay": 0.999},
}

VARIANTS = {
    "plain": {},
    # One tile and so no thumbnail; as many key heads as query heads; one layer.
    "one-tile": {
        "image": (101, 97),
        "llm": {"num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 1},
        "vision": {"num_hidden_layers": 1},
        "lora": {"r": 2, "alpha": 16, "targets": "q v"},
        "group": 2,
        "completion": (1, 4),
    },
    # Three tiles in a row, one key head, the inner state of the tower, the transposed shuffle.
    "three-wide": {
        "image": (311, 103),
        "ps_version": "v1",
        "select_layer": -2,
        "llm": {"num_attention_heads": 4, "num_key_value_heads": 1, "num_hidden_layers": 3, "hidden_size": 32},
        "vision": {"num_hidden_layers": 3},
        "lora": {"r": 8, "alpha": 4, "targets": "all"},
        "group": 5,
        "completion": (3, 14),
    },
    # Four tiles, a tall picture of odd size, two regions and two masks.
    "two-by-two": {
        "image": (211, 227),
        "regions": 2,
        "segs": 2,
        "greedy_segs": 2,
        "llm": {"num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 64, "intermediate_size": 96},
        "group": 4,
    },
    # The tower of the large model: RMS norms, normalised queries and keys, no bias.
    "rms-tower": {
        "image": (87, 165),
        "vision": {
            "norm_type": "rms_norm",
            "qk_normalization": True,
            "qkv_bias": False,
            "hidden_size": 48,
            "num_attention_heads": 3,
        },
        "llm": {"num_attention_heads": 6, "num_key_value_heads": 3, "rms_norm_eps": 1e-5, "rope_theta": 1e4},
        "store": "sharded",
    },
    # SAM2 whose windows need padding, with other stages, global blocks and decoder depth.
    "sam-padding": {
        "image": (133, 71),
        "sam2": {
            "image_size": 160,
            "embed_dim": 12,
            "stages": [2, 1, 2, 2],
            "global_att_blocks": [3, 6],
            "window_spec": [8, 6, 4, 4],
            "decoder_depth": 3,
        },
    },
    "sam-192": {
        "image": (90, 150),
        "sam2": {
            "image_size": 192,
            "embed_dim": 16,
            "num_heads": 1,
            "stages": [1, 1, 2, 1],
            "global_att_blocks": [],
            "window_spec": [4, 8, 7, 5],
            "window_pos_embed_bkg_spatial_size": [5, 5],
            "hidden_dim": 64,
            "decoder_depth": 1,
            "decoder_num_heads": 4,
            "decoder_mlp_dim": 48,
            "iou_head_hidden_dim": 24,
            "mask_in_chans": 8,
        },
        "points": 112,
        "update": {"lr": 3e-4, "weight_decay": 0.0, "max_grad_norm": 100.0, "ema_decay": 0.99},
    },
    # A tower in BF16 and some tensors in F16.
    "mixed-types": {"image": (190, 92), "store": "mixed", "clip": 0.1, "beta": 0.0},
    "mixed-shards": {"image": (111, 60), "store": "mixed-sharded", "regions": 3, "segs": 3, "greedy_segs": 2},
    # The Phi-3 words on this tokenizer: they are plain text and the answer ends with a decoded suffix.
    "phi3-template": {"image": (150, 90), "template": "phi3_chat"},
    "phi3-two": {"image": (64, 190), "template": "phi3-chat", "regions": 2, "segs": 2, "greedy_segs": 1, "group": 2},
    # Tiles smaller than the position table was made for, a grid that is no power of two, no thumbnail.
    "small-tiles": {
        "image": (173, 90),
        "force_image_size": 84,
        "use_thumbnail": False,
        "max_dynamic_patch": 6,
        "regions": 2,
    },
    "no-dynamic": {"image": (173, 90), "dynamic_image_size": False, "force_image_size": 140},
    # [SEG] ends the answer at the length limit, so it has no state and no mask.
    "cut-answer": {"image": (168, 120), "max_dynamic_patch": 12, "greedy_cut": True, "greedy_segs": 2, "group": 2},
    "many-tiles": {
        "image": (180, 121),
        "force_image_size": 56,
        "max_dynamic_patch": 12,
        "vision": {"image_size": 56, "hidden_size": 24, "num_attention_heads": 2},
        "phrase": "Größe: 3 cups, l'e\u0301te\u0301 東京 🙂",
        "extra_case": True,
        "vocabulary": 344,
    },
    # Slow tokenizer files only, as published folders of the Qwen family may have them.
    "slow-files": {"image": (120, 80), "tokenizer": "qwen-files", "llm": {"num_attention_heads": 12, "num_key_value_heads": 2}},
    "internlm2": {
        "family": "internlm2",
        "tokenizer": "bytes-bos",
        "template": "internlm2_chat",
        "llm": {"rms_norm_eps": 1e-5, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    },
    # A bias in the attention, one key head per query head, a sequence that the rotary base has to grow for. Completions
    # are of one length, because the base goes by the longest of a batch.
    "internlm2-long": {
        "family": "internlm2",
        "tokenizer": "pieces-internlm",
        "template": "internlm2-chat",
        "image": (90, 170),
        "llm": {
            "bias": True,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "max_position_embeddings": 60,
            "rope_scaling": {"type": "dynamic", "factor": 3.0},
        },
        "regions": 2,
        "segs": 2,
        "greedy_segs": 2,
        "completion": (6, 7),
        "store": "mixed-sharded",
    },
    "internlm2-unigram": {
        "family": "internlm2",
        "tokenizer": "pieces-unigram",
        "template": "internlm2_chat",
        "image": (101, 97),
        "llm": {"num_attention_heads": 8, "num_key_value_heads": 1, "hidden_size": 64},
    },
    "phi3": {
        "family": "phi3",
        "tokenizer": "pieces-phi",
        "template": "phi3_chat",
        "llm": {
            "num_key_value_heads": 6,
            "rms_norm_eps": 1e-5,
            "rope_theta": 1e4,
            "original_max_position_embeddings": 512,
            "rope_scaling": {"type": "su", "short_factor": [1.0, 1.1, 1.3, 2.0], "long_factor": [1.0, 2.5, 4.0, 8.0]},
        },
    },
    # The divisors for long sequences, grouped heads, an attention that looks back 50 tokens, an uneven width.
    "phi3-long": {
        "family": "phi3",
        "tokenizer": "pieces-phi",
        "template": "phi3_chat",
        "image": (211, 113),
        "llm": {
            "num_key_value_heads": 2,
            "rope_theta": 1e4,
            "sliding_window": 50,
            "original_max_position_embeddings": 32,
            "rope_scaling": {"type": "yarn", "short_factor": [1.0, 1.1, 1.3, 2.0], "long_factor": [1.0, 2.5, 4.0, 8.0]},
        },
        "lora": {"r": 3, "alpha": 5, "targets": "qkv gate_up"},
        "regions": 3,
        "segs": 2,
        "greedy_segs": 3,
        "store": "mixed",
    },
    # The newer name of the scaling, on a byte-level tokenizer that has none of the template's words.
    "phi3-qwen-words": {
        "family": "phi3",
        "template": "phi3_chat",
        "image": (97, 55),
        "llm": {
            "original_max_position_embeddings": 1024,
            "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.2, 1.4, 1.6], "long_factor": [2.0, 3.0, 4.0, 8.0]},
        },
    },
    # Heads wider than the hidden size divided among them, each normed before the rotation.
    "qwen3": {
        "family": "qwen3",
        "llm": {"head_dim": 16, "num_key_value_heads": 3, "attention_bias": False},
        "regions": 2,
        "segs": 2,
        "greedy_segs": 3,
        "store": "mixed",
    },
    # Waves of Llama 3, biases everywhere, a template whose words are plain text here.
    "llama": {
        "family": "llama",
        "tokenizer": "bytes-bos",
        "template": "llama3_chat",
        "image": (150, 90),
        "llm": {
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "attention_bias": True,
            "mlp_bias": True,
            "rope_theta": 5e5,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 256,
            },
        },
        "lora": {"r": 4, "alpha": 6, "targets": "all"},
    },
    # As small as its form allows, to be kept as a fixture.
    "fixture": {
        "image": (59, 33),
        "short": True,
        "force_image_size": 56,
        "max_dynamic_patch": 2,
        "ps_version": "v1",
        "select_layer": -2,
        "vision": {
            "image_size": 28,
            "hidden_size": 12,
            "num_attention_heads": 3,
            "intermediate_size": 20,
            "norm_type": "rms_norm",
            "qk_normalization": True,
            "qkv_bias": False,
        },
        "llm": {
            "hidden_size": 24,
            "intermediate_size": 20,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
        },
        "sam2": {
            "image_size": 64,
            "embed_dim": 4,
            "num_heads": 1,
            "stages": [1, 1, 1, 1],
            "global_att_blocks": [3],
            "window_spec": [4, 6, 3, 2],
            "window_pos_embed_bkg_spatial_size": [3, 3],
            "hidden_dim": 16,
            "mem_dim": 4,
            "decoder_num_heads": 2,
            "decoder_mlp_dim": 16,
            "iou_head_hidden_dim": 12,
            "mask_in_chans": 4,
            "num_maskmem": 2,
        },
        "lora": {"r": 2, "alpha": 6, "targets": "q v down"},
        "regions": 2,
        "segs": 2,
        "greedy_segs": 2,
        "group": 2,
        "completion": (2, 5),
        "points": 16,
        "store": "mixed-sharded",
    },
}


_SMALL = VARIANTS["fixture"]
VARIANTS["fixture-internlm2"] = _SMALL | {
    "family": "internlm2",
    "tokenizer": "pieces-internlm",
    "template": "internlm2_chat",
    "store": "mixed",
    "vision": _SMALL["vision"] | {"norm_type": "layer_norm", "qk_normalization": False, "qkv_bias": True},
    "llm": _SMALL["llm"]
    | {"num_key_value_heads": 2, "rms_norm_eps": 1e-5, "bias": True, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "lora": {"r": 2, "alpha": 6, "targets": "wqkv w1 w2"},
}
VARIANTS["fixture-phi3"] = _SMALL | {
    "family": "phi3",
    "tokenizer": "pieces-phi",
    "template": "phi3_chat",
    "ps_version": "v2",
    "llm": _SMALL["llm"]
    | {
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-5,
        "rope_theta": 1e4,
        "sliding_window": 40,
        "original_max_position_embeddings": 16,
        "rope_scaling": {"type": "su", "short_factor": [1.0, 1.2, 1.5], "long_factor": [1.5, 3.0, 6.0]},
    },
    "lora": {"r": 2, "alpha": 6, "targets": "qkv gate_up"},
}


def settings(name):
    """The whole description of a variant."""
    chosen = {k: dict(v) if isinstance(v, dict) else v for k, v in BASE.items()}
    for key, value in VARIANTS[name].items():
        if isinstance(value, dict):
            chosen[key] |= value
        else:
            chosen[key] = value
    return chosen
