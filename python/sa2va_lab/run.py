"""An open run: model, data, state and folder, at a step."""

import argparse
import runpy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .data import RunData
from .errors import FORM, LabError, reading
from .fingerprint import model_hash
from .folder import RunFolder, step_name
from .judge import CaptionJudge
from .meteor import Meteor, Wordnet
from .model import Sa2va, load_model
from .order import RowOrder
from .play import Context
from .policy import Actor
from .rewards import Scorer
from .settings import Settings, parse_settings, read_contract
from .sft import sft_step
from .shard import check_shares, split
from .state import State, fresh_state, init_adapter
from .step import Outcome, grpo_step
from .team import Team
from .text import Words

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def step_of(run: "OpenRun", team: Team) -> Outcome:
    """The next step of a run under its settings."""
    run.context.rounding = 0.0
    outcome = (sft_step if run.settings.mode == "sft" else grpo_step)(run.context, team)
    if run.settings.featureStorage == "f16":
        outcome.metrics["features/rounding"] = max(team.all_of([run.context.rounding]))
    return outcome


@dataclass
class OpenRun:
    """A run folder with everything that a step needs."""

    folder: RunFolder
    context: Context
    step: int
    """Steps done."""
    dtype: str

    @property
    def settings(self) -> Settings:
        """The run's settings."""
        return self.context.settings


def arguments(about: str | None) -> argparse.ArgumentParser:
    """Arguments of every command line that opens a run."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="run folder of an export with --format scale-out")
    parser.add_argument("--model", type=Path, required=True, help="folder of the checkpoint that the run began with")
    parser.add_argument("--shards", type=Path, nargs="+", required=True, help="folders of the run's data set")
    parser.add_argument(
        "--dtype",
        choices=list(DTYPES),
        help="precision of the frozen model; default: bf16 on a GPU, f32 elsewhere and in replays",
    )
    parser.add_argument("--shard", choices=["fsdp2"], help="splits the frozen language model over the processes")
    parser.add_argument("--graphs", action="store_true", help="decodes with CUDA graphs")
    parser.add_argument("--reward", type=Path, help="Python file with reward(rollout) in place of the custom reward")
    return parser


def open_run(given: argparse.Namespace, team: Team, step: int | None = None) -> OpenRun:
    """
    Opens a run at its newest checkpoint, at `step`, or at its start. `given` holds the values of `arguments`.

    Raises LabError when model or shards are not those of the run.
    """
    path: Path = given.run
    model_folder: Path = given.model
    dtype = given.dtype or ("bf16" if team.device.type == "cuda" else "f32")
    folder = RunFolder(path)
    if step and step not in folder.checkpoints():
        raise LabError(f"{path} has no checkpoint of step {step}, only of {folder.checkpoints()}; nothing was changed")
    contract = read_contract(path)
    with reading(path, *FORM):
        config = dict(folder.manifest["config"])
        name, fingerprint = (folder.manifest["model"][key] for key in ("name", "hash"))
        spent = folder.spending()
    settings = parse_settings(config, contract.defaults, given.reward is not None)
    if settings.groups < team.world:
        raise LabError(f"{team.world} processes are more than the {settings.groups} groups per loop of a step")
    if model_hash(model_folder) != fingerprint:
        raise LabError(f"--model holds another checkpoint than {name}, which the run was trained on")
    data = RunData(path, given.shards)
    trained = torch.float64 if dtype == "f64" else torch.float32
    model = load_model(model_folder, DTYPES[dtype], trained)
    model.add_adapter(settings.loraRank, settings.loraAlpha)
    init_adapter(model, settings.seed, contract.streams["init"])
    if given.shard is not None:
        check_shares(settings, team)
        split(model, team)
    model.to(team.device)
    model.graphs = given.graphs
    folder.load_start(model)
    state = fresh_state(model, settings)
    at = _restored(folder, model, state, team) if step is None else step
    if step:
        folder.restore(step, model, state)
    words = Words(model_folder, model.config, contract)
    actor = Actor(model, words, settings)
    judge = None
    if settings.judge != "off":
        kept = path.parent / ".judge" / "replies.jsonl"
        judge = CaptionJudge(settings, contract.judge, kept, (team.rank, team.world), spent)
    order = RowOrder(data.known(contract.streams), settings)
    custom = None if given.reward is None else _own_reward(given.reward)
    scorer = Scorer(Meteor(Wordnet(path / "scale" / "wordnet30.txt")), judge, custom)
    return OpenRun(folder, Context(actor, contract, data, state, scorer, order, at + 1), at, dtype)


def _restored(folder: RunFolder, model: Sa2va, state: State, team: Team) -> int:
    """Restores the newest checkpoint that all processes can use and returns its step; 0 without any."""
    first = ""
    for step in reversed(team.all_of(folder.checkpoints() if team.first else [])):
        damaged: list[str] = []
        try:
            with reading(f"{folder.path}, {step_name(step)}"):
                folder.restore(step, model, state)
        except LabError as wrong:
            damaged.append(str(wrong))
        damaged = team.all_of(damaged)
        if not damaged:
            if first and team.first:
                print(f"{first}; the run goes on from step {step}", file=sys.stderr)
            return step
        first = first or damaged[0]
    if first:
        raise LabError(f"{first}; nothing was changed")
    return 0


def _own_reward(path: Path) -> Callable[[dict[str, Any]], object]:
    """The function `reward` of a Python file. Raises LabError when there is none."""
    with reading(f"--reward {path}", Exception):
        names = runpy.run_path(str(path), run_name=path.stem)
    if not callable(names.get("reward")):
        raise LabError(f"--reward {path} has no function reward(rollout)")
    found: Callable[[dict[str, Any]], object] = names["reward"]
    return found
