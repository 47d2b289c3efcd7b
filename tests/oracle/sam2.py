"""SAM2's image encoder, prompt encoder and mask decoder, as Sa2VA uses them for pictures."""

import math

import torch
import torch.nn.functional as F

from model import dense, layer_norm, softmax_attention

S = "grounding_encoder.sam2_model."
TRUNK = S + "image_encoder.trunk."
DECODER = S + "sam_mask_decoder."
PROMPT = S + "sam_prompt_encoder."


def pool(x):
    """2x2 max pooling of [n, h, w, C]."""
    return F.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


def block_plan(c):
    """Per block: (window, pools, heads)."""
    plan, heads, index = [], c["num_heads"], 0
    for stage, count in enumerate(c["stages"]):
        for inside in range(count):
            first = inside == 0 and stage > 0
            heads = heads * 2 if first else heads
            window = c["window_spec"][stage - 1 if first else stage]
            plan.append((0 if index in c["global_att_blocks"] else window, first, heads))
            index += 1
    return plan


def attention(w, b, y, window, pools, heads):
    n, height, width, channels = y.shape
    if window:
        y = F.pad(y, (0, 0, 0, -width % window, 0, -height % window))
    rows, cols = (y.shape[1] // window, y.shape[2] // window) if window else (1, 1)
    th, tw = y.shape[1] // rows, y.shape[2] // cols
    y = y.reshape(n, rows, th, cols, tw, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, th, tw, channels)
    q, k, v = dense(w, b + "attn.qkv", y).chunk(3, -1)
    if pools:
        q = pool(q)
        th, tw = th // 2, tw // 2
        height, width = height // 2, width // 2
    q, k, v = (t.flatten(1, 2).unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
    a = dense(w, b + "attn.proj", softmax_attention(q, k, v).transpose(1, 2).flatten(2))
    a = a.reshape(n, rows, cols, th, tw, -1).permute(0, 1, 3, 2, 4, 5).reshape(n, rows * th, cols * tw, -1)
    return a[:, :height, :width]


def trunk(w, c, pixels, keep):
    """Outputs of the four stages, [1, h, w, C]."""
    x = F.conv2d(pixels, w[TRUNK + "patch_embed.proj.weight"], w[TRUNK + "patch_embed.proj.bias"], 4, 3)
    keep("hiera.patch_embed", x.permute(0, 2, 3, 1))
    size = x.shape[2:]
    background = F.interpolate(w[TRUNK + "pos_embed"], size=size, mode="bicubic", align_corners=False)
    tile = w[TRUNK + "pos_embed_window"]
    position = background + tile.repeat(1, 1, size[0] // tile.shape[2], size[1] // tile.shape[3])
    keep("hiera.pos_embed", position.permute(0, 2, 3, 1))
    x = (x + position).permute(0, 2, 3, 1)
    ends = [sum(c["stages"][: i + 1]) - 1 for i in range(4)]
    outputs = []
    for i, (window, pools, heads) in enumerate(block_plan(c)):
        b = f"{TRUNK}blocks.{i}."
        y = layer_norm(w, b + "norm1", x, 1e-6)
        shortcut = x
        if pools:
            shortcut = pool(dense(w, b + "proj", y))
        x = shortcut + attention(w, b, y, window, pools, heads)
        y = dense(w, b + "mlp.layers.0", layer_norm(w, b + "norm2", x, 1e-6))
        x = x + dense(w, b + "mlp.layers.1", F.gelu(y))
        keep(f"hiera.block.{i}", x)
        if i in ends:
            outputs.append(x)
    return outputs


def encode(w, c, pixels, keep):
    """The three feature levels NCHW: stride 4, 8 and 16."""
    stages = trunk(w, c, pixels, keep)

    def lateral(index):
        name = f"{S}image_encoder.neck.convs.{index}.conv"
        return F.conv2d(stages[3 - index].permute(0, 3, 1, 2), w[name + ".weight"], w[name + ".bias"])

    coarse = lateral(0)
    keep("neck.lateral.0", coarse)
    levels = [lateral(3), lateral(2), lateral(1) + F.interpolate(coarse, scale_factor=2.0, mode="nearest")]
    for index, level in enumerate(levels):
        keep(f"fpn.{index}", level)
    return levels


def dense_positions(w, side):
    matrix = w[PROMPT + "pe_layer.positional_encoding_gaussian_matrix"]
    axis = (torch.arange(side, dtype=torch.float32) + 0.5) / side
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    z = 2 * math.pi * ((2 * torch.stack([x, y], -1) - 1) @ matrix)
    return torch.cat([z.sin(), z.cos()], -1).permute(2, 0, 1)[None]


def mlp(w, name, x, layers=3):
    for i in range(layers):
        x = dense(w, f"{name}.layers.{i}", x)
        if i < layers - 1:
            x = F.relu(x)
    return x


def decoder_attention(w, name, heads, q, k, v):
    q, k, v = (
        dense(w, f"{name}.{part}_proj", t).unflatten(-1, (heads, -1)).transpose(1, 2)
        for part, t in (("q", q), ("k", k), ("v", v))
    )
    return dense(w, name + ".out_proj", softmax_attention(q, k, v).transpose(1, 2).flatten(2))


def norm_channels(w, name, x):
    return layer_norm(w, name, x.permute(0, 2, 3, 1), 1e-6).permute(0, 3, 1, 2)


def clicks(w, c, points):
    """Sparse tokens [n, 2, C] of one click inside each object, pixels (x, y) of the square picture: the click, the padding."""
    matrix = w[PROMPT + "pe_layer.positional_encoding_gaussian_matrix"]
    turns = (2 * (points + 0.5) / c["image_size"] - 1) @ matrix
    code = torch.cat([(2 * math.pi * turns).sin(), (2 * math.pi * turns).cos()], -1)
    inside = code + w[PROMPT + "point_embeddings.1.weight"]
    return torch.stack([inside, w[PROMPT + "not_a_point_embed.weight"].expand_as(inside)], 1)


def decode(w, c, levels, lang, keep=lambda name, value: None):
    """Mask logits of all four tokens [n, 4, 4 s, 4 s] and their predicted IoU [n, 4], by language."""
    pads = w[PROMPT + "not_a_point_embed.weight"].expand(len(lang), 2, -1)
    keep("sparse_points", pads)
    return decode_sparse(w, c, levels, torch.cat([pads, lang[:, None]], 1), keep)


def decode_sparse(w, c, levels, sparse, keep=lambda name, value: None):
    """The same for any sparse tokens [n, k, C]."""
    n, heads = len(sparse), c["decoder_num_heads"]
    features = levels[2] + w[S + "no_mem_embed"].reshape(1, -1, 1, 1)
    s0, s1 = (
        F.conv2d(levels[i], w[f"{DECODER}conv_s{i}.weight"], w[f"{DECODER}conv_s{i}.bias"]) for i in (0, 1)
    )
    keep("pix_feat_with_mem", features)
    keep("feat_s0", s0)
    keep("feat_s1", s1)
    side = features.shape[-1]
    no_mask = w[PROMPT + "no_mask_embed.weight"].reshape(1, -1, 1, 1)
    keep("dense", no_mask.expand(n, -1, -1, -1))
    fixed = torch.cat([w[f"{DECODER}{t}.weight"] for t in ("obj_score_token", "iou_token", "mask_tokens")])
    tokens = torch.cat([fixed.expand(n, -1, -1), sparse], 1)
    source = (features + no_mask).expand(n, -1, -1, -1)
    keep("decoder.tokens_in", tokens)
    keep("decoder.src_in", source)
    position = dense_positions(w, side)
    keep("dense_pe", position)
    position = position.flatten(2).transpose(1, 2)
    q, keys = tokens, source.flatten(2).transpose(1, 2)
    for i in range(c["decoder_depth"]):
        b = f"{DECODER}transformer.layers.{i}."
        if i == 0:
            q = decoder_attention(w, b + "self_attn", heads, q, q, q)
        else:
            q = q + decoder_attention(w, b + "self_attn", heads, q + tokens, q + tokens, q)
        q = layer_norm(w, b + "norm1", q, 1e-5)
        q = q + decoder_attention(w, b + "cross_attn_token_to_image", heads, q + tokens, keys + position, keys)
        q = layer_norm(w, b + "norm2", q, 1e-5)
        q = layer_norm(w, b + "norm3", q + mlp(w, b + "mlp", q, 2), 1e-5)
        keys = keys + decoder_attention(w, b + "cross_attn_image_to_token", heads, keys + position, q + tokens, q)
        keys = layer_norm(w, b + "norm4", keys, 1e-5)
        keep(f"decoder.layer.{i}.queries", q)
        keep(f"decoder.layer.{i}.keys", keys)
    final = decoder_attention(
        w, DECODER + "transformer.final_attn_token_to_image", heads, q + tokens, keys + position, keys
    )
    q = layer_norm(w, DECODER + "transformer.norm_final_attn", q + final, 1e-5)
    keep("decoder.hs", q)
    keep("decoder.src_out", keys)
    up = DECODER + "output_upscaling."
    x = keys.transpose(1, 2).unflatten(2, (side, side))
    x = F.conv_transpose2d(x, w[up + "0.weight"], w[up + "0.bias"], 2) + s1
    x = F.gelu(norm_channels(w, up + "1", x))
    x = F.gelu(F.conv_transpose2d(x, w[up + "3.weight"], w[up + "3.bias"], 2) + s0)
    factors = torch.stack([mlp(w, f"{DECODER}output_hypernetworks_mlps.{k}", q[:, 2 + k]) for k in range(4)], 1)
    masks = torch.einsum("nkc,nchw->nkhw", factors, x)
    iou = mlp(w, DECODER + "iou_prediction_head", q[:, 1]).sigmoid()
    score = mlp(w, DECODER + "pred_obj_score_head", q[:, 0])
    keep("decoder.masks_all", masks)
    keep("decoder.iou_all", iou)
    keep("decoder.obj_score", score)
    return masks, iou, q, score


def choose(masks, iou):
    """Of candidates 1..3 the one with the largest predicted IoU: [n, 1, h, w] and its index 0..2."""
    best = iou[:, 1:].argmax(1)
    return masks[torch.arange(len(masks)), 1 + best][:, None], best


def enlarge(mask, size, height, width):
    """Logits at SAM2's input size and, from those, at the picture's size."""
    large = F.interpolate(mask, size=(size, size), mode="bilinear", align_corners=False)
    return large, F.interpolate(large, size=(height, width), mode="bilinear", align_corners=False)


def object_pointer(w, tokens, best, score):
    x = mlp(w, S + "obj_ptr_proj", tokens[torch.arange(len(tokens)), 3 + best])
    there = (score > 0).float()
    return there * x + (1 - there) * w[S + "no_obj_ptr"]
