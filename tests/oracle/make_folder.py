"""python make_folder.py --seed S --variant NAME --out DIR: a golden folder of a small random Sa2VA, with all its arrays."""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file

import model
import preprocess
import tokens
import training
import weights
from folder import Folder
from golden import Run
from variants import VARIANTS, settings

UPDATED = ("mlp1.1.weight", "mlp1.1.bias", "text_hidden_fcs.0.weight", "text_hidden_fcs.2.bias")
MASK_TOKENS = "grounding_encoder.sam2_model.sam_mask_decoder.mask_tokens.weight"
# Smallest distance between two choices (a token, a mask candidate) that rounding cannot turn around.
CLEAR = 1e-3


FAMILIES = {"qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM", "internlm2": "InternLM2ForCausalLM", "phi3": "Phi3ForCausalLM"}


def configuration(v, vocabulary, ids):
    top = "template force_image_size min_dynamic_patch max_dynamic_patch use_thumbnail ps_version select_layer".split()
    family = v["family"]
    llm = {"architectures": [FAMILIES[family]], "model_type": family, "vocab_size": v.get("vocabulary", vocabulary)}
    llm |= {"hidden_act": "silu", "max_position_embeddings": 2048, "rope_scaling": None, "tie_word_embeddings": False}
    if family == "qwen2":
        llm |= {"use_sliding_window": False}
    if family == "internlm2":
        llm |= {"bias": False, "attn_implementation": "eager", "auto_map": {}}
    llm |= v["llm"] | {"eos_token_id": ids["eos"], "pad_token_id": ids["pad"], "bos_token_id": ids["bos"]}
    return {
        "architectures": ["Sa2VAChatModel"],
        "model_type": "sa2va_chat",
        **{key: v[key] for key in top},
        "dynamic_image_size": v.get("dynamic_image_size", True),
        "downsample_ratio": 0.5,
        "tie_word_embeddings": False,
        "vision_config": {"model_type": "intern_vit_6b", "hidden_act": "gelu"} | v["vision"],
        "llm_config": llm,
        "sam2_config": v["sam2"],
    }


def write_tokenizer(v, out):
    """The tokenizer's files; number of rows its ids need, and the ids of its roles."""
    tokens.MAKERS[v["tokenizer"]](out)
    named = json.loads((out / "tokenizer_config.json").read_text())
    made = tokens.open_tokenizer(out, named)
    roles = {role: named.get(f"{role}_token") for role in ("bos", "eos", "pad")}
    return made.size, {role: None if token is None else made.id(token) for role, token in roles.items()}


def picture(size, random):
    """Smooth colours with noise, and flat shapes."""
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x * random.uniform(0.02, 0.2) + y * random.uniform(0.02, 0.2) + k) for k in range(3)]
    pixels = 127 + 80 * np.stack(waves, -1) + random.normal(0, 15, (height, width, 3))
    for _ in range(3):
        pixels[ellipse(size, random)] = random.uniform(0, 255, 3)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def ellipse(size, random, least=0.15):
    width, height = size
    y, x = np.mgrid[0:height, 0:width]
    cx, cy = random.uniform(0.3, 0.7) * width, random.uniform(0.3, 0.7) * height
    rx, ry = random.uniform(least, 0.45) * width, random.uniform(least, 0.45) * height
    return ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1


def stored(name, tensor, how):
    if "mixed" in how and name.startswith("vision_model."):
        return tensor.bfloat16()
    halves = ("mlp1.", "text_hidden_fcs.", "language_model.model.embed", "language_model.model.tok_", "language_model.lm_head.", "language_model.output.")
    if "mixed" in how and (name.startswith(halves) or ".mlp." in name or ".feed_forward." in name or "lora_" in name):
        return tensor.half()
    return tensor


