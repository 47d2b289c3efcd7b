"""A Sa2VA checkpoint: language model and SAM2's blocks of transformers, the adapter of PEFT, the published names."""

import json
import math
import mmap
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import init_empty_weights
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from transformers import DynamicCache

from .data import Rgb
from .errors import FORM, LabError, reading
from .language import CACHE, Rotation, Slots, language_model, language_names, recompute, visibility, window_of
from .pictures import bicubic, normalise, tiles_of
from .sam2 import HIERA_L, SAM2_NAMES, Levels, Sam2Model
from .settings import read_json
from .shard import Lockstep
from .vision import VISION_NAMES, VisionTower, pixel_shuffle

LANGUAGE, TOWERS = "language_model.", ("vision_model.", "grounding_encoder.sam2_model.image_encoder.")
_PREFIXES = {
    "projector": "mlp1.",
    "lora": LANGUAGE,
    "seg-prompt": "text_hidden_fcs.",
    "mask-decoder": "grounding_encoder.sam2_model.sam_mask_decoder.",
    "prompt-encoder": "grounding_encoder.sam2_model.sam_prompt_encoder.",
}
_LINEARS = ("q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "gate_proj", "up_proj", "gate_up_proj", "down_proj",
            "wqkv", "wo", "w1", "w3", "w2")  # fmt: skip

_NEEDED = ("vision_config", "llm_config", "force_image_size", "downsample_ratio", "select_layer", "template")

_HALVES = (torch.bfloat16, torch.float16)

Prepared = tuple[Tensor, Tensor]
"""Normalised pixels of a picture: its tiles [n, 3, t, t] and the whole one [1, 3, s, s]."""

Values = list[Tensor]
"""Values of the trainable tensors in order."""


@dataclass(frozen=True)
class Features:
    """Output of the frozen towers for a picture."""

    vision: Tensor
    """[tiles, tokens, 4 H], before the projector."""
    levels: Levels
    error: float = 0.0
    """Largest ‖rounded − computed‖ / ‖computed‖ of the maps."""

    @property
    def tiles(self) -> int:
        """Number of tiles, including the thumbnail."""
        return len(self.vision)


def halved(features: Features) -> Features:
    """Features rounded to half precision. Values beyond its range are first divided by a power of two, without loss."""

    def rounded(values: Tensor) -> Tensor:
        largest = float(values.abs().max())
        unit = 2.0 ** (math.ceil(math.log2(largest)) - 15) if 2**15 < largest < math.inf else 1.0
        return (values / unit).half().to(values.dtype) * unit

    def error(values: Tensor, kept: Tensor) -> float:
        whole = float(values.double().norm())
        return float((kept.double() - values.double()).norm()) / whole if whole else 0.0

    maps = [features.vision, *features.levels]
    kept = [rounded(values) for values in maps]
    return Features(kept[0], kept[1:], max(map(error, maps, kept)))


def _prepared(config: dict[str, Any], side: int, rgb: Rgb, most_tiles: int) -> Prepared:
    return normalise(tiles_of(rgb, config, most_tiles)), normalise(bicubic(rgb, side, side)[None])


def renamed(name: str, patterns: dict[str, str]) -> str:
    """A name with each pattern replaced, in order."""
    for ours, theirs in patterns.items():
        name = re.sub(ours, theirs, name)
    return name


def _adapted(base: nn.Module, down: Tensor, up: Tensor, x: Tensor) -> Tensor:
    out: Tensor = base(x)
    return torch.addmm(out.flatten(0, -2), x.flatten(0, -2) @ down, up).view_as(out)


