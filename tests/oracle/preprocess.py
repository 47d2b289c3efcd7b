"""Pictures, region masks and prompts of Sa2VA, written from the specification."""

import numpy as np
import torch
import torch.nn.functional as F

from resize import bicubic

MEAN = torch.tensor([0.485, 0.456, 0.406])
STD = torch.tensor([0.229, 0.224, 0.225])


def choose_grid(width, height, low, high, tile):
    """Columns and rows of the tile grid; a tie goes to the larger grid only when the picture has the pixels for it."""
    grids = [(c, r) for c in range(1, high + 1) for r in range(1, high + 1) if low <= c * r <= high]
    # Candidates of one size are visited by columns first: a stable sort of that order.
    grids.sort(key=lambda g: g[0] * g[1])
    ratio, best, gap = width / height, (1, 1), float("inf")
    for cols, rows in grids:
        distance = abs(ratio - cols / rows)
        if distance < gap:
            best, gap = (cols, rows), distance
        elif distance == gap and width * height > 0.5 * tile * tile * cols * rows:
            best = (cols, rows)
    return best


def tiles_of(image, config):
    """u8 tiles [n, t, t, 3] with the thumbnail, and the grid."""
    tile = config["force_image_size"]
    low, high = config["min_dynamic_patch"], config["max_dynamic_patch"]
    if not config.get("dynamic_image_size", True):
        low = high = 1
    cols, rows = choose_grid(*image.size, low, high, tile)
    whole = bicubic(image, tile * cols, tile * rows)
    cut = [
        whole[r * tile : (r + 1) * tile, c * tile : (c + 1) * tile] for r in range(rows) for c in range(cols)
    ]
    if len(cut) > 1 and config.get("use_thumbnail", True):
        cut.append(bicubic(image, tile, tile))
    return np.stack(cut), (cols, rows)


def normalise(pixels):
    """u8 [n, h, w, 3] to float [n, 3, h, w]."""
    values = torch.from_numpy(np.array(pixels)).float() / 255
    return ((values - MEAN) / STD).permute(0, 3, 1, 2).contiguous()


def nearest(mask, rows, cols):
    """A 0/1 mask [h, w] sampled without any half-pixel shift."""
    source = torch.from_numpy(mask.astype(np.float32))[None, None]
    return F.interpolate(source, size=(rows, cols), mode="nearest")[0, 0].to(torch.uint8)


def rle_counts(mask):
    """Run lengths down the columns, beginning with zeros."""
    flat = np.asarray(mask, dtype=np.uint8).T.reshape(-1)
    edges = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff(np.concatenate([[0], edges, [len(flat)]])).tolist()
    return ([0] if flat[0] == 1 else []) + runs


def rle_encode(mask):
    """COCO's compressed string: from the fourth run on, differences to the run two before, five bits per letter."""
    counts, text = rle_counts(mask), ""
    for index, count in enumerate(counts):
        value = count - counts[index - 2] if index > 2 else count
        while True:
            bits, value = value & 31, value >> 5
            done = value == (-1 if bits & 16 else 0)
            text += chr(48 + (bits if done else bits | 32))
            if done:
                break
    return {"size": list(np.asarray(mask).shape), "counts": text}


def rle_decode(rle):
    counts, at, text = [], 0, rle["counts"]
    while at < len(text):
        value, shift = 0, 0
        while True:
            letter = ord(text[at]) - 48
            at += 1
            value |= (letter & 31) << shift
            shift += 5
            if not letter & 32:
                if letter & 16:
                    value -= 1 << shift
                break
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
    flat = np.repeat(np.arange(len(counts)) % 2, counts).astype(np.uint8)
    height, width = rle["size"]
    return np.ascontiguousarray(flat.reshape(width, height).T)


def prompt_text(text, template, tiles, tokens_per_tile, regions):
    """The whole prompt. `regions` are the numbers of visual tokens of the marked regions."""
    context = "<IMG_CONTEXT>"
    picture = f"<img>{context * (tiles * tokens_per_tile)}</img>"
    if regions:
        listed = ", ".join(f"region{i + 1}<vp>{context * n}</vp>" for i, n in enumerate(regions))
        picture += f"\nThere are {len(regions)} part regions in the picture: {listed}.\n"
    said = text.replace("<image>", picture)
    if template.replace("-", "_") == "phi3_chat":
        return f"<|user|>\n{said}<|end|>\n<|assistant|>\n"
    if template.replace("-", "_") == "llama3_chat":
        turn = "<|start_header_id|>{}<|end_header_id|>\n\n"
        return turn.format("user") + said + "<|eot_id|>" + turn.format("assistant")
    return f"<|im_start|>user\n{said}<|im_end|>\n<|im_start|>assistant\n"


STOP_WORDS = {
    "qwen_chat": ["<|im_end|>", "<|endoftext|>"],
    "internlm2_chat": ["<|im_end|>"],
    "phi3_chat": ["<|end|>"],
    "llama3_chat": ["<|eot_id|>"],
}
