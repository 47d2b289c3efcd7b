"""An open run: model, data, state and folder, at a step."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .data import RunData
from .errors import FORM, LabError, reading
from .extras import extra, needed, part_for, part_of
from .fingerprint import model_hash
from .folder import RunFolder, step_name
from .meteor import Meteor, Wordnet
from .model import Sa2va, load_model
from .order import RowOrder
from .play import Context
from .policy import Actor
from .rewards import Scorer
from .settings import Settings, attribute, parse_settings, read_contract, read_json
from .state import State, fresh_state, init_adapter
from .step import Outcome, grpo_step
from .team import Team
from .text import Words

SIZES = {"promptsPerStep": (1, 64), "numGenerations": (2, 64)}
"""Settings that a command line may change, with the lab's ranges."""
DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def step_of(run: "OpenRun", team: Team) -> Outcome:
    """The next step of a run under its settings."""
    run.context.rounding = []
    part = part_of("mode", run.settings.mode)
    outcome: Outcome = (grpo_step if part is None else part.sft_step)(run.context, team)
    if run.settings.feature_storage == "f16":
        largest = max((float(read()) for read in run.context.rounding), default=0.0)
        outcome.metrics["features/rounding"] = max(team.all_of([largest]))
    return outcome


@dataclass
class OpenRun:
    """A run folder with everything that a step needs."""

    folder: RunFolder
    context: Context
    step: int
    """Steps done."""
    dtype: str
    changed: dict[str, dict[str, Any]]
    """Settings changed from here on: values before and after."""

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
        help="precision of the frozen model; default: that of the run's last part, else bf16 for a new run of a bf16 "
        "checkpoint on a GPU and f32 otherwise",
    )
    parser.add_argument("--shard", choices=["fsdp2"], help="splits the frozen language model over the processes")
    parser.add_argument(
        "--groups-at-once", type=int, default=0, help="groups that a process decodes in one batch; default: all its own"
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=2 if torch.cuda.is_available() else 0,
        help="processes that decode and prepare the pictures of coming steps; default: 2 with a GPU, else 0",
    )
    parser.add_argument("--graphs", action="store_true", help="decodes with CUDA graphs")
    parser.add_argument("--reward", type=Path, help="Python file with reward(rollout) in place of the custom reward")
    return parser


def open_run(
    given: argparse.Namespace,
    team: Team,
    step: int | None = None,
    change: dict[str, int] | None = None,
    widen: bool = False,
) -> OpenRun:
    """
    Opens a run at its newest checkpoint, at `step`, or at its start. `given` holds the values of `arguments`.

    `change` replaces settings of SIZES; `widen` raises promptsPerStep until each process has a group. Raises LabError
    when model or shards are not those of the run.
    """
    path: Path = given.run
    model_folder: Path = given.model
    folder = RunFolder(path)
    if step and step not in folder.checkpoints():
        raise LabError(f"{path} has no checkpoint of step {step}, only of {folder.checkpoints()}; nothing was changed")
    contract = read_contract(path)
    with reading(path, *FORM):
        config = dict(folder.manifest["config"]) | ({} if step is None else folder.earlier_settings(step))
        name, fingerprint = (folder.manifest["model"][key] for key in ("name", "hash"))
    own_reward = given.reward is not None
    settings = parse_settings(config, contract.defaults, own_reward)
    changed = _changes(settings, team, change or {}, widen)
    settings = parse_settings(config | {key: own["to"] for key, own in changed.items()}, contract.defaults, own_reward)
    needed(settings)
    asked = part_of("judge", settings.judge)
    dtype = _precision(given, folder, settings, team)
    if model_hash(model_folder) != fingerprint:
        raise LabError(f"--model holds another checkpoint than {name}, which the run was trained on")
    data = RunData(path, given.shards)
    model = _model(given, settings, team, dtype, contract.streams["init"])
    folder.load_start(model)
    state = fresh_state(model, settings)
    at = _restored(folder, model, state, team) if step is None else step
    if step:
        folder.restore(step, model, state)
    actor = Actor(model, Words(model_folder, model.config, contract), settings)
    judge = None
    if asked is not None:
        kept = path.parent / ".judge" / "replies.jsonl"
        spent = asked.spending(folder)
        judge = asked.CaptionJudge(settings, contract.judge, kept, (team.rank, team.world), spent)
    order = RowOrder(data.known(contract.streams), settings, folder.batches(settings, at, bool(changed)))
    custom = None if given.reward is None else extra("custom", "--reward").read(given.reward)
    scorer = Scorer(Meteor(Wordnet(path / "scale" / "wordnet30.txt")), judge, custom)
    context = Context(actor, contract, data, state, scorer, order, at + 1, at_once=given.groups_at_once)
    # In a replay no step follows.
    if given.workers > 0 and step is None:
        context.ahead = extra("ahead", f"--workers {given.workers}").of_run(context, team, given.workers)
    return OpenRun(folder, context, at, dtype, changed)


