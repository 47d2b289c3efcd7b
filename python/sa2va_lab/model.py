"""A Sa2VA checkpoint: language model and SAM2's blocks of transformers, the adapter of PEFT, the published names."""

import json
import math
import mmap
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from accelerate import init_empty_weights
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import LoraLayer
from torch import Tensor, nn
from transformers import DynamicCache

from .data import Rgb
from .errors import FORM, LabError, reading
from .extras import extra
from .families import Grid, family_of
from .language import (
    CACHE,
    WHOLE,
    Rotation,
    Slots,
    Turn,
    language_names,
    visibility,
    window_of,
)
from .masks import Mask
from .pictures import bicubic, normalise
from .sam2 import HIERA_L, SAM2_NAMES, Levels, Sam2Model
from .settings import read_json

if TYPE_CHECKING:
    from .shard import Lockstep

_SAM2 = "grounding_encoder.sam2_model."
_BLOCKS: dict[str, tuple[str, ...]] = {
    "seg-prompt": ("text_hidden_fcs.",),
    "mask-decoder": (f"{_SAM2}sam_mask_decoder.",),
    "prompt-encoder": (f"{_SAM2}sam_prompt_encoder.",),
}
_LINEARS = ("q_proj", "k_proj", "v_proj", "qkv_proj", "o_proj", "gate_proj", "up_proj", "gate_up_proj", "down_proj",
            "wqkv", "wo", "w1", "w3", "w2")  # fmt: skip

_HALVES = (torch.bfloat16, torch.float16)

Prepared = tuple[Tensor, Tensor]
"""Normalised pixels of a picture: what the vision tower reads [n, 3, h, w], and the whole one [1, 3, s, s]."""

Values = list[Tensor]
"""Values of the trainable tensors in order."""


