"""Random weights of a small Sa2VA: every tensor a picture needs, by name and shape."""

import math

import torch

from model import SEPARATE, head_width, names
from sam2 import DECODER, PROMPT, S, TRUNK, block_plan

# Short names of the linear layers that adapters are put on, in the order of the forward pass.
LLAMA_LAYERS = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
LORA_LAYERS = dict.fromkeys(SEPARATE, LLAMA_LAYERS) | {
    "InternLM2ForCausalLM": {
        "wqkv": "attention.wqkv",
        "wo": "attention.wo",
        "w1": "feed_forward.w1",
        "w3": "feed_forward.w3",
        "w2": "feed_forward.w2",
    },
    "Phi3ForCausalLM": {
        "qkv": "self_attn.qkv_proj",
        "o": "self_attn.o_proj",
        "gate_up": "mlp.gate_up_proj",
        "down": "mlp.down_proj",
    },
}


def lora_layers(config, targets):
    """Paths below a block; `targets` are short names, or "all"."""
    known = LORA_LAYERS[config["llm_config"]["architectures"][0]]
    return [known[t] for t in (known if targets == "all" else targets.split())]


class Maker:
    def __init__(self, seed):
        self.random = torch.Generator().manual_seed(seed)
        self.tensors = {}

    def normal(self, name, *shape, std=1.0, mean=0.0):
        self.tensors[name] = torch.randn(*shape, generator=self.random) * std + mean

    def linear(self, name, out, size, bias=True, gain=1.0):
        self.normal(name + ".weight", out, size, std=gain / math.sqrt(size))
        if bias:
            self.normal(name + ".bias", out, std=0.1)

    def conv(self, name, *shape, transposed=False):
        fan = shape[0] if transposed else math.prod(shape[1:])
        self.normal(name + ".weight", *shape, std=1 / math.sqrt(fan))
        self.normal(name + ".bias", shape[1 if transposed else 0], std=0.1)

    def norm(self, name, size, bias=True):
        self.normal(name + ".weight", size, std=0.1, mean=1.0)
        if bias:
            self.normal(name + ".bias", size, std=0.1)

    def mlp(self, name, *sizes):
        for i, (size, out) in enumerate(zip(sizes, sizes[1:])):
            self.linear(f"{name}.layers.{i}", out, size, gain=1.4)


