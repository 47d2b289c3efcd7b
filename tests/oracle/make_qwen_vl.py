"""Writes a tiny Qwen2.5-VL or Qwen3-VL of transformers' own class with what it computes (tests/golden/qwen-vl).

Needs transformers 4.57: with release 5 the last hidden state of Qwen3-VL is another one. Weights are random; names are
those inside Sa2VA, which wraps the whole model as `model`.

    python make_qwen_vl.py --type qwen3_vl --seed 1 --out FILE
    python make_qwen_vl.py --sizes --seed 1 --out FILE     # grids and resized pictures, as JSON
"""

import argparse
import hashlib
import json
import random

import torch
import torch.nn.functional as F
import transformers
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from safetensors.torch import save_file
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

IMAGE, START, END = 90, 91, 92
ROWS = 96
LEAST, MOST = 512 * 28**2, 2048 * 28**2
PIXELS = {
    "qwen2_5_vl": ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
    "qwen3_vl": ([0.5] * 3, [0.5] * 3),
}


def made_picture(generator, height, width):
    """A smooth gradient with noise, [3, h, w] uint8."""
    y, x = torch.meshgrid(torch.linspace(0, 1, height), torch.linspace(0, 1, width), indexing="ij")
    base = torch.stack([x, y, (x + y) / 2]) * 200
    return (base + 55 * torch.rand(3, height, width, generator=generator)).clamp(0, 255).to(torch.uint8)


def resized(picture, factor):
    _, height, width = picture.shape
    size = smart_resize(height, width, factor=factor, min_pixels=LEAST, max_pixels=MOST)
    if size == (height, width):
        return picture
    return F.interpolate(picture[None], size=size, mode="bicubic", antialias=True)[0]


def patches_of(picture, patch, mean, std):
    """Both frames of the doubled picture, as in transformers' processor, [N, 3 * 2 * p * p]."""
    values = (picture.float() / 255 - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    frames = values[None].repeat(2, 1, 1, 1)
    _, channels, height, width = frames.shape
    rows, cols = height // patch, width // patch
    grid = frames.view(1, 2, channels, rows // 2, 2, patch, cols // 2, 2, patch)
    return grid.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(rows * cols, -1), (rows, cols)


def config_of(kind, size):
    text = {
        "vocab_size": ROWS,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
    }
    vision = {"depth": 4, "hidden_size": 32, "num_heads": 2, "out_hidden_size": 32, "intermediate_size": 40}
    tokens = {"image_token_id": IMAGE, "vision_start_token_id": START, "vision_end_token_id": END, "video_token_id": 93}
    if kind == "qwen3_vl":
        text |= {"head_dim": 16, "rope_theta": 5e6, "attention_bias": False}
        text["rope_scaling"] = {"mrope_section": [4, 2, 2], "mrope_interleaved": True, "rope_type": "default"}
        vision |= {"patch_size": 16, "deepstack_visual_indexes": [0, 1, 3], "num_position_embeddings": size**2}
        return transformers.Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **tokens)
    text |= {"rope_theta": 1e6, "rope_scaling": {"mrope_section": [1, 1, 2], "rope_type": "default"}}
    vision |= {"patch_size": 14, "window_size": 112, "fullatt_block_indexes": [1, 3]}
    return transformers.Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **tokens)


def random_weights(model, generator):
    """Weights that keep activations in range and make every part count."""
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        if name.endswith("bias"):
            parameter.data = 0.05 * noise
        elif parameter.dim() == 1:
            parameter.data = 1 + 0.1 * noise
        elif "embed" in name and parameter.dim() == 2:
            parameter.data = 0.5 * noise
        else:
            parameter.data = 1.2 * noise / (parameter[0].numel() ** 0.5)


