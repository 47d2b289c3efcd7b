"""
The extra `qwen_vl`: Sa2VA on Qwen2.5-VL and Qwen3-VL of transformers.

A picture keeps its shape, which decides its tokens; their places in the text are rows and columns.
"""

import math
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Qwen3VLVisionModel
from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VisionTransformerPretrainedModel
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLVisionConfig

from .data import Rgb
from .errors import LabError
from .families import Family, Grid
from .language import Rotation, transformer
from .pictures import Triple, bicubic, normalise

_LEAST, _MOST = 512 * 28**2, 2048 * 28**2
"""Pixels of a picture at the tower's size."""
_SCALES: dict[str, tuple[Triple, Triple]] = {
    "qwen2_5_vl": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "qwen3_vl": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
}
_TEXTS = {"qwen2_5_vl": "Qwen2_5_VLTextModel", "qwen3_vl": "Qwen3VLTextModel"}
_SIZES = {
    "qwen2_5_vl": ("window_size", "fullatt_block_indexes"),
    "qwen3_vl": ("num_position_embeddings", "deepstack_visual_indexes"),
}
_ALL = ("depth", "hidden_size", "num_heads", "intermediate_size", "patch_size", "out_hidden_size",
        "spatial_merge_size", "temporal_patch_size", "hidden_act")  # fmt: skip
_VISUAL = "model.model.visual."


