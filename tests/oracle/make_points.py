"""python make_points.py --set DIR --out FILE: sparse tokens and masks of clicks on the picture of a golden folder.

The tokens are those of transformers' prompt encoder of SAM2 with the folder's weights; the masks are this folder's own.
"""

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers.models.sam2.configuration_sam2 import Sam2PromptEncoderConfig
from transformers.models.sam2.modeling_sam2 import Sam2PromptEncoder

import sam2

SIDE = 2


def prompt_encoder(w, c):
    p, size = sam2.PROMPT, c["image_size"]
    width = w[p + "not_a_point_embed.weight"].shape[1]
    module = Sam2PromptEncoder(Sam2PromptEncoderConfig(hidden_size=width, image_size=size, patch_size=16))
    points = torch.cat([w[f"{p}point_embeddings.{i}.weight"] for i in range(4)])
    found = {
        "shared_embedding.positional_embedding": w[p + "pe_layer.positional_encoding_gaussian_matrix"],
        "point_embed.weight": points,
        "not_a_point_embed.weight": w[p + "not_a_point_embed.weight"],
    }
    left = module.load_state_dict(found, strict=False)
    assert not left.unexpected_keys, left
    return module


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    w = load_file(args.set / "model.safetensors")
    c = json.loads((args.set / "config.json").read_text())["sam2_config"]
    golden = load_file(args.set / "golden_sam2.safetensors")
    size = c["image_size"]
    # Centres of the cells of a grid, as continuous pixels; SAM2 takes a pixel's corner and adds half a pixel.
    centres = (torch.arange(SIDE, dtype=torch.float32) + 0.5) / SIDE * size - 0.5
    y, x = torch.meshgrid(centres, centres, indexing="ij")
    points = torch.stack([x, y], -1).reshape(-1, 2)
    with torch.no_grad():
        labels = torch.ones(1, len(points), 1, dtype=torch.long)
        tokens, _ = prompt_encoder(w, c)(points[None, :, None], labels, None, None)
        own = sam2.clicks(w, c, points)
        gap = (tokens[0] - own).abs().max().item()
        if gap > 1e-6:
            raise SystemExit(f"transformers and this folder differ by {gap}")
        levels = [golden[f"fpn.{i}"] for i in range(3)]
        masks, iou, _, _ = sam2.decode_sparse(w, c, levels, tokens[0])
    arrays = {"points": (points + 0.5) / size, "sparse": tokens[0], "masks": masks, "iou": iou}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in arrays.items()}, args.out)


if __name__ == "__main__":
    main()
