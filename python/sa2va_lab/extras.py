"""The parts that the core does not import. A part is the module of its name, and an extra of the package."""

from importlib import import_module
from typing import Any

from .errors import LabError

_PARTS: dict[str, dict[object, str]] = {
    "mode": {"sft": "sft"},
    "maskPolicy": dict.fromkeys(("embedding", "pixels", "imitation"), "mask_policies"),
    "judge": {"questions": "judge", "dlc": "judge"},
    "vision_config.model_type": {"qwen2_5_vl": "qwen_vl", "qwen3_vl": "qwen_vl"},
    "--shard": {"fsdp2": "shard"},
}
"""Parts by the values that need them."""


def extra(name: str, why: str) -> Any:
    """The module of a part. Raises LabError without it."""
    try:
        return import_module(f".{name}", __package__)
    except ImportError as cause:
        raise LabError(f'{why} needs the extra {name}: pip install "./python[{name}]"; nothing was changed') from cause


def part_of(kind: str, value: object) -> Any:
    """The part that a value needs; None where the core has it. Raises LabError without the part."""
    name = _PARTS[kind].get(value)
    return None if name is None else extra(name, f"{kind} {value}")