class QwenVl(Family):
    """Sa2VA on Qwen2.5-VL and Qwen3-VL."""

    runs = "Qwen2.5-VL and Qwen3-VL"
    needed = ("vision_config", "text_config", "template")
    language_names = ("model.model.language_model.", "model.lm_head.")
    tower_names = (_VISUAL,)
    projector_names = (f"{_VISUAL}merger.", f"{_VISUAL}deepstack_merger_list.")
    patterns: ClassVar = {
        "language_model": {
            r"^language_model\.model\.": "model.model.language_model.", r"^language_model\.lm_head": "model.lm_head",
        },
        "vision_model": {r"^vision_model\.": _VISUAL},
        "projector": {r"^projector\.": _VISUAL},
    }  # fmt: skip
    wrapped, layers = "model.", "model.language_model."
    region_prompt, trains_projector = "outline", False

    def __init__(self, config: dict[str, Any]) -> None:
        """Raises LabError for a missing size: the class's defaults are those of other models."""
        vision, text = config["vision_config"], config["text_config"]
        kind = vision["model_type"]
        lacking = [name for name in (*_ALL, *_SIZES[kind]) if name not in vision]
        if lacking:
            raise LabError(f"config.json lacks vision_config.{lacking[0]}; the model was not loaded")
        self.language = text | {"architectures": [_TEXTS[kind]], "tie_word_embeddings": False}
        self._beside: list[Tensor] = []
        self.language |= {name: config[name] for name in ("tie_word_embeddings",) if name in config}
        self._scale, self._patch, self._width = _SCALES[kind], vision["patch_size"], vision["hidden_size"]
        sizes = {name: vision[name] for name in (*_ALL, *_SIZES[kind])}
        tower: Any
        if kind == "qwen3_vl":
            tower = Qwen3VLVisionModel._from_config(Qwen3VLVisionConfig(**sizes), attn_implementation="sdpa")
        else:
            own = Qwen2_5_VLVisionConfig(**sizes)
            tower = Qwen2_5_VisionTransformerPretrainedModel._from_config(own, attn_implementation="sdpa")
        # Mergers may train, so they are modules of their own; in their place the tower joins four patches.
        added = list(getattr(tower, "deepstack_merger_list", ()))
        self._added, self.seg_after_norm = len(added), kind == "qwen2_5_vl"
        self.projector = nn.ModuleDict({"merger": tower.merger, "deepstack_merger_list": nn.ModuleList(added)})
        tower.merger = nn.Sequential(nn.Unflatten(0, (-1, 4)), nn.Flatten(1))
        tower.deepstack_merger_list = nn.ModuleList([tower.merger] * len(added))
        self.tower = tower

    def language_model(self) -> Any:
        """The text part, whose first layers add further states to visual tokens."""
        made = _Headed(transformer(self.language["architectures"][0], self.language))
        made.model.rotary_emb = Places(made.model.rotary_emb)
        made.model.register_forward_pre_hook(self._split, with_kwargs=True)
        for at in range(self._added):
            made.model.layers[at].register_forward_hook(partial(self._add, at))
        made.model.register_forward_hook(self._forget)
        return made

    def widened(self, x: Tensor) -> Tensor:
        """Layers add nothing to them."""
        width = self.language["hidden_size"]
        return F.pad(x[..., :width], (0, self._added * width))

    def _split(self, _model: nn.Module, args: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        x, *self._beside = torch.split(given["inputs_embeds"], self.language["hidden_size"], -1)
        return args, given | {"inputs_embeds": x}

    def _add(self, at: int, _layer: nn.Module, _given: object, out: Tensor) -> Tensor:
        return out + self._beside[at] if self._beside else out

    def _forget(self, *_: object) -> None:
        self._beside = []

    def tokens(self, vision: Tensor) -> int:
        """Those of one plane."""
        return vision.shape[1]

    def _resized(self, height: int, width: int) -> tuple[int, int]:
        return resized(height, width, 2 * self._patch, _LEAST, _MOST)

    def grid(self, height: int, width: int) -> Grid:
        """Two by two patches are a token."""
        rows, cols = (side // (2 * self._patch) for side in self._resized(height, width))
        return rows, cols

    def pixels(self, rgb: Rgb, most_tiles: int, twice: bool) -> Tensor:
        """The picture at the tower's size, [1, 3, h, w]."""
        if twice:
            height, width = resized(rgb.shape[0], rgb.shape[1], 28, 4 * 28**2, 16384 * 28**2)
            rgb = bicubic(rgb, width, height)
        # As the release's processor does: PyTorch's filter has weights in 16 bits where Pillow has 22.
        planes = torch.from_numpy(np.array(rgb)).permute(2, 0, 1)[None]
        size = self._resized(*rgb.shape[:2])
        large = F.interpolate(planes, size, mode="bicubic", antialias=True, align_corners=False)
        return normalise(large.permute(0, 2, 3, 1).numpy(), self._scale)

    def see(self, pixels: Tensor) -> Tensor:
        """The last block's states, then those of the blocks whose states are added later, [1 + added, tokens, 4 H]."""
        p, (_, _, height, width) = self._patch, pixels.shape
        rows, cols = height // p, width // p
        cut = pixels.reshape(3, rows // 2, 2, p, cols // 2, 2, p).permute(1, 4, 2, 5, 0, 3, 6)
        # Two equal frames in time.
        patches = cut.reshape(-1, 3, 1, p * p).expand(-1, -1, 2, -1).reshape(rows * cols, -1)
        out = self.tower(patches, grid_thw=torch.tensor([[1, rows, cols]], device=pixels.device))
        return torch.stack([out.pooler_output, *(out.get("deepstack_features") or ())])

    def project(self, vision: Tensor) -> Tensor:
        """Each plane by its merger."""
        parts: Any = self.projector
        mergers = [parts["merger"], *parts["deepstack_merger_list"]]
        states = [own(plane.reshape(-1, self._width)) for own, plane in zip(mergers, vision, strict=True)]
        return torch.cat(states, -1)[None]


class _Headed(nn.Module):
    """The text part of a model of pictures and text, with a head as language models alone have it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.lm_head = nn.Linear(model.config.hidden_size, model.config.vocab_size, bias=False)

    def get_input_embeddings(self) -> nn.Module:
        found: nn.Module = self.model.embed_tokens
        return found

    def get_output_embeddings(self) -> nn.Module:
        return self.lm_head


class Places(Rotation):
    """Rotary angles of places in time, rows and columns, which differ for the visual tokens of a picture."""

    fixed = True
    _grids: tuple[tuple[object, ...], Tensor] | None = None
    """The last pictures, and their places on the device, [3, n, 1]."""

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [n, T, d] of indices in the text, [n, T] or [3, n, T]."""
        index = position_ids[0] if position_ids.dim() == 3 else position_ids
        if not self.turn.pictures:
            found: tuple[Tensor, Tensor] = self.own(x, index.expand(3, *index.shape))
            return found
        start, rows, cols = self._on_device(index)
        at = index - start
        # Visual tokens begin at one place; the text goes on after the longer side of their grid.
        after = torch.where(at < 0, index, index - rows * cols + torch.maximum(rows, cols))
        inside = (at >= 0) & (at < rows * cols)
        places = [torch.where(inside, start + own, after) for own in (0, at // cols, at % cols)]
        turned: tuple[Tensor, Tensor] = self.own(x, torch.stack(places))
        return turned

    def _on_device(self, index: Tensor) -> Tensor:
        """First visual tokens, rows and columns of the sequences' pictures; a graph cannot copy them from the host."""
        known = (self.turn.pictures, index.device)
        if self._grids is None or self._grids[0] != known:
            self._grids = known, index.new_tensor(self.turn.pictures).T[..., None]
        return self._grids[1]


def resized(height: int, width: int, factor: int, least: int, most: int) -> tuple[int, int]:
    """Height and width in multiples of `factor`, with nearly the same shape and between `least` and `most` pixels."""
    if max(height, width) > 200 * min(height, width):
        raise LabError(f"A picture of {width} x {height} is more than 200 times as long as wide; nothing was computed")
    high, wide = (round(side / factor) * factor for side in (height, width))
    if high * wide > most:
        shrink = math.sqrt(height * width / most)
        high, wide = (max(factor, math.floor(side / shrink / factor) * factor) for side in (height, width))
    elif high * wide < least:
        grow = math.sqrt(least / (height * width))
        high, wide = (math.ceil(side * grow / factor) * factor for side in (height, width))
    return high, wide


FAMILY = QwenVl
