"""What differs between the families of vision towers; everything else is the same for all."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor, nn

from ..data import Rgb
from ..language import language_model

Grid = tuple[int, int]
"""Rows and columns of the visual tokens of a tile, or of a picture that is not cut."""


class Family(ABC):
    """A vision tower, its projector, and the names of both in checkpoints."""

    runs: str
    """What it is called, for messages."""
    needed: tuple[str, ...]
    """Fields that config.json must have."""
    language: dict[str, Any]
    """config.json's block of the language model, with its class in `architectures`."""
    language_names: tuple[str, ...]
    """Beginnings of the published names of the language model's tensors."""
    tower_names: tuple[str, ...]
    """Beginnings of the names of the tower's tensors, and perhaps of the projector's."""
    projector_names: tuple[str, ...]
    patterns: ClassVar[dict[str, dict[str, str]]]
    """Published names: by a part of the model, patterns of this package's names and their replacements, in order."""
    wrapped: str
    """Beginning of the names inside the part that PEFT wraps."""
    layers = ""
    """Path to the adapted layers in the wrapped part, where others have layers of the same names."""
    region_prompt = "tokens"
    """How the published model was shown regions."""
    trains_projector = True
    """Whether the published training trains the projector."""
    seg_after_norm = True
    """Whether [SEG]'s state is read after the language model's last norm."""
    tower: nn.Module
    projector: nn.Module

    @abstractmethod
    def __init__(self, config: dict[str, Any]) -> None:
        """`config` is config.json with all needed fields. Makes both modules."""

    def language_model(self) -> Any:
        """The language model, with a head."""
        return language_model(self.language)

    def widened(self, x: Tensor) -> Tensor:
        """Embeddings [..., W] that only repeat what the language model reads first, from those of any token."""
        return x

    def tokens(self, vision: Tensor) -> int:
        """Visual tokens of the result of `see`."""
        return len(vision) * vision.shape[1]

    @abstractmethod
    def grid(self, height: int, width: int) -> Grid:
        """Visual tokens of each tile of a picture of this size."""

    @abstractmethod
    def pixels(self, rgb: Rgb, most_tiles: int, twice: bool) -> Tensor:
        """What the tower reads of a picture, [n, 3, h, w]; `twice` resizes it as published inference does."""

    @abstractmethod
    def see(self, pixels: Tensor) -> Tensor:
        """Tokens before the projector, [tiles or planes, tokens, C]."""

    @abstractmethod
    def project(self, vision: Tensor) -> Tensor:
        """[tiles, tokens, W] from the result of `see`; what later layers add is beside the token."""
