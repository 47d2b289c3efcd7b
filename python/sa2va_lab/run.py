"""A run that is open: model, data, state and folder, at a step."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .data import RunData
from .errors import LabError
from .folder import RunFolder
from .judge import CaptionJudge
from .meteor import Meteor, Wordnet
from .model import load_model, model_hash
from .play import Context
from .policy import Actor
from .rewards import Scorer
from .settings import Settings, parse_settings, read_contract
from .sft import sft_step
from .shard import check_shares, split
from .state import fresh_state, init_adapter
from .step import Outcome, grpo_step
from .team import Team
from .text import Words

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def step_of(run: "OpenRun", team: Team) -> Outcome:
    """The next step of a run, as its settings say."""
    return (sft_step if run.settings.mode == "sft" else grpo_step)(run.context, team)


@dataclass
class OpenRun:
    """A run folder with everything that a step works on."""

    folder: RunFolder
    settings: Settings
    context: Context
    step: int
    """Steps done."""


def open_run(
    path: Path, model_folder: Path, shards: list[Path], dtype: str, team: Team, step: int | None = None,
    reward: Path | None = None, shard: bool = False,
) -> OpenRun:  # fmt: skip
    """
    Opens a run at its newest checkpoint, at `step`, or at its start.

    `reward` is a custom reward in Python; `shard` splits the frozen language model over the processes.

    Raises LabError when model or shards are other ones than the run drew from.
    """
    folder = RunFolder(path)
    contract = read_contract(path)
    settings = parse_settings(folder.manifest["config"], contract.defaults, reward is not None)
    about = folder.manifest["model"]
    if model_hash(model_folder) != about["hash"]:
        raise LabError(f"--model holds another checkpoint than {about['name']}, which the run was trained on")
    data = RunData(path, shards)
    trained = torch.float64 if dtype == "f64" else torch.float32
    model = load_model(model_folder, DTYPES[dtype], trained)
    model.add_adapter(settings.loraRank, settings.loraAlpha)
    init_adapter(model, settings.seed, contract.streams["init"])
    if shard:
        check_shares(settings, team)
        split(model, team)
    model.to(team.device)
    folder.load_start(model)
    state = fresh_state(model, settings)
    known = folder.checkpoints()
    at = (known[-1] if known else 0) if step is None else step
    if at > 0:
        folder.restore(at, model, state)
    words = Words(model_folder, model.config, contract)
    actor = Actor(model, words, settings)
    judge = None
    if settings.judge != "off":
        judge = CaptionJudge(settings, contract.judge, path.parent / ".judge" / "replies.jsonl", team.world)
    custom = None if reward is None else _own_reward(reward)
    scorer = Scorer(Meteor(Wordnet(path / "scale" / "wordnet30.txt")), judge, custom)
    return OpenRun(folder, settings, Context(actor, settings, contract, data, state, scorer, at + 1), at)


def _own_reward(path: Path) -> Callable[[dict[str, Any]], object]:
    """The function `reward` of a Python file. Raises LabError when there is none."""
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    except Exception as cause:
        raise LabError(f"--reward {path} cannot be loaded ({type(cause).__name__}: {cause})") from cause
    if not callable(names.get("reward")):
        raise LabError(f"--reward {path} has no function reward(rollout)")
    found: Callable[[dict[str, Any]], object] = names["reward"]
    return found