def vision(m, c):
    size, inner, p = c["hidden_size"], c["intermediate_size"], "vision_model."
    bias = c["norm_type"] == "layer_norm"
    count = (c["image_size"] // c["patch_size"]) ** 2 + 1
    m.normal(p + "embeddings.class_embedding", 1, 1, size, std=0.5)
    m.normal(p + "embeddings.position_embedding", 1, count, size, std=0.3)
    m.conv(p + "embeddings.patch_embedding", size, 3, c["patch_size"], c["patch_size"])
    for i in range(c["num_hidden_layers"]):
        b = f"{p}encoder.layers.{i}."
        for n in "12":
            m.norm(b + "norm" + n, size, bias)
            m.normal(b + "ls" + n, size, std=0.2, mean=0.6)
        m.linear(b + "attn.qkv", 3 * size, size, c["qkv_bias"], 1.5)
        if c["qk_normalization"]:
            m.norm(b + "attn.q_norm", size, False)
            m.norm(b + "attn.k_norm", size, False)
        m.linear(b + "attn.proj", size, size)
        m.linear(b + "mlp.fc1", inner, size)
        m.linear(b + "mlp.fc2", size, inner)


def language(m, config):
    c, family, called = config["llm_config"], config["llm_config"]["architectures"][0], names(config)
    size, inner, p = c["hidden_size"], c["intermediate_size"], "language_model."
    width = head_width(c)
    wide, narrow = width * c["num_attention_heads"], width * c["num_key_value_heads"]
    bias = c.get("bias", False)
    m.normal(f"{p}{called['embed']}.weight", c["vocab_size"], size)
    if not c["tie_word_embeddings"]:
        m.normal(f"{p}{called['head']}.weight", c["vocab_size"], size, std=1 / math.sqrt(size))
    m.norm(p + "model.norm", size, False)
    for i in range(c["num_hidden_layers"]):
        b = f"{p}model.layers.{i}."
        for norm in called["norms"]:
            m.norm(b + norm, size, False)
        if family == "InternLM2ForCausalLM":
            m.linear(b + "attention.wqkv", wide + 2 * narrow, size, bias, 1.5)
            m.linear(b + "attention.wo", size, wide, bias)
            for name, shape in (("w1", (inner, size)), ("w3", (inner, size)), ("w2", (size, inner))):
                m.linear(b + "feed_forward." + name, *shape, False)
        elif family == "Phi3ForCausalLM":
            m.linear(b + "self_attn.qkv_proj", wide + 2 * narrow, size, False, 1.5)
            m.linear(b + "self_attn.o_proj", size, wide, False)
            m.linear(b + "mlp.gate_up_proj", 2 * inner, size, False)
            m.linear(b + "mlp.down_proj", size, inner, False)
        else:
            attention = c.get("attention_bias", family == "Qwen2ForCausalLM")
            behind, inside = c.get("attention_bias", False), c.get("mlp_bias", False)
            m.linear(b + "self_attn.q_proj", wide, size, attention, 1.5)
            m.linear(b + "self_attn.k_proj", narrow, size, attention, 1.5)
            m.linear(b + "self_attn.v_proj", narrow, size, attention)
            m.linear(b + "self_attn.o_proj", size, wide, behind)
            m.linear(b + "mlp.gate_proj", inner, size, inside)
            m.linear(b + "mlp.up_proj", inner, size, inside)
            m.linear(b + "mlp.down_proj", size, inner, inside)
            if family == "Qwen3ForCausalLM":
                for norm in "qk":
                    m.norm(f"{b}self_attn.{norm}_norm", width, False)


def trunk(m, c):
    width = c["embed_dim"]
    m.conv(TRUNK + "patch_embed.proj", width, 3, 7, 7)
    m.normal(TRUNK + "pos_embed", 1, width, *c["window_pos_embed_bkg_spatial_size"], std=0.3)
    m.normal(TRUNK + "pos_embed_window", 1, width, c["window_spec"][0], c["window_spec"][0], std=0.3)
    for i, (_, pools, _) in enumerate(block_plan(c)):
        b, out = f"{TRUNK}blocks.{i}.", width * 2 if pools else width
        m.norm(b + "norm1", width)
        m.linear(b + "attn.qkv", 3 * out, width, gain=1.5)
        m.linear(b + "attn.proj", out, out)
        m.norm(b + "norm2", out)
        m.linear(b + "mlp.layers.0", 4 * out, out)
        m.linear(b + "mlp.layers.1", out, 4 * out)
        if pools:
            m.linear(b + "proj", out, width)
        width = out


def decoder(m, c):
    size, half, inner = c["hidden_dim"], c["hidden_dim"] // 2, c["mask_in_chans"]
    for i in range(4):
        m.conv(f"{S}image_encoder.neck.convs.{i}.conv", size, c["embed_dim"] * 2 ** (3 - i), 1, 1)
        m.normal(f"{PROMPT}point_embeddings.{i}.weight", 1, size)
    m.normal(S + "no_mem_embed", 1, 1, size, std=0.3)
    m.normal(PROMPT + "pe_layer.positional_encoding_gaussian_matrix", 2, half)
    m.normal(PROMPT + "not_a_point_embed.weight", 1, size)
    m.normal(PROMPT + "no_mask_embed.weight", 1, size, std=0.3)
    m.conv(PROMPT + "mask_downscaling.0", inner // 4, 1, 2, 2)
    m.norm(PROMPT + "mask_downscaling.1", inner // 4)
    m.conv(PROMPT + "mask_downscaling.3", inner, inner // 4, 2, 2)
    m.norm(PROMPT + "mask_downscaling.4", inner)
    m.conv(PROMPT + "mask_downscaling.6", size, inner, 1, 1)
    for name, count in (("obj_score_token", 1), ("iou_token", 1), ("mask_tokens", 4)):
        m.normal(f"{DECODER}{name}.weight", count, size)

    def attention(name, width):
        for part in "qkv":
            m.linear(f"{name}.{part}_proj", width, size, gain=1.3)
        m.linear(name + ".out_proj", size, width)

    for i in range(c["decoder_depth"]):
        b = f"{DECODER}transformer.layers.{i}."
        attention(b + "self_attn", size)
        attention(b + "cross_attn_token_to_image", half)
        attention(b + "cross_attn_image_to_token", half)
        m.mlp(b + "mlp", size, c["decoder_mlp_dim"], size)
        for n in "1234":
            m.norm(b + "norm" + n, size)
    attention(DECODER + "transformer.final_attn_token_to_image", half)
    m.norm(DECODER + "transformer.norm_final_attn", size)
    m.conv(DECODER + "output_upscaling.0", size, size // 4, 2, 2, transposed=True)
    m.norm(DECODER + "output_upscaling.1", size // 4)
    m.conv(DECODER + "output_upscaling.3", size // 4, size // 8, 2, 2, transposed=True)
    m.conv(DECODER + "conv_s0", size // 8, size, 1, 1)
    m.conv(DECODER + "conv_s1", size // 4, size, 1, 1)
    for k in range(4):
        m.mlp(f"{DECODER}output_hypernetworks_mlps.{k}", size, size, size, size // 8)
    m.mlp(DECODER + "iou_prediction_head", size, c["iou_head_hidden_dim"], c["iou_head_hidden_dim"], 4)
    m.mlp(DECODER + "pred_obj_score_head", size, size, size, 1)
    # Of the video parts only what the golden arrays need, and a few small ones that a loader has to skip.
    m.mlp(S + "obj_ptr_proj", size, size, size, size)
    m.normal(S + "no_obj_ptr", 1, size)
    m.normal(S + "maskmem_tpos_enc", c["num_maskmem"], 1, 1, c["mem_dim"])
    m.normal(S + "no_mem_pos_enc", 1, 1, size)
    m.conv(S + "mask_downsample", 1, 1, 4, 4)
    m.norm(S + "memory_attention.norm", size)


def make(config, seed):
    """Tensors by name."""
    m = Maker(seed)
    size, sam = config["llm_config"]["hidden_size"], config["sam2_config"]
    vision(m, config["vision_config"])
    m.norm("mlp1.0", 4 * config["vision_config"]["hidden_size"])
    m.linear("mlp1.1", size, 4 * config["vision_config"]["hidden_size"])
    m.linear("mlp1.3", size, size)
    language(m, config)
    m.linear("text_hidden_fcs.0", size, size)
    m.linear("text_hidden_fcs.2", sam["hidden_dim"], size)
    trunk(m, sam)
    decoder(m, sam)
    return m.tensors


def adapter(config, lora, seed, tensors):
    """Low-rank factors in PEFT's names; unlike fresh ones, B is not zero."""
    m = Maker(seed)
    for i in range(config["llm_config"]["num_hidden_layers"]):
        for layer in lora_layers(config, lora["targets"]):
            path = f"model.layers.{i}.{layer}"
            out, size = tensors[f"language_model.{path}.weight"].shape
            m.normal(f"base_model.model.{path}.lora_A.weight", lora["r"], size, std=1 / math.sqrt(size))
            m.normal(f"base_model.model.{path}.lora_B.weight", out, lora["r"], std=0.1)
    return m.tensors
