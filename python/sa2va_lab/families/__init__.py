"""The families of vision towers: the core's, and those of parts."""

from typing import Any

from ..errors import LabError
from ..extras import part_of
from .family import Family, Grid
from .internvl import InternVl

__all__ = ["Family", "Grid", "family_of"]


def family_of(config: dict[str, Any]) -> Family:
    """The family of a checkpoint by its config.json. Raises LabError where there is none, or a size is missing."""
    tower = (config.get("vision_config") or {}).get("model_type", "")
    part = part_of("vision_config.model_type", tower)
    found: type[Family] = InternVl if part is None else part.FAMILY
    if part is None and tower and not tower.startswith("intern_vit"):
        raise LabError(
            f"config.json has the vision tower {tower}; this package runs Sa2VA on InternVL, Qwen2.5-VL and Qwen3-VL"
        )
    lacking = [name for name in found.needed if name not in config]
    if lacking:
        raise LabError(f"config.json lacks {lacking[0]}, which Sa2VA on {found.runs} has; the model was not loaded")
    return found(config)