def write_weights(out, tensors, how):
    tensors = {name: stored(name, t, how).contiguous() for name, t in tensors.items()}
    if "sharded" not in how:
        save_file(tensors, out / "model.safetensors", {"format": "pt"})
        return
    names, count = list(tensors), 3
    size = math.ceil(len(names) / count)
    files = {n: f"model-{i // size + 1:05d}-of-{count:05d}.safetensors" for i, n in enumerate(names)}
    for file in sorted(set(files.values())):
        save_file({n: t for n, t in tensors.items() if files[n] == file}, out / file, {"format": "pt"})
    total = sum(t.nbytes for t in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": files}
    (out / "model.safetensors.index.json").write_text(json.dumps(index))


def cases_of(v):
    end = preprocess.STOP_WORDS[v["template"].replace("-", "_")][0]
    found = "Sure, the segmentation result is [SEG]."
    if v["segs"] > 1:
        found = "It is " + " and ".join(["[SEG]"] * v["segs"]) + "."
    regions = " and ".join(f"region{i + 1}" for i in range(v["regions"]))
    marked = f"<image>\nPlease give me a short description of the region in the picture marked by {regions}."
    cases = [
        {"name": "refseg", "text": f"<image>\nPlease segment {v['phrase']} in this image.", "answer": found + end},
        {"name": "regioncap", "text": marked, "answer": "a round disc on a green background" + end, "marks": True},
    ]
    if v.get("short"):
        cases[0] |= {"text": "<image>\nSegment it.", "answer": "[SEG] [SEG]" + end}
        cases[1] |= {"text": f"<image>What is {regions}?", "answer": "a disc" + end}
    if v.get("extra_case"):
        cases.append({"name": "question", "text": "<image>\nWhat is it?\n\n 3 things", "answer": "No idea\n." + end})
    return [{"marks": False} | case for case in cases]


def wanted_answers(v, folder, random):
    """The greedy answer that is forced: plain tokens, the wanted number of [SEG], the stop word."""
    end = folder.encode(preprocess.STOP_WORDS[v["template"].replace("-", "_")][0])
    plain = iter(random.permutation(np.arange(33, 250)).tolist())
    segmented = [next(plain)]
    for _ in range(v["greedy_segs"]):
        segmented += [next(plain), folder.ids["[SEG]"]]
    if not v["greedy_cut"]:
        segmented += [next(plain), *end]
    return {"refseg": segmented, "regioncap": [next(plain) for _ in range(3)] + end}


@torch.no_grad()
def teach(run, wanted):
    """The head whose greedy answers are the wanted ones; states do not depend on the head, so this is linear."""
    head = run.w[model.head_name(run.w, run.config)]
    states, tokens = [], []
    for name, answer in wanted.items():
        prompt, _ = run.ids(run.cases[name])
        states.append(run.hidden(run.cases[name], prompt + answer)[len(prompt) - 1 : -1])
        tokens += answer
    states, tokens = torch.cat(states), torch.tensor(tokens)
    logits, special = states @ head.T, tokens.unique()
    others = torch.ones(len(head), dtype=torch.bool)
    others[special] = False
    top = logits[:, others].max(1).values
    target = torch.minimum(logits[:, special], top[:, None] - 0.5)
    own = tokens[:, None] == special
    target[own] = (top[:, None].expand_as(target) + 0.5)[own]
    change = torch.linalg.pinv(states.double()) @ (target - logits[:, special]).double()
    head = head.clone()
    head[special] += change.T.float()
    return head


def main(name, seed, out):
    v, random = settings(name), np.random.default_rng(seed)
    out.mkdir(parents=True, exist_ok=True)
    vocabulary, roles = write_tokenizer(v, out)
    config = configuration(v, vocabulary, roles)
    (out / "config.json").write_text(json.dumps(config, indent=1))
    image = picture(v["image"], random)
    image.save(out / "image.png")
    tensors = weights.make(config, seed)
    write_weights(out, tensors, v["store"])
    factors = weights.adapter(config, v["lora"], seed + 1, tensors)
    lora = {"peft_type": "LORA", "r": v["lora"]["r"], "lora_alpha": v["lora"]["alpha"], "lora_dropout": 0.05}
    targets = weights.lora_layers(config, v["lora"]["targets"])
    lora |= {"target_modules": [t.split(".")[-1] for t in targets], "bias": "none"}
    (out / "adapter_config.json").write_text(json.dumps(lora, indent=1))
    save_file({n: stored(n, t, v["store"]) for n, t in factors.items()}, out / "adapter_model.safetensors")
    rles, side = [], config["force_image_size"] // config["vision_config"]["patch_size"] // 2
    while len(rles) < v["regions"]:
        mask = ellipse(v["image"], random)
        if preprocess.nearest(mask, side, side).any():
            rles.append(preprocess.rle_encode(mask))
    generation = {"do_sample": False, "max_new_tokens": 24, "eos_token_id": roles["eos"]}
    (out / "generation_config.json").write_text(json.dumps(generation, indent=1))

    cases = cases_of(v)
    run = Run(Folder(out), rles, cases)
    wanted = wanted_answers(v, run.folder, random)
    if v["greedy_cut"]:
        generation["max_new_tokens"] = len(wanted["refseg"])
        (out / "generation_config.json").write_text(json.dumps(generation, indent=1))
    tensors[model.head_name(run.w, config)] = teach(run, wanted)
    write_weights(out, tensors, v["store"])
    run = Run(Folder(out), rles, cases)

    entries = [run.language_case(case) for case in cases]
    greedy = {n: run.greedy(run.cases[n]) for n in wanted}
    iou = run.segmentation(*greedy["refseg"])
    top = iou[:, 1:].topk(2, 1).values
    clear = [float((top[:, 0] - top[:, 1]).min()), *(g["min_top1_margin"] for g, _ in greedy.values())]
    if min(clear) < CLEAR:
        raise SystemExit(f"seed {seed} gives a choice that is too close: {clear}; take another")

    answer, draw = run.ids(cases[0])[1], torch.Generator().manual_seed(seed + 2)
    advantages = torch.randn(len(answer), generator=draw)
    oversample = torch.rand(v["segs"], 3 * v["points"], 2, generator=draw)
    uniform = torch.rand(v["segs"], v["points"] // 4, 2, generator=draw)
    shown = weights.lora_layers(config, v["lora"]["targets"])[:2]
    layers = [f"lora.model.layers.0.{layer}.lora_{ab}" for layer in shown for ab in "AB"]
    adam = v["update"] | {"betas": [0.9, 0.999], "eps": 1e-8}
    run.arrays["golden_train_seg"], seg, adamw = training.segmentation_step(
        run, advantages, oversample, uniform, adam, [*layers, *UPDATED, MASK_TOKENS]
    )
    end = run.folder.encode(preprocess.STOP_WORDS[v["template"].replace("-", "_")][0])
    lengths = random.integers(*v["completion"], v["group"])
    completions = [random.integers(0, 320, int(n)).tolist() + end for n in lengths]
    rewards = torch.from_numpy(random.random(v["group"]).astype(np.float32))
    run.arrays["golden_train_grpo"], grpo = training.grpo_step(
        run,
        run.cases["regioncap"],
        completions,
        rewards,
        lambda logps: logps + 0.25 * torch.randn(logps.shape, generator=draw),
        v["clip"],
        v["beta"],
    )
    for file, arrays in run.arrays.items():
        save_file({k: t.contiguous().clone() for k, t in arrays.items()}, out / f"{file}.safetensors")
    described = {
        "image": "image.png",
        "image_size": list(v["image"]),
        "seed": seed,
        "variant": name,
        "regions": [
            rle | {"area": int(m.sum()), "grid_tokens": int(g.sum())}
            for rle, m, g in zip(rles, run.masks, run.grids, strict=True)
        ],
        "preprocess": {
            "tile_size": config["force_image_size"],
            "tiles": len(run.tiles),
            "tile_grid_cols_rows": list(run.grid),
            "tokens_per_tile": run.side**2,
            "region_grid": [run.side, run.side],
            "sam_size": v["sam2"]["image_size"],
        },
        "token_ids": run.folder.ids,
        "template": v["template"],
        "stop_words": preprocess.STOP_WORDS[v["template"].replace("-", "_")],
        "cases": entries,
        "greedy": {n: g for n, (g, _) in greedy.items()},
        "train": {"seg": seg, "adamw": adamw, "grpo": grpo},
    }
    (out / "cases.json").write_text(json.dumps(described))
    print(f"{out}: {len(run.tiles)} tiles, greedy {[g['prediction'] for g, _ in greedy.values()]}, margins {clear}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="plain")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    main(given.variant, given.seed, given.out)