def _model(given: argparse.Namespace, settings: Settings, team: Team, dtype: str, stream: int) -> Sa2va:
    """The checkpoint with fresh adapters on the device of the process, split if that is asked."""
    trained = torch.float64 if dtype == "f64" else torch.float32
    shard = part_of("--shard", given.shard)
    if shard is not None:
        shard.check_shares(settings, team)
    # Shares of a split layer leave the mapped files layer by layer.
    device = team.device if given.shard is None else None
    half = part_for(settings, "weightStorage", "towerStorage")
    halves = () if half is None else half.half_parts(settings)
    model = load_model(given.model, DTYPES[dtype], trained, device, halves)
    model.add_adapter(settings.lora_r, settings.lora_alpha, settings.train_projector)
    init_adapter(model, settings.seed, stream)
    if settings.gradient_checkpointing:
        model.recompute()
    if shard is not None:
        model.lockstep = shard.split(model.language_model, team)
    model.to(team.device)
    model.graphs = given.graphs
    return model


def _changes(settings: Settings, team: Team, change: dict[str, int], widen: bool) -> dict[str, dict[str, Any]]:
    """Settings that change, with their values before and after. Raises LabError for too few groups per step."""
    prompts = change.get("promptsPerStep", settings.prompts_per_step)
    per_prompt = settings.groups // settings.prompts_per_step
    enough = -(-team.world // per_prompt)
    if prompts < enough and not widen:
        raise LabError(
            f"{team.world} processes are more than the {prompts * per_prompt} groups per loop of a step; start fewer, "
            f"or widen the batch with --prompts-per-step {enough}"
        )
    asked = change | ({"promptsPerStep": max(prompts, enough)} if widen else {})
    for key, value in asked.items():
        if not SIZES[key][0] <= value <= SIZES[key][1]:
            raise LabError(f"{key} {value} is not from {SIZES[key][0]} to {SIZES[key][1]}; nothing was changed")
    before = {key: getattr(settings, attribute(key)) for key in asked}
    return {key: {"from": before[key], "to": value} for key, value in asked.items() if before[key] != value}


def _precision(given: argparse.Namespace, folder: RunFolder, settings: Settings, team: Team) -> str:
    """Precision of the frozen model. Raises LabError where the base would silently be another one than so far."""
    parts = folder.manifest.get("segments", [])
    before = parts[-1].get("dtype") if parts else None
    chosen: str | None = given.dtype or before
    packed = {"weightStorage": settings.weight_storage, "towerStorage": settings.tower_storage}
    for name, storage in packed.items():
        if chosen is None and storage in ("q8", "q4") and folder.checkpoints():
            raise LabError(
                f"The run's steps used weights in {storage} ({name}), which this package does not have; "
                "add --dtype bf16 or --dtype f32 to continue on the unpacked base. Nothing was changed"
            )
    if chosen is not None:
        return chosen
    config = read_json(given.model / "config.json")
    half = "bfloat16" in (config.get("torch_dtype"), config.get("dtype")) and team.device.type == "cuda"
    if half and folder.checkpoints():
        raise LabError(
            f"The run's steps used weights in {settings.weight_storage} (weightStorage); add --dtype f32 to keep that "
            "base, or --dtype bf16 to continue on the checkpoint's own. Nothing was changed"
        )
    return "bf16" if half else "f32"


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
