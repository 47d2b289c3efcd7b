"""A run that is open: model, data, state and folder, at a step."""

from dataclasses import dataclass
from pathlib import Path

import torch

from .data import RunData
from .errors import LabError
from .folder import RunFolder
from .meteor import Meteor, Wordnet
from .model import load_model, model_hash
from .play import Context
from .policy import Actor
from .settings import Settings, parse_settings, read_contract
from .sft import sft_step
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
    path: Path, model_folder: Path, shards: list[Path], dtype: str, device: torch.device, step: int | None = None
) -> OpenRun:
    """
    Opens a run at its newest checkpoint, at `step`, or at its start.

    Raises LabError when model or shards are other ones than the run drew from.
    """
    folder = RunFolder(path)
    contract = read_contract(path)
    settings = parse_settings(folder.manifest["config"], contract.defaults)
    about = folder.manifest["model"]
    if model_hash(model_folder) != about["hash"]:
        raise LabError(f"--model holds another checkpoint than {about['name']}, which the run was trained on")
    data = RunData(path, shards)
    trained = torch.float64 if dtype == "f64" else torch.float32
    model = load_model(model_folder, DTYPES[dtype], trained)
    model.to(device)
    model.add_adapter(settings.loraRank, settings.loraAlpha)
    init_adapter(model, settings.seed, contract.streams["init"])
    folder.load_start(model)
    state = fresh_state(model)
    known = folder.checkpoints()
    at = (known[-1] if known else 0) if step is None else step
    if at > 0:
        folder.restore(at, model, state)
    words = Words(model_folder, model.config, contract)
    actor = Actor(model, words, settings)
    meteor = Meteor(Wordnet(path / "scale" / "wordnet30.txt"))
    return OpenRun(folder, settings, Context(actor, settings, contract, data, state, meteor, at + 1), at)
