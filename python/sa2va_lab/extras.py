"""The parts that the core does not import. A part is the module of its name, and an extra of the package."""

from importlib import import_module
from typing import Any

from .errors import LabError
from .settings import Settings, attribute

_PARTS: dict[str, dict[object, str]] = {
    "mode": {"sft": "sft"},
    "maskPolicy": dict.fromkeys(("field", "embedding", "pixels", "imitation", "proposals"), "mask_policies"),
    "maskAnchor": {"start": "mask_policies", "truth": "mask_policies"},
    "lossType": dict.fromkeys(("cispo", "sapo", "luspo", "vespo"), "losses"),
    "multiObjectiveAggregation": {"normalize_then_sum": "losses"},
    "curriculum": {"easy": "mixes", "hard": "mixes"},
    "zeroSpreadRows": {"skip": "mixes"},
    "judge": {"questions": "judge", "dlc": "judge"},
    "vision_config.model_type": {"qwen2_5_vl": "qwen_vl", "qwen3_vl": "qwen_vl"},
    "architectures": {"InternLM2ForCausalLM": "internlm2"},
    "rope_type": {"dynamic": "rotation", "longrope": "rotation"},
    "regionPrompt": {"outline": "regions", "dim": "regions"},
    "featureStorage": {"f16": "memory"},
    "weightStorage": {"f16": "memory"},
    "towerStorage": {"f16": "memory"},
    "--shard": {"fsdp2": "shard"},
}
"""Parts by the values that need them."""
_SWITCHED: dict[str, tuple[object, str]] = {
    "mixSources": ("", "mixes"), "lengthGrouping": (False, "mixes"), "resampleRounds": (0, "variants"),
    "shuffleRewards": (False, "variants"), "useAdaptiveEntropy": (False, "variants"),
    "syncRefModel": (False, "variants"), "partnerSamples": (1, "variants"), "gradientCheckpointing": (False, "memory"),
    "microRollouts": (0, "memory"), "topEntropyQuantile": (1, "losses"), "offPolicyMaskThreshold": (0, "losses"),
    "topK": (0, "draws"), "topP": (1, "draws"), "minP": (0, "draws"), "repetitionPenalty": (1, "draws"),
    "likelihood": (False, "likelihood"),
}  # fmt: skip
"""Parts by the settings that need them unless they have these values."""
_TERMS = dict.fromkeys(
    ("confidence", "box", "centre", "banded", "target", "form", "length", "repetition", "leak"), "terms"
) | dict.fromkeys(("likelihood", "contrast"), "likelihood")
"""Parts by the reward terms that they compute."""


def optional(name: str) -> Any:
    """The module of a part; None where its files, or the libraries that it needs, were left out."""
    try:
        return import_module(f".{name}", __package__)
    except ModuleNotFoundError:
        return None


def extra(name: str, why: str) -> Any:
    """The module of a part. Raises LabError without it."""
    found = optional(name)
    if found is None:
        raise LabError(f'{why} needs the extra {name}: pip install "./python[{name}]"; nothing was changed')
    return found


def part_of(kind: str, value: object) -> Any:
    """The part that a value needs; None where the core has it. Raises LabError without the part."""
    name = _PARTS.get(kind, {}).get(value)
    if kind in _SWITCHED and value != _SWITCHED[kind][0]:
        name = _SWITCHED[kind][1]
    return None if name is None else extra(name, f"{kind} {value}")


def part_for(settings: Settings, *kinds: str) -> Any:
    """The part that one of these settings needs; None where the core has all. Raises LabError without the part."""
    found = (part_of(kind, getattr(settings, attribute(kind))) for kind in kinds)
    return next((part for part in found if part is not None), None)


def needed(settings: Settings) -> None:
    """Raises LabError for the first setting whose part is missing."""
    part_for(settings, *(kind for kind in (*_PARTS, *_SWITCHED) if hasattr(settings, attribute(kind))))
    for loop in settings.active_loops:
        for term, weight in settings.weights[loop].items():
            if weight != 0 and term in _TERMS:
                extra(_TERMS[term], f"The reward term {term}")
