"""The run's settings and the texts that both sides share, from run.json and `scale/contract.json`."""

import json
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .errors import FORM, LabError, reading
from .table import Table

# Settings that are used, settings of the page that have no effect here, refused ones, and the known choices.
_KNOWN: dict[str, Any] = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
LOOPS = (1, 2, 3)
BATCH = ("promptsPerStep", "accumulation", "stepsPerGeneration")
"""Settings that decide how many rows a step draws."""


def attribute(name: str) -> str:
    """Name in this package of a setting of the lab."""
    return re.sub("([A-Z])", r"_\1", name).lower()


def renamed(values: dict[str, Any]) -> dict[str, Any]:
    """The values of settings that an earlier version may have written, under today's names."""
    return {_KNOWN["former"].get(name, name): value for name, value in values.items()}


@dataclass(frozen=True)
class Settings(Table):
    """The settings that have an effect here (docs/settings.md in the lab); others cannot be read."""

    weights: dict[int, dict[str, float]]
    """Of the reward terms by loop, negative for costs."""

    def changed(self, **change: Any) -> "Settings":
        """The same settings with changes."""
        return replace(self, **change)

    @property
    def active_loops(self) -> list[int]:
        """Loops that train."""
        if self.loops != "both":
            return [int(self.loops)]
        return [1, 2, 3] if self.loop3_weight > 0 else [1, 2]

    @property
    def loop_weights(self) -> dict[int, float]:
        """Weights of the loops' losses in the sum."""
        return {1: self.loop1_weight, 2: self.loop2_weight, 3: self.loop3_weight}

    @property
    def windows(self) -> int:
        """Accumulation windows per set of rollouts."""
        return max(1, int(self.steps_per_generation // self.accumulation))

    @property
    def groups(self) -> int:
        """Groups that each loop samples in a step, over all processes."""
        return self.windows * int(self.accumulation * self.prompts_per_step)

    @property
    def rows_per_step(self) -> int:
        """Rows that a loop draws in a step, also in supervised mode."""
        return self.groups if self.mode != "sft" else int(self.accumulation * self.prompts_per_step)

    def window(self, turn: int) -> range:
        """Indices of the groups that an update trains; `turn` counts the updates of a step."""
        size, at = self.groups // self.windows, turn % self.windows
        return range(at * size, (at + 1) * size)

    @property
    def needs_reference(self) -> bool:
        """Whether the loss uses the reference."""
        return bool(self.beta > 0 or self.objective == "notes")


GAINS = ("iou", "meteor", "judge", "likelihood", "contrast", "confidence", "box", "centre", "banded", "target",
         "form", "user")  # fmt: skip
COSTS = ("length", "repetition", "leak")


def parse_settings(config: dict[str, Any], defaults: dict[str, Any], own_reward: bool = False) -> Settings:
    """
    Settings of a run; `own_reward` says that a custom reward in Python is given.

    Raises LabError naming the settings that this package cannot run.
    """
    given, names = defaults | config, set(_KNOWN["used"])
    ends = {term: term.capitalize() for term in GAINS} | {term: f"{term.capitalize()}Cost" for term in COSTS}
    keys = {loop: {term: f"loop{loop}{end}" for term, end in ends.items()} for loop in LOOPS}
    terms = {key for own in keys.values() for key in own.values()}
    missing = sorted((names | terms) - given.keys())
    if missing:
        raise LabError(f"run.json and scale/contract.json lack {', '.join(missing)}; export the run again")
    weights = {
        loop: {term: 0 - given[key] if term in COSTS else given[key] for term, key in own.items()}
        for loop, own in keys.items()
    }
    settings = Settings(**{attribute(name): given[name] for name in names}, weights=weights)
    reasons = _refusals(given, defaults, names | terms)
    if not own_reward and any(weights[loop]["user"] != 0 for loop in settings.active_loops):
        reasons.append("userReward (the lab runs JavaScript; give the same function in Python by --reward)")
    if reasons:
        raise LabError(f"This package does not run {', '.join(reasons)}; nothing was changed")
    return settings


def _refusals(given: dict[str, Any], defaults: dict[str, Any], names: set[str]) -> list[str]:
    """Settings that would change the run and are unknown here, each with its value or reason."""
    unused = ("judgeRange",) if given.get("judge") == "off" else ()
    refused: dict[str, str] = _KNOWN["refused"]
    found = [f"{name} ({why})" for name, why in refused.items() if given.get(name) != defaults.get(name)]
    chosen = ((name, given.get(name), choices) for name, choices in _KNOWN["choices"].items() if name not in unused)
    found += [f"{name}={value}" for name, value, choices in chosen if value not in choices]
    known = names | set(_KNOWN["tab"]) | set(refused) | set(_KNOWN["choices"])
    found += [name for name, value in given.items() if name not in known and value != defaults.get(name)]
    return sorted(found)


@dataclass(frozen=True)
class Contract:
    """Texts and constants of the lab version that exported the run."""

    wordings: dict[str, str]
    templates: dict[str, dict[str, Any]]
    """Chat templates: the user's turn is written between `before` and `after`."""
    streams: dict[str, int]
    evaluation: dict[str, int]
    judge: dict[str, str]
    """The judge's prompts."""
    defaults: dict[str, Any]


def read_json(path: Path) -> Any:
    """A JSON file. Raises LabError naming it."""
    with reading(path, RecursionError):
        return json.loads(path.read_text(encoding="utf-8"))


def whole_lines(path: Path) -> list[bytes]:
    """Lines of a file without a truncated last one; empty if there is no file."""
    return [line for line in path.read_bytes().split(b"\n")[:-1] if line] if path.exists() else []


def read_lines(path: Path) -> list[Any]:
    """Complete lines of a file of JSON lines; empty if there is no file. Raises LabError naming a damaged one."""
    found = []
    for at, line in enumerate(whole_lines(path), 1):
        with reading(f"{path} line {at}", RecursionError):
            found.append(json.loads(line))
    return found


def read_contract(run: Path) -> Contract:
    """The contract of an exported run. Raises LabError when the folder was not exported for this package."""
    path = run / "scale" / "contract.json"
    if not path.exists():
        raise LabError(f"{path} is missing; export the run with --format scale-out")
    given = read_json(path)
    with reading(path, *FORM):
        if given["format"] != "sa2va-lab-scale/2":
            raise LabError(f"{path} is not of the form sa2va-lab-scale/2; export the run again")
        found = {field.name: given[field.name] for field in fields(Contract)}
        return Contract(**found | {"defaults": renamed(found["defaults"])})