@dataclass(frozen=True)
class Features:
    """Output of the frozen towers for a picture."""

    vision: Tensor
    """Tokens before the projector, [tiles · planes, tokens, C]."""
    levels: Levels
    grid: Grid
    tokens: int
    """Visual tokens of all tiles, including the thumbnail."""
    error: Tensor | None = None
    """Largest ‖rounded − computed‖ / ‖computed‖ of the maps; None where they are not rounded."""
    draw: Callable[[Mask], Tensor] | None = None
    """Tokens of the picture with a region drawn into it; None where regions are shown by copies of their tokens."""


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
        self.family = family_of(config)
        language, sam2 = self.family.language, HIERA_L | (config.get("sam2_config") or {})
        self.vision_model, self.projector = self.family.tower, self.family.projector
        self.language_model: Any = self.family.language_model()
        decoder: Any = self.language_model.model
        self.norm: Any = decoder.norm
        """The language model's last norm, which some families do not apply to the states that they read masks from."""
        decoder.norm = nn.Identity()
        self.sam_size: int = sam2["image_size"]
        """Side of SAM2's input."""
        self.window = window_of(language)
        self.rotation = next((own for own in self.language_model.modules() if isinstance(own, Rotation)), None)
        """Rotary angles of a language model that depend on more than a token's index."""
        self.width: int = language["hidden_size"]
        self.text_hidden_fcs: Any = nn.Sequential(
            nn.Linear(self.width, self.width), nn.ReLU(), nn.Linear(self.width, sam2["hidden_dim"])
        )
        self.grounding_encoder: Any = nn.ModuleDict({"sam2_model": Sam2Model(sam2)})
        self._patterns = {"language_model": language_names(language), "grounding_encoder": SAM2_NAMES}
        for part, own in self.family.patterns.items():
            self._patterns[part] = self._patterns.get(part, {}) | own
        self.blocks = {"projector": self.family.projector_names, "lora": (), **_BLOCKS}
        """Beginnings of the trainable tensors' names, block by block; adapters are told by their ends."""
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
        found: torch.device = self.text_hidden_fcs[0].weight.device
        return found

    @property
    def dtype(self) -> torch.dtype:
        """Precision of what trains."""
        found: torch.dtype = self.text_hidden_fcs[0].weight.dtype
        return found

    def block_of(self, name: str) -> str:
        """Block of a trainable tensor; empty for one that never trains."""
        if ".lora_" in name:
            return "lora"
        return next((block for block, prefixes in self.blocks.items() if name.startswith(prefixes)), "")

    def part_of(self, name: str) -> str:
        """The frozen part of a tensor of the checkpoint: "language", "vision" or "sam2"; empty for others."""
        # A projector that the published training freezes is stored like the tower.
        if self.block_of(name) and (self.family.trains_projector or self.block_of(name) != "projector"):
            return ""
        parts = {"language": self.family.language_names, "vision": self.family.tower_names,
                 "sam2": (f"{_SAM2}image_encoder.",)}  # fmt: skip
        return next((part for part, prefixes in parts.items() if name.startswith(prefixes)), "")

    def published(self, name: str) -> str:
        """Name of a parameter or buffer in checkpoints."""
        whole = f"language_model.model.{name}" if name.startswith("norm.") else name
        return renamed(whole, self._patterns.get(whole.partition(".")[0], {}))

    def peft_name(self, name: str) -> str:
        """Name of an adapter's tensor in PEFT's file."""
        return "base_model.model." + name.removeprefix(self.family.wrapped)

    def adapted(self) -> list[str]:
        """Value of PEFT's `target_modules`: the adapted layers' last names, or one pattern of their paths."""
        ends = sorted({name.split(".")[-3] for name in self.names if ".lora_" in name})
        layers = self.family.layers.replace(".", "\\.")
        return [f"{layers}.*\\.({'|'.join(ends)})"] if layers and ends else ends

    def add_adapter(self, rank: int, alpha: float, projector: str = "auto") -> None:
        """
        Adds adapters to every linear layer of the decoder and sets `names` and `trained`.

        `projector` says whether it trains: "yes", "no", or "auto" for what the published training does.
        """
        lora = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=0.0, bias="none", target_modules="all-linear")
        inject_adapter_in_model(lora, self.language_model.model)
        if self.language_model.get_input_embeddings().weight.dtype in _HALVES:
            for layer in (own for own in self.language_model.modules() if isinstance(own, LoraLayer)):
                # PEFT would keep every input in f32 as well.
                layer.cast_input_dtype_enabled = False
        self.requires_grad_(False)
        named = {self.published(name): own for name, own in self.named_parameters()}
        wanted = set(self.blocks)
        if projector == "no" or (projector == "auto" and not self.family.trains_projector):
            wanted.remove("projector")
        self.names = sorted((name for name in named if self.block_of(name) in wanted), key=self._place)
        self.trained = [named[name] for name in self.names]
        for parameter in self.trained:
            parameter.requires_grad_(True)
            parameter.data = parameter.data.to(self.dtype, copy=True)

    def recompute(self) -> None:
        """Backward passes compute the decoder's layers again instead of keeping their activations."""
        extra("memory", "gradientCheckpointing").recompute(self.language_model.model.layers)

    def _place(self, name: str) -> tuple[int, int, int, str]:
        """Names block by block; adapters in the order of the forward pass: layer by layer, A before B."""
        parts, block = name.split("."), list(self.blocks).index(self.block_of(name))
        if ".lora_" not in name:
            return block, 0, 0, name
        return block, int(parts[parts.index("layers") + 1]), _LINEARS.index(parts[-3]), parts[-2]

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

    def preparation(self, most_tiles: int, twice: bool) -> Callable[[Rgb], Prepared]:
        """What both towers read of a picture of at most some tiles, computed on the host."""

        def prepared(rgb: Rgb) -> Prepared:
            whole = normalise(bicubic(rgb, self.sam_size, self.sam_size)[None])
            return self.family.pixels(rgb, most_tiles, twice), whole

        return prepared

    @torch.no_grad()
    def see(self, pixels: Tensor) -> Tensor:
        """Tokens before the projector."""
        weight = next(self.vision_model.parameters())
        return self.family.see(pixels.to(weight, non_blocking=True)).to(self.dtype)

    @torch.no_grad()
    def look(self, picture: Prepared, height: int, width: int) -> Features:
        """Runs both frozen towers on a prepared picture of this size."""
        vision = self.see(picture[0])
        whole = picture[1].to(self.sam2.image_encoder.trunk.pos_embed, non_blocking=True)
        before = torch.backends.cuda.matmul.allow_tf32
        # Of a CUDA device only. A base in half precision rounds more than this does.
        half = self.language_model.get_input_embeddings().weight.dtype
        torch.backends.cuda.matmul.allow_tf32 = half == torch.bfloat16
        try:
            levels = self.sam2.encode(whole)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
        return Features(vision, levels, self.family.grid(height, width), self.family.tokens(vision))

    def project(self, features: Features) -> Tensor:
        """Visual tokens [tiles, tokens, W] from the projector, with what layers add to them beside the D channels."""
        weight = next(self.projector.parameters())
        return self.family.project(features.vision.to(weight.dtype)).to(self.dtype)

    def embed(self, ids: list[int] | list[list[int]] | Tensor) -> Tensor:
        """Rows of the embedding table, [..., W], in the precision of what trains; layers add nothing to them."""
        table = self.language_model.get_input_embeddings()
        places = torch.as_tensor(ids, dtype=torch.long, device=self.device)
        return self.family.widened(table(places).to(self.dtype))

    def states(self, x: Tensor, cache: DynamicCache | None = None, turn: Turn = WHOLE, **more: Tensor) -> Tensor:
        """
        Hidden states [n, T, D] of embeddings [n, T, W] after the cache's content, before the last norm.

        `turn` describes the whole sequence, if this is a part of it or has a picture.
        """
        if self.rotation is not None:
            self.rotation.turn = turn
        if self.lockstep is not None:
            self.lockstep.enter()
        dtype = self.language_model.get_input_embeddings().weight.dtype
        given: dict[str, Any] = {CACHE: cache, "use_cache": cache is not None, **more}
        # Adapters stay in f32 and compute in the precision of a base in half, as they do while sampling.
        half = dtype in _HALVES and torch.amp.is_autocast_available(x.device.type)
        with torch.autocast(x.device.type, dtype) if half else nullcontext():
            out: Tensor = self.language_model.model(inputs_embeds=x.to(dtype), **given).last_hidden_state
        return out

    def settle(self) -> None:
        """Ends a part of the step in which processes run different numbers of passes."""
        if self.rotation is not None:
            self.rotation.turn = WHOLE
        if self.lockstep is not None:
            self.lockstep.settle()

    def decoding_states(
        self, x: Tensor, cache: Slots, places: Tensor, keys: Tensor, real: Tensor, turn: Turn = WHOLE
    ) -> Tensor:
        """
        Hidden states [n, T, D] of embeddings at `places` [n, T] after the cache's content, before the last norm.

        `keys` [n, K] are the positions of the cache's slots, `real` [n, K] marks the filled ones; `turn` describes the
        whole sequences.
        """
        table = self.language_model.get_input_embeddings()
        mask = visibility(places, keys, real, self.window, table.weight)
        out = self.states(x, cache, turn, attention_mask=mask, position_ids=places)
        cache.at += x.shape[1]
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token scores of states, f32 or wider."""
        out: Tensor = self.language_model.get_output_embeddings()(self.norm(hidden))
        return out if out.dtype == torch.float64 else out.float()

    def seg_prompt(self, hidden: Tensor) -> Tensor:
        """Prompts of the mask decoder [n, C] from states at [SEG]."""
        read = self.norm(hidden) if self.family.seg_after_norm else hidden
        out: Tensor = self.text_hidden_fcs(read.to(self.dtype))
        return out


def load_model(
    folder: Path,
    frozen: torch.dtype = torch.float32,
    trained: torch.dtype = torch.float32,
    device: torch.device | None = None,
    halves: Collection[str] = (),
) -> Sa2va:
    """
    Loads a checkpoint folder in the HuggingFace Sa2VA layout, frozen parts and the rest in these precisions.

    Matrices of the parts in `halves` are rounded to half precision first, as the lab stores them there.
    Tensors are read one by one from the mapped files to their device, so host memory holds a frozen tensor only in
    another precision than its file's, or not at all. Raises LabError naming a tensor that is missing or has another
    shape.
    """
    with init_empty_weights(include_buffers=False):
        model = Sa2va(read_json(folder / "config.json"))
    places = _places(model)
    language: Any = model.language_model
    head, table = language.get_output_embeddings(), language.get_input_embeddings()
    found = set()
    for path in _weight_files(folder):
        with reading(path, *FORM):
            file, forget = mapped(path)
        for name in places.keys() & file.keys():
            value, targets = file[name], places[name]
            part = model.part_of(name)
            if value.dim() == 2 and part in halves and name.endswith(".weight"):
                value = value.half()
            wanted = [target.shape for target, *_ in targets]
            if value.numel() != sum(map(math.prod, wanted)):
                shape = [len(wanted) * wanted[0][0], *wanted[0][1:]] if wanted[0] else []
                raise LabError(f"{name} has shape {list(value.shape)}, config.json asks for {shape}; not loaded")
            pieces = value.chunk(len(targets)) if len(targets) > 1 else [value]
            for piece, (target, module, own) in zip(pieces, targets, strict=True):
                dtype = frozen if part in ("language", "vision") else trained
                # Only a tensor that may train must not share memory with the mapped file.
                placed = piece.reshape(target.shape).to(device, dtype, copy=not part)
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
    for path, module in list(model.named_modules()):
        if type(module).__name__.endswith("RMSNorm"):
            own = nn.RMSNorm(len(module.weight), module.variance_epsilon)
            own.weight = module.weight
            model.set_submodule(path, own)


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