def make(kind, seed, out):
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    draw = random.Random(seed)
    side = 6 + draw.randrange(4)
    config = config_of(kind, side)
    config._attn_implementation = "eager"
    classes = {
        "qwen3_vl": transformers.Qwen3VLForConditionalGeneration,
        "qwen2_5_vl": transformers.Qwen2_5_VLForConditionalGeneration,
    }
    if kind == "qwen2_5_vl":
        # Heads of 8 channels: 4 pairs.
        assert config.text_config.hidden_size // config.text_config.num_attention_heads == 8
    model = classes[kind](config).eval()
    random_weights(model, generator)
    height, width = 24 + draw.randrange(40), 24 + draw.randrange(40)
    picture = made_picture(generator, height, width)
    patch = config.vision_config.patch_size
    pixels, grid = patches_of(resized(picture, 2 * patch), patch, *PIXELS[kind])
    thw = torch.tensor([[1, *grid]])
    tokens = grid[0] * grid[1] // 4
    words = lambda count: [draw.randrange(IMAGE) for _ in range(count)]
    before, after = words(3), words(5)
    prompt = [*before, START, *[IMAGE] * tokens, END, *after]
    answer = words(6)
    ids = torch.tensor([[*prompt, *answer]])
    own = {f"weight.model.{name}": value.clone() for name, value in model.state_dict().items()}
    own["picture"] = picture.permute(1, 2, 0).float().contiguous()
    own["ids"] = ids[0].float()
    own["patches"] = pixels[::37].clone()
    inputs = {"pixel_values": pixels, "image_grid_thw": thw}
    with torch.no_grad():
        positions, delta = model.model.get_rope_index(ids, thw)
        own["positions"] = positions[:, 0].T.float().contiguous()
        found = model.model.visual(pixels, thw)
        visual, added = found if isinstance(found, tuple) else (found, [])
        own["visual"] = visual
        for at, plane in enumerate(added):
            own[f"deepstack.{at}"] = plane
        result = model(input_ids=ids, output_hidden_states=True, **inputs)
        own["hidden"] = result.hidden_states[-1][0]
        own["logits"] = result.logits[0, -12:].clone()
        start = torch.tensor([prompt])
        greedy = model.generate(
            input_ids=start, attention_mask=torch.ones_like(start), max_new_tokens=10, do_sample=False,
            eos_token_id=ROWS + 1, pad_token_id=0, **inputs,
        )
        own["greedy"] = greedy[0, len(prompt):].float()
        # A second frame, for the places of clips.
        two = torch.tensor([[*before, START, *[IMAGE] * tokens, END, 7, START, *[IMAGE] * tokens, END, *after]])
        several, _ = model.model.get_rope_index(two, torch.tensor([[1, *grid], [1, *grid]]))
        own["several"] = several[:, 0].T.float().contiguous()
    # Sa2VA wraps the whole of Qwen-VL with PEFT, whose tower has layers of the same names.
    linears = "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj"
    lora = LoraConfig(r=2, lora_alpha=4, target_modules=rf"model\.language_model\..*\.({linears})", task_type="CAUSAL_LM")
    wrapped = get_peft_model(model, lora)
    for name, parameter in wrapped.named_parameters():
        if ".lora_" in name:
            parameter.data = 0.3 * torch.randn(parameter.shape, generator=generator)
    logits = wrapped(input_ids=ids, **inputs).logits[0]
    chosen = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)[range(len(answer)), answer]
    (-chosen.mean()).backward()
    own["lora_logits"] = logits[-12:].detach().clone()
    stored = get_peft_model_state_dict(wrapped)
    for name, value in stored.items():
        own[f"lora.{name}"] = value.clone()
    for name, parameter in wrapped.named_parameters():
        if ".lora_" in name:
            own[f"grad.{name.replace('.default.', '.')}"] = parameter.grad.clone()
    fields = json.loads(config.to_json_string(use_diff=False))
    metadata = {
        "config": json.dumps({key: fields[key] for key in ("text_config", "vision_config", "tie_word_embeddings")}),
        "prompt": str(len(prompt)),
        "image_start": str(len(before) + 1),
        "grid": json.dumps([grid[0] // 2, grid[1] // 2]),
        "delta": str(int(delta[0, 0])),
        "scale": "2",
        "transformers": transformers.__version__,
    }
    save_file({name: value.float().contiguous() for name, value in own.items()}, out, metadata)


def make_sizes(seed, out):
    """Sizes of pictures, and the resized bytes of some."""
    draw = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    sizes = [(480, 640), (427, 640), (360, 640), (768, 1024), (1080, 1920), (80, 80), (1, 199), (2000, 11), (33, 64)]
    sizes += [(16 * draw.randrange(1, 200), 14 * draw.randrange(1, 200)) for _ in range(40)]
    sizes += [(draw.randrange(1, 4000), draw.randrange(20, 4000)) for _ in range(40)]
    usable = [size for size in sizes if max(size) / min(size) <= 200]
    grids = [[h, w, f, *smart_resize(h, w, factor=f, min_pixels=LEAST, max_pixels=MOST)] for h, w in usable for f in (28, 32)]
    pictures = []
    for height, width in [(37, 53), (61, 19), (9, 120)]:
        picture = made_picture(generator, height, width)
        result = resized(picture, 32).permute(1, 2, 0).contiguous().numpy()
        digest = hashlib.sha256(result.tobytes()).hexdigest()
        own = picture.permute(1, 2, 0).flatten().tolist()
        pictures.append({"height": height, "width": width, "sha256": digest, "bytes": own})
    for height, width in [(700, 1100), (1500, 1900)]:
        # Smaller than the picture: a pattern that both sides compute.
        y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        picture = torch.stack([(7 * x + 3 * y) % 256, (x * y) % 251, (x // 9 * 40 + y // 5 * 60) % 256]).to(torch.uint8)
        result = resized(picture, 32).permute(1, 2, 0).contiguous().numpy()
        pictures.append({"height": height, "width": width, "sha256": hashlib.sha256(result.tobytes()).hexdigest()})
    with open(out, "w", encoding="utf8") as file:
        json.dump({"grids": grids, "pictures": pictures}, file, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--type", choices=sorted(PIXELS))
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    if args.sizes:
        make_sizes(args.seed, args.out)
    else:
        make(args.type, args.seed, args.out)


if __name__ == "__main__":
    main()
