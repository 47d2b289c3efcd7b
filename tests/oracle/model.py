"""InternViT, projector and the language models with low-rank adapters: plain functions over a dictionary of tensors."""

import math

import torch
import torch.nn.functional as F

from rope import frequencies


def dense(w, name, x):
    return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))


def layer_norm(w, name, x, eps):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], eps)


def rms_norm(weight, x, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def softmax_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return scores.softmax(-1) @ v


def vision(w, config, pixels, keep):
    """Hidden states [n, 1 + patches, H]; the selected one, without its class token, is returned."""
    c, p = config["vision_config"], "vision_model."
    heads, eps, size = c["num_attention_heads"], c["layer_norm_eps"], c["hidden_size"]
    x = F.conv2d(
        pixels,
        w[p + "embeddings.patch_embedding.weight"],
        w[p + "embeddings.patch_embedding.bias"],
        stride=c["patch_size"],
    )
    rows, cols = x.shape[2:]
    x = x.flatten(2).transpose(1, 2)
    table, side = w[p + "embeddings.position_embedding"], c["image_size"] // c["patch_size"]
    grid = table[:, 1:].reshape(1, side, side, size).permute(0, 3, 1, 2)
    if (rows, cols) != (side, side):
        grid = F.interpolate(grid, size=(rows, cols), mode="bicubic", align_corners=False)
    table = torch.cat([table[:, :1], grid.flatten(2).transpose(1, 2)], 1)
    x = torch.cat([w[p + "embeddings.class_embedding"].expand(len(x), 1, size), x], 1) + table
    keep("vit.embeddings", x)
    states = [x]

    def norm(name, y):
        if c["norm_type"] == "rms_norm":
            return rms_norm(w[name + ".weight"], y, eps)
        return layer_norm(w, name, y, eps)

    for i in range(c["num_hidden_layers"]):
        b = f"{p}encoder.layers.{i}."
        q, k, v = dense(w, b + "attn.qkv", norm(b + "norm1", x)).chunk(3, -1)
        if c["qk_normalization"]:
            q = rms_norm(w[b + "attn.q_norm.weight"], q, eps)
            k = rms_norm(w[b + "attn.k_norm.weight"], k, eps)
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
        mixed = softmax_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + w[b + "ls1"] * dense(w, b + "attn.proj", mixed)
        y = dense(w, b + "mlp.fc2", F.gelu(dense(w, b + "mlp.fc1", norm(b + "norm2", x))))
        x = x + w[b + "ls2"] * y
        keep(f"vit.layer.{i}", x)
        states.append(x)
    return states[config["select_layer"]][:, 1:]


def pixel_shuffle(x, version):
    """[n, s * s, C] to [n, s * s / 4, 4 C]: four neighbours side by side, read by rows (v2) or by columns (v1)."""
    n, count, channels = x.shape
    side = math.isqrt(count)
    blocks = x.reshape(n, side // 2, 2, side // 2, 2, channels).permute(0, 1, 3, 2, 4, 5)
    if version == "v1":
        blocks = blocks.transpose(1, 2)
    return blocks.reshape(n, count // 4, 4 * channels)


def projector(w, x):
    x = layer_norm(w, "mlp1.0", x, 1e-5)
    return dense(w, "mlp1.3", F.gelu(dense(w, "mlp1.1", x)))


class Adapter:
    """Low-rank factors by the PEFT path of their linear layer; `scale` is alpha / r."""

    def __init__(self, factors, scale):
        self.factors, self.scale = factors, scale

    def add(self, path, x, y):
        a = self.factors.get(path + ".lora_A")
        if a is None:
            return y
        return y + F.linear(F.linear(x, a), self.factors[path + ".lora_B"]) * self.scale


def rotate(x, c, width, start=None):
    """
    Half-split rotary embedding of [heads, T, d] at positions 0..T-1. Rescaling goes by the length at which a position was
    computed: that of the whole, or, from `start` on, its own.
    """
    length = x.shape[-2]
    first = length if start is None else start
    lengths = [first] * first + list(range(first + 1, length + 1))
    tables = {n: frequencies(c, width, n) for n in set(lengths)}
    frequency = torch.stack([tables[n][0] for n in lengths])
    amplitude = torch.tensor([tables[n][1] for n in lengths])[:, None]
    angle = torch.arange(length, dtype=torch.float32)[:, None] * frequency
    cos, sin = angle.cos() * amplitude, angle.sin() * amplitude
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


NAMES = {
    "InternLM2ForCausalLM": {
        "embed": "model.tok_embeddings",
        "head": "output",
        "norms": ("attention_norm", "ffn_norm"),
        "out": "attention.wo",
        "down": "feed_forward.w2",
    },
}
SEPARATE = "Qwen2ForCausalLM", "Qwen3ForCausalLM", "LlamaForCausalLM"
NAMES |= dict.fromkeys((*SEPARATE, "Phi3ForCausalLM"), {
    "embed": "model.embed_tokens",
    "head": "lm_head",
    "norms": ("input_layernorm", "post_attention_layernorm"),
    "out": "self_attn.o_proj",
    "down": "mlp.down_proj",
})


def names(config):
    return NAMES[config["llm_config"]["architectures"][0]]


def queries_keys_values(family, c, linear, b, y, d):
    """[heads, T, d] each, from the family's own projections."""
    heads, groups = c["num_attention_heads"], c["num_key_value_heads"]
    if family == "InternLM2ForCausalLM":
        # For every key head: its query heads one after another, then the key, then the value.
        per = linear(b + "attention.wqkv", y).unflatten(-1, (groups, heads // groups + 2, d))
        q, k, v = per[:, :, :-2].flatten(1, 2), per[:, :, -2], per[:, :, -1]
    elif family == "Phi3ForCausalLM":
        fused = linear(b + "self_attn.qkv_proj", y).unflatten(-1, (-1, d))
        q, k, v = fused.split([heads, groups, groups], 1)
    else:
        q, k, v = (linear(f"{b}self_attn.{n}_proj", y).unflatten(-1, (-1, d)) for n in "qkv")
    return q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)


def gate_and_up(family, linear, b, y):
    if family == "InternLM2ForCausalLM":
        return linear(b + "feed_forward.w1", y), linear(b + "feed_forward.w3", y)
    if family == "Phi3ForCausalLM":
        return linear(b + "mlp.gate_up_proj", y).chunk(2, -1)
    return linear(b + "mlp.gate_proj", y), linear(b + "mlp.up_proj", y)


def unseen(length, window):
    """True where a query (row) must not see a key (column): future keys, and keys before the window."""
    place = torch.arange(length)
    hidden = place[None, :] > place[:, None]
    if window is not None:
        hidden |= place[None, :] <= place[:, None] - window
    return hidden


def head_width(c):
    """Channels of a head; their sum may differ from the hidden size."""
    return c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]


def language(w, config, x, adapter=None, keep=lambda name, value: None, start=None):
    """Normed hidden states [T, D] of embeddings [T, D]."""
    c, family, called = config["llm_config"], config["llm_config"]["architectures"][0], names(config)
    shared, eps = c["num_attention_heads"] // c["num_key_value_heads"], c["rms_norm_eps"]
    width = head_width(c)
    window = c.get("sliding_window") if family == "Phi3ForCausalLM" else None
    mask = unseen(len(x), window)

    def linear(name, y):
        out = dense(w, "language_model." + name, y)
        return out if adapter is None else adapter.add(name, y, out)

    keep("hidden.0", x)
    for i in range(c["num_hidden_layers"]):
        b = f"model.layers.{i}."
        first, second = (w[f"language_model.{b}{n}.weight"] for n in called["norms"])
        q, k, v = queries_keys_values(family, c, linear, b, rms_norm(first, x, eps), width)
        if family == "Qwen3ForCausalLM":
            q, k = (rms_norm(w[f"language_model.{b}self_attn.{n}_norm.weight"], t, eps) for n, t in (("q", q), ("k", k)))
        q, k = rotate(q, c, width, start), rotate(k, c, width, start)
        if i == 0:
            keep("layer0.q_rope", q)
            keep("layer0.k_rope", k)
        k, v = k.repeat_interleave(shared, 0), v.repeat_interleave(shared, 0)
        mixed = softmax_attention(q, k, v, mask).transpose(0, 1).flatten(1)
        x = x + linear(b + called["out"], mixed)
        gate, up = gate_and_up(family, linear, b, rms_norm(second, x, eps))
        x = x + linear(b + called["down"], F.silu(gate) * up)
        if i < c["num_hidden_layers"] - 1:
            keep(f"hidden.{i + 1}", x)
    x = rms_norm(w["language_model.model.norm.weight"], x, eps)
    keep(f"hidden.{c['num_hidden_layers']}", x)
    return x


def head_name(w, config):
    """The tensor that gives the logits: a tied model stores only its embedding."""
    name = f"language_model.{names(config)['head']}.weight"
    return name if name in w else embedding_name(config)


def embedding_name(config):
    return f"language_model.{names(config)['embed']}.weight"


def head(w, config, hidden):
    return hidden @ w[head_name(w, config)].T


def embed(w, config, ids, context, visual, grids):
    """Token embeddings [T, D] with the visual tokens [tiles, n, D] and the regions' copies from the last tile."""
    ids = torch.as_tensor(ids, dtype=torch.long)
    x = w[embedding_name(config)][ids]
    parts = [visual.flatten(0, 1)] + [visual[-1][grid.flatten().bool()] for grid in grids]
    fill = torch.cat(parts)
    places = ids == context
    if int(places.sum()) != len(fill):
        raise ValueError(f"{int(places.sum())} places for {len(fill)} visual tokens")
    out = x.clone()
    out[places] = fill
    return out


def seg_prompt(w, hidden):
    return dense(w, "text_hidden_fcs.2", F.relu(dense(w, "text_hidden_fcs.0", hidden)))
