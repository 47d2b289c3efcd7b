"""The families of vision towers that the package runs; a new one is a file here and its name in the list."""

from typing import Any

from ..errors import LabError
from .family import Family, Grid
from .internvl import InternVl
from .qwen_vl import QwenVl

FAMILIES: tuple[type[Family], ...] = (InternVl, QwenVl)

__all__ = ["Family", "Grid", "family_of"]


def family_of(config: dict[str, Any]) -> Family:
    """The family of a checkpoint by its config.json. Raises LabError where there is none, or a size is missing."""
    tower = (config.get("vision_config") or {}).get("model_type", "")
    found = next((own for own in FAMILIES if own.matches(tower)), None)
    if found is None:
        known = " and ".join(own.runs for own in FAMILIES)
        raise LabError(f"config.json has the vision tower {tower}; this package runs Sa2VA on {known}")
    lacking = [name for name in found.needed if name not in config]
    if lacking:
        raise LabError(f"config.json lacks {lacking[0]}, which Sa2VA on {found.runs} has; the model was not loaded")
    return found(config)
