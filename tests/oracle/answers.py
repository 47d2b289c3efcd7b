"""The two tasks of Sa2VA on a picture of its own: describing a marked region, and finding the object of a phrase."""

from dataclasses import dataclass

import torch

import model
import preprocess
import sam2
from resize import bicubic

DESCRIBE = "<image>\nPlease give me a short description of the region in the picture marked by region1."
FIND = "<image>\nPlease segment {} in this image."
FOUND = "Sure, [SEG]."


def nothing(name, value):
    """Keeps no intermediate result."""


@dataclass
class Picture:
    """Outputs of the frozen towers for a picture, before any trained layer."""

    tiles: int
    visual: torch.Tensor
    levels: list
    width: int
    height: int


@torch.no_grad()
def look(base, image):
    """Both towers of a checkpoint on a PIL picture."""
    w, c = base.weights, base.config
    tiles, _ = preprocess.tiles_of(image, c)
    shuffled = model.pixel_shuffle(model.vision(w, c, preprocess.normalise(tiles), nothing), c["ps_version"])
    size = c["sam2_config"]["image_size"]
    pixels = preprocess.normalise(bicubic(image, size, size)[None])
    return Picture(len(tiles), shuffled, sam2.encode(w, c["sam2_config"], pixels, nothing), *image.size)


def grid_side(config):
    return int(config["force_image_size"] // config["vision_config"]["patch_size"] * config["downsample_ratio"])


class Speaker:
    """A checkpoint that answers."""

    def __init__(self, checkpoint, guard, most):
        self.folder, self.w, self.config = checkpoint, checkpoint.weights, checkpoint.config
        self.guard, self.most = guard, most
        self.stops = preprocess.STOP_WORDS[self.config["template"].replace("-", "_")]
        self.context = checkpoint.ids["<IMG_CONTEXT>"]

    def prompt(self, text, picture, cells):
        side = grid_side(self.config)
        text = preprocess.prompt_text(text, self.config["template"], picture.tiles, side * side, cells)
        return self.folder.prompt_ids(text)

    def states(self, ids, picture, grids):
        visual = model.projector(self.w, picture.visual)
        return model.language(self.w, self.config, model.embed(self.w, self.config, ids, self.context, visual, grids))

    @torch.no_grad()
    def describe(self, picture, grid, draw=None):
        """A caption of the cells set in `grid`: the likeliest tokens, or drawn with the generator `draw`."""
        prompt, said = self.prompt(DESCRIBE, picture, [int(grid.sum())]), []
        while len(said) < self.most:
            logits = model.head(self.w, self.config, self.states(prompt + said, picture, [grid])[-1])
            logits = logits.clamp(-self.guard, self.guard)
            likely = logits.argmax() if draw is None else torch.multinomial(logits.softmax(-1), 1, generator=draw)[0]
            said.append(int(likely))
            text = self.folder.decode(said).replace("\r", "").replace("\n", "")
            if said[-1] == self.folder.eos or any(text.endswith(word) for word in self.stops):
                break
        return self.plain(said)

    def plain(self, ids):
        """Text of an answer without special tokens and stop words."""
        text = self.folder.decode(ids, special=False).strip()
        for word in self.stops:
            text = text.removesuffix(word).strip()
        return text

    @torch.no_grad()
    def find(self, picture, phrase):
        """0/1 mask [height, width] of a phrase's object, with the answer given."""
        named = phrase.strip().lower().rstrip(".").strip()
        ids = self.prompt(FIND.format(named), picture, []) + self.folder.encode(FOUND)
        seg = self.folder.ids["[SEG]"]
        ids = ids[: len(ids) - ids[::-1].index(seg)]
        prompt = model.seg_prompt(self.w, self.states(ids, picture, [])[-1:])
        low, _ = sam2.choose(*sam2.decode(self.w, self.config["sam2_config"], picture.levels, prompt)[:2])
        _, logits = sam2.enlarge(low, self.config["sam2_config"]["image_size"], picture.height, picture.width)
        return (logits[0, 0] > 0).to(torch.uint8).numpy()