class Sa2va(nn.Module):
    """The whole model; its state dict has the published names."""

    def __init__(self, config: dict[str, Any]) -> None:
        """`config` is the checkpoint's config.json."""
        super().__init__()
        self.config = config
        vision, language = config["vision_config"], config["llm_config"]
        sam2 = HIERA_L | (config.get("sam2_config") or {})
        self.vision_model: Any = VisionTower(vision, config["select_layer"])
        self.language_model: Any = language_model(language)
        self.side = int(config["force_image_size"] // vision["patch_size"] * config["downsample_ratio"])
        """Visual tokens per side of a tile."""
        self.sam_size: int = sam2["image_size"]
        """Side of SAM2's input."""
        self.window = window_of(language)
        self.rotation = next((own for own in self.language_model.modules() if isinstance(own, Rotation)), None)
        """Rotary angles of a language model that depend on the length."""
        width, wide = language["hidden_size"], 4 * vision["hidden_size"]
        self.mlp1: Any = nn.Sequential(
            nn.LayerNorm(wide, 1e-5), nn.Linear(wide, width), nn.GELU(), nn.Linear(width, width)
        )
        self.text_hidden_fcs: Any = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, sam2["hidden_dim"])
        )
        self.grounding_encoder: Any = nn.ModuleDict({"sam2_model": Sam2Model(sam2)})
        languages = language_names(language)
        self._patterns = {"language_model": languages, "vision_model": VISION_NAMES, "grounding_encoder": SAM2_NAMES}
        self.names: list[str] = []
        """Trainable tensors in the lab's order."""
        self.trained: list[nn.Parameter] = []
        """Parameters of these tensors."""
        self.graphs = False
        """Whether the pass for one token is recorded as a CUDA graph."""
        self.lockstep: Lockstep | None = None
        """Synchronises a language model that is split over processes."""

    @property
    def sam2(self) -> Sam2Model:
        """The SAM2 inside the grounding encoder."""
        found: Sam2Model = self.grounding_encoder["sam2_model"]
        return found

    @property
    def device(self) -> torch.device:
        """Device of the model."""
        found: torch.device = self.mlp1[1].weight.device
        return found

    def block_of(self, name: str) -> str:
        """Block of a trainable tensor."""
        return next(block for block, prefix in _PREFIXES.items() if name.startswith(prefix))

    def published(self, name: str) -> str:
        """Name of a parameter or buffer in checkpoints."""
        return renamed(name, self._patterns.get(name.partition(".")[0], {}))

    def add_adapter(self, rank: int, alpha: float) -> None:
        """Adds adapters to every linear layer of the decoder and sets `names` and `trained`."""
        lora = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, bias="none", target_modules="all-linear")
        inject_adapter_in_model(lora, self.language_model)
        if self.language_model.get_input_embeddings().weight.dtype in _HALVES:
            for layer in (own for own in self.language_model.modules() if isinstance(own, LoraLayer)):
                # PEFT would keep every input in f32 as well.
                layer.cast_input_dtype_enabled = False
        self.requires_grad_(False)
        named = {self.published(name): own for name, own in self.named_parameters()}
        trains = (name for name in named if ".lora_" in name or not name.startswith(LANGUAGE))
        self.names = sorted((name for name in trains if name.startswith(tuple(_PREFIXES.values()))), key=self._place)
        self.trained = [named[name] for name in self.names]
        for parameter in self.trained:
            parameter.requires_grad_(True)
            parameter.data = parameter.data.to(self.mlp1[1].weight.dtype)

    def recompute(self) -> None:
        """Backward passes compute the decoder's layers again instead of keeping their activations."""
        for layer in self.language_model.model.layers:
            recompute(layer)

    def _place(self, name: str) -> tuple[int, int, int, str]:
        """Names block by block; adapters in the order of the forward pass: layer by layer, A before B."""
        parts, block = name.split("."), list(_PREFIXES).index(self.block_of(name))
        return (block, int(parts[3]), _LINEARS.index(parts[-3]), parts[-2]) if ".lora_" in name else (block, 0, 0, name)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """
        Within the block adapters have the base's precision and two products each, without gradient.

        Merged into a base in half precision, small adapters would round away.
        """
        layers = [own for own in self.language_model.modules() if isinstance(own, LoraLayer)]
        for layer in layers:
            base, scale = layer.get_base_layer(), layer.scaling["default"]
            down = layer.lora_A["default"].weight.detach().to(base.weight.dtype)
            up = (layer.lora_B["default"].weight.detach() * scale).to(base.weight.dtype)
            layer.forward = partial(_adapted, base, down.T, up.T)
        try:
            yield
        finally:
            for layer in layers:
                del layer.forward

    @contextmanager
    def values(self, values: Values) -> Iterator[None]:
        """Uses other values of the trainable tensors within a block."""
        own = [parameter.data for parameter in self.trained]
        try:
            self.put(values)
            yield
        finally:
            self.put(own)

    def put(self, values: Values) -> None:
        """Sets the trainable tensors to these values."""
        for parameter, value in zip(self.trained, values, strict=True):
            parameter.data = value

    @property
    def preparation(self) -> Callable[[Rgb, int], Prepared]:
        """What both towers read of a picture of at most some tiles, computed on the host."""
        return partial(_prepared, self.config, self.sam_size)

    @torch.no_grad()
    def look(self, picture: Prepared) -> Features:
        """Runs both frozen towers on a prepared picture."""
        weight = self.vision_model.embeddings.cls_token
        tiles = picture[0].to(weight, non_blocking=True)
        states = pixel_shuffle(self.vision_model(tiles), self.config.get("ps_version", "v2"))
        encoder = self.sam2.image_encoder
        whole = picture[1].to(encoder.trunk.pos_embed, non_blocking=True)
        before = torch.backends.cuda.matmul.allow_tf32
        # Of a CUDA device only. A base in half precision rounds more than this does.
        torch.backends.cuda.matmul.allow_tf32 = weight.dtype == torch.bfloat16
        try:
            levels = encoder(whole)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
        return Features(states.to(self.mlp1[1].weight.dtype), levels)

    def project(self, features: Features) -> Tensor:
        """Visual tokens [tiles, tokens, D] from the trainable projector."""
        out: Tensor = self.mlp1(features.vision)
        return out

    def embed(self, ids: list[int] | list[list[int]] | Tensor) -> Tensor:
        """Rows of the embedding table, [..., D], in the projector's precision."""
        table = self.language_model.get_input_embeddings()
        places = torch.as_tensor(ids, dtype=torch.long, device=self.device)
        out: Tensor = table(places).to(self.mlp1[1].weight.dtype)
        return out

    def states(self, x: Tensor, cache: DynamicCache | None = None, length: int | None = None, **more: Tensor) -> Tensor:
        """
        Normed hidden states [n, T, D] of embeddings after the cache's content.

        `length` is that of the whole sequence if this is a part of it.
        """
        if self.rotation is not None:
            self.rotation.length = length
        table = self.language_model.get_input_embeddings()
        if self.lockstep is not None:
            self.lockstep.enter()
        extra: dict[str, Any] = {CACHE: cache, "use_cache": cache is not None, **more}
        dtype = table.weight.dtype
        # Adapters stay in f32 and compute in the precision of a base in half, as they do while sampling.
        half = dtype in _HALVES and torch.amp.is_autocast_available(x.device.type)
        with torch.autocast(x.device.type, dtype) if half else nullcontext():
            out: Tensor = self.language_model.model(inputs_embeds=x.to(dtype), **extra).last_hidden_state
        return out

    def settle(self) -> None:
        """Ends a part of the step in which processes run different numbers of passes."""
        if self.lockstep is not None:
            self.lockstep.settle()

    def decoding_states(
        self, x: Tensor, cache: Slots, places: Tensor, keys: Tensor, real: Tensor, length: int | None = None
    ) -> Tensor:
        """
        Hidden states [n, T, D] of embeddings at `places` [n, T] after the cache's content.

        `keys` [n, K] are the positions of the cache's slots, `real` [n, K] marks the filled ones; `length` is that of
        the whole sequence.
        """
        table = self.language_model.get_input_embeddings()
        mask = visibility(places, keys, real, self.window, table.weight)
        out = self.states(x, cache, length, attention_mask=mask, position_ids=places)
        cache.at += x.shape[1]
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token scores, f32 or wider."""
        out: Tensor = self.language_model.get_output_embeddings()(hidden)
        return out if out.dtype == torch.float64 else out.float()

    def seg_prompt(self, hidden: Tensor) -> Tensor:
        """Prompts of the mask decoder [n, C] from states at [SEG]."""
        out: Tensor = self.text_hidden_fcs(hidden.to(self.mlp1[1].weight.dtype))
        return out


def load_model(
    folder: Path,
    frozen: torch.dtype = torch.float32,
    trained: torch.dtype = torch.float32,
    device: torch.device | None = None,
    halves: tuple[str, ...] = (),
) -> Sa2va:
    """
    Loads a checkpoint folder in the HuggingFace Sa2VA layout, frozen parts and the rest in these precisions.

    Matrices whose names start with one of `halves` are rounded to half precision first, as the lab stores them there.
    Tensors are read one by one from the mapped files to their device, so host memory holds a frozen tensor only in
    another precision than its file's, or not at all. Raises LabError naming a tensor that is missing or has another
    shape.
    """
    config = read_json(folder / "config.json")
    lacking = [name for name in _NEEDED if name not in config]
    if lacking:
        raise LabError(f"{folder / 'config.json'} lacks {lacking[0]}; this package runs Sa2VA on InternVL's towers")
    with init_empty_weights(include_buffers=False):
        model = Sa2va(config)
    places = _places(model)
    language: Any = model.language_model
    head, table = language.get_output_embeddings(), language.get_input_embeddings()
    found = set()
    for path in _weight_files(folder):
        with reading(path, *FORM):
            file, forget = mapped(path)
        for name in places.keys() & file.keys():
            value, targets = file[name], places[name]
            if value.dim() == 2 and name.startswith(halves) and name.endswith(".weight"):
                value = value.half()
            wanted = [target.shape for target, *_ in targets]
            if value.numel() != sum(map(math.prod, wanted)):
                shape = [len(wanted) * wanted[0][0], *wanted[0][1:]] if wanted[0] else []
                raise LabError(f"{name} has shape {list(value.shape)}, config.json asks for {shape}; not loaded")
            parts = value.chunk(len(targets)) if len(targets) > 1 else [value]
            for part, (target, module, own) in zip(parts, targets, strict=True):
                dtype = frozen if name.startswith((LANGUAGE, "vision_model.")) else trained
                # Only a tensor that trains must not share memory with the mapped file.
                trains = not name.startswith((LANGUAGE, *TOWERS))
                placed = part.reshape(target.shape).to(device, dtype, copy=trains)
                kept = nn.Parameter(placed, requires_grad=False) if isinstance(target, nn.Parameter) else placed
                setattr(module, own, kept)
            if all(getattr(module, own).untyped_storage().data_ptr() != value.untyped_storage().data_ptr()
                   for _, module, own in targets):  # fmt: skip
                forget(name)
            found.add(name)
    tied = next(name for name, targets in places.items() if any(module is head for _, module, _ in targets))
    missing = sorted(places.keys() - found - {tied})
    if missing:
        raise LabError(f"{folder} lacks {missing[0]} and {len(missing) - 1} more tensors; the model was not loaded")
    if head.weight.is_meta:
        head.weight = table.weight
    if frozen == torch.float64:
        _widen_norms(model)
    return model.to(device).eval()


def _places(model: Sa2va) -> dict[str, list[tuple[Tensor, nn.Module, str]]]:
    """Where the tensors of a checkpoint belong: by published name, the tensors to fill with their modules and names."""
    found: dict[str, list[tuple[Tensor, nn.Module, str]]] = {}
    for path, module in model.named_modules():
        # Buffers of the language model are computed, those of SAM2 are published.
        buffers = module.named_buffers(recurse=False) if path.startswith("grounding_encoder") else ()
        for name, own in (*module.named_parameters(recurse=False), *buffers):
            found.setdefault(model.published(f"{path}.{name}"), []).append((own, module, name))
    return found


def _widen_norms(model: Any) -> None:
    """Makes norms of transformers compute in f64 for a reference in f64; otherwise they always compute in f32."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child).__name__.endswith("RMSNorm"):
                own = nn.RMSNorm(len(child.weight), child.variance_epsilon)
                own.weight = child.weight
                setattr(parent, name, own)


_TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def mapped(path: Path) -> tuple[dict[str, Tensor], Callable[[str], None]]:
    """
    Tensors of a safetensors file in the mapped file itself, which the machine's processes share; writes stay private.

    The library's own reader copies each tensor. The function gives back the memory of a tensor that was copied since.
    """
    with path.open("rb") as file:
        begin = 8 + int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(begin - 8))
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    whole = torch.frombuffer(pages, dtype=torch.uint8)
    found = {}
    for name, about in header.items():
        if about.get("dtype") in _TYPES:
            start, end = (begin + at for at in about["data_offsets"])
            dtype, part = _TYPES[about["dtype"]], whole[start:end]
            found[name] = (part.clone() if start % dtype.itemsize else part).view(dtype).reshape(about["shape"])

    def forget(name: str) -> None:
        start, end = (begin + at for at in header[name]["data_offsets"])
        start, end = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE, end // mmap.PAGESIZE * mmap.PAGESIZE
        if start < end and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED, start, end - start)

    return found, forget


def _weight_files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if index.exists():
        return sorted({folder / name for name in read_json(index)["weight_map"].values()})
    single = folder / "model.safetensors"
    if not single.exists():
        raise LabError(f"{folder} has neither model.safetensors nor its index; the model was not loaded")
    return [single]
