"""A run that is killed at any write and resumed has the files of an undisturbed one."""

import contextlib
import json
import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from test_loss import settings

import sa2va_lab.evaluation.rows
import sa2va_lab.train
from sa2va_lab.errors import LabError
from sa2va_lab.folder import RunFolder
from sa2va_lab.judge import spending
from sa2va_lab.order import Known, RowOrder
from sa2va_lab.records import exact_json
from sa2va_lab.run import OpenRun, _restored
from sa2va_lab.state import State
from sa2va_lab.step import Outcome
from sa2va_lab.train import best_step, stopping, train

NAMES = ["language_model.model.layers.0.q_proj.lora_A.default.weight", "mlp1.weight"]
CONFIG = {"steps": 5, "saveSteps": 2, "loraAlpha": 1, "loraDropout": 0, "loraR": 2, "promptsPerStep": 1}


class Killed(BaseException):
    """Caught nowhere in the package."""


class Alone:
    """A team of one process, or another process of a team."""

    def __init__(self, first: bool = True) -> None:
        self.first, self.world, self.device, self.waits = first, 1, torch.device("cpu"), 0

    def wait(self) -> None:
        self.waits += 1

    def all_of(self, items: list[Any]) -> list[Any]:
        return items


def folder_of(path: Path, **config: object) -> RunFolder:
    path.mkdir()
    manifest = {"format": "sa2va-lab-run/1", "config": CONFIG | config, "model": {"name": "m", "hash": "h"}}
    (path / "run.json").write_text(json.dumps(manifest))
    return RunFolder(path)


def opened(folder: RunFolder, team: Any, **change: object) -> OpenRun:
    trained = [torch.zeros(2, 2), torch.zeros(3)]
    model: Any = SimpleNamespace(names=NAMES, trained=trained)
    model.peft_name, model.adapted = (lambda name: f"base_model.{name}"), lambda: ["q_proj"]
    model.family = SimpleNamespace(layers="")

    def put(values: list[torch.Tensor]) -> None:
        for own, value in zip(trained, values, strict=True):
            own.copy_(value)

    model.put = put
    zeros = [[torch.zeros_like(own) for own in trained] for _ in range(4)]
    state = State(*zeros, entropy={1: {"coefficient": 0.5, "lastEntropy": 2.0}})
    at = _restored(folder, model, state, team)
    few: dict[str, object] = {"steps": 5, "saveSteps": 2, "evalSteps": 2, "saveTotalLimit": 1, "mixSources": ""}
    s = settings(**(few | change))
    data = SimpleNamespace(report=[1], train=[1, 2, 3])
    context: Any = SimpleNamespace(
        actor=SimpleNamespace(settings=s),
        settings=s,
        model=model,
        state=state,
        data=data,
        step=at + 1,
        order=RowOrder(Known([0], ["a"], [1], [], {}), s),
        scorer=SimpleNamespace(judge=None),
    )
    return OpenRun(folder, context, at, "f32", {})


def a_step(run: OpenRun, team: Any) -> Outcome:
    """A function of the step's number and of the weights before it."""
    context = run.context
    for own in context.model.trained:
        own.mul_(1.5).add_(context.step)
    context.state.optimiser_steps += 1
    value = float(context.model.trained[0].sum())
    return Outcome({"loop1/loss": value, "loop2/loss": 1.0}, [context.step], [], {"generate": 0.0})  # type: ignore[list-item]


def a_report(context: Any, folder: RunFolder, team: Any, step: int) -> None:
    earlier = [own for own in folder.lines("eval.jsonl") if own["report"]["step"] < step]
    chosen = {"metric": "reward", "value": -abs(step - 3)}
    own = {"report": {"step": step, "selection": chosen}, "rows": []}
    folder.replace_lines("eval.jsonl", [exact_json(own) for own in (*earlier, own)])


def some_rollouts(path: Path, step: int, groups: object) -> None:
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(f"rollouts of step {step}")
    unfinished.replace(path)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sa2va_lab.train, "step_of", a_step)
    monkeypatch.setattr(sa2va_lab.evaluation.rows, "evaluate", a_report)
    monkeypatch.setattr(sa2va_lab.train, "write_rollouts", some_rollouts)


def contents(run: Path) -> dict[str, bytes]:
    """All files, without fields that hold times."""
    found = {path.relative_to(run).as_posix(): path.read_bytes() for path in run.rglob("*") if path.is_file()}
    rows = [json.loads(line) for line in found["metrics.jsonl"].splitlines()]
    timeless = [{name: value for name, value in row.items() if "time" not in name} for row in rows]
    phases = [json.loads(line)["step"] for line in found["phases.jsonl"].splitlines()]
    manifest = json.loads(found["run.json"]) | {"segments": None}
    own = {"metrics.jsonl": timeless, "phases.jsonl": phases, "run.json": manifest}
    return found | {name: json.dumps(value).encode() for name, value in own.items()}


def killing(monkeypatch: pytest.MonkeyPatch, moment: int) -> None:
    """Every write from the given one on fails, the first after half of its bytes."""
    done = 0

    def hook(owner: Any, name: str, half: Callable[..., None]) -> None:
        real = getattr(owner, name)

        def wrapped(*args: Any, **more: Any) -> Any:
            nonlocal done
            done += 1
            if done < moment:
                return real(*args, **more)
            if done == moment:
                half(*args)
            raise Killed

        monkeypatch.setattr(owner, name, wrapped)

    def cut(handle: int) -> None:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, os.fstat(handle).st_size - 5)

    def part(path: Path, **_: object) -> None:
        if path.is_dir():
            min(path.iterdir()).unlink()

    hook(os, "fsync", cut)
    hook(Path, "replace", lambda *_: None)
    hook(Path, "unlink", lambda *_, **__: None)
    hook(shutil, "rmtree", part)


@pytest.mark.parametrize("change", [{}, {"saveSteps": 0, "evalSteps": 5}, {"saveTotalLimit": 2, "evalSteps": 0}])
def test_a_run_killed_at_any_write_goes_on_as_if_it_were_not(change: dict[str, int], tmp_path: Path) -> None:
    calm = folder_of(tmp_path / "calm")
    team = Alone()
    train(opened(calm, team, **change), team, 5, threading.Event())  # type: ignore[arg-type]
    wanted, moment, ended = contents(calm.path), 0, False
    while not ended:
        moment += 1
        run = folder_of(tmp_path / f"killed-{moment}")
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, moment)
            with contextlib.suppress(Killed):
                train(opened(run, team, **change), team, 5, threading.Event())  # type: ignore[arg-type]
                ended = True
        again = RunFolder(run.path)
        train(opened(again, team, **change), team, 5, threading.Event())  # type: ignore[arg-type]
        found = contents(run.path)
        assert {name for name, data in found.items() if not name.endswith(".tmp") and wanted.get(name) != data} == set()
        assert wanted.keys() <= found.keys(), moment
    assert moment > 15


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_ends_a_run_after_its_step(name: signal.Signals, tmp_path: Path) -> None:
    known = {own: signal.getsignal(own) for own in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)}
    try:
        stop = stopping()
        signal.raise_signal(name)
        assert stop.is_set()
        # A second Ctrl+C does not wait; a launcher may send the others twice.
        assert (signal.getsignal(name) == signal.SIG_DFL) == (name == signal.SIGINT)
    finally:
        for own, handler in known.items():
            signal.signal(own, handler)
    folder, team = folder_of(tmp_path / "run"), Alone()
    train(opened(folder, team), team, 5, stop)  # type: ignore[arg-type]
    assert RunFolder(folder.path).manifest["state"] == "paused"


def test_processes_wait_as_often_whatever_their_disk_shows(tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run")
    late = folder_of(tmp_path / "late")
    teams = Alone(), Alone(False)
    for folder, team in zip((run, late), teams, strict=True):
        train(opened(folder, team), team, 4, threading.Event())  # type: ignore[arg-type]
    assert run.checkpoints() == [4]
    assert late.checkpoints() == []
    assert teams[0].waits == teams[1].waits


def test_a_step_that_cannot_go_on_marks_the_run_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, team = folder_of(tmp_path / "run"), Alone()

    def failing(run: OpenRun, team: Any) -> Outcome:
        if run.context.step == 4:
            raise LabError("A gradient is not finite")
        return a_step(run, team)

    monkeypatch.setattr(sa2va_lab.train, "step_of", failing)
    with pytest.raises(LabError, match="not finite"):
        train(opened(folder, team), team, 5, threading.Event())  # type: ignore[arg-type]
    assert RunFolder(folder.path).manifest["state"] == "failed"
    monkeypatch.setattr(sa2va_lab.train, "step_of", a_step)
    train(opened(folder, team), team, 5, threading.Event())  # type: ignore[arg-type]
    assert RunFolder(folder.path).manifest["state"] == "finished"
    assert [row["step"] for row in folder.lines("metrics.jsonl")] == [1, 2, 3, 4, 5]


def test_a_damaged_checkpoint_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, team = folder_of(tmp_path / "run"), Alone()
    train(opened(folder, team, saveTotalLimit=2), team, 4, threading.Event())  # type: ignore[arg-type]
    ema = folder.path / "checkpoints" / "step-000004" / "ema.safetensors"
    ema.write_bytes(ema.read_bytes()[:-1] + b"x")
    assert opened(folder, team).step == 2
    assert (
        "ema.safetensors does not have the contents that were written; the run goes on from step 2"
        in capsys.readouterr().err
    )
    (folder.path / "checkpoints" / "step-000002" / "ema.safetensors").unlink()
    with pytest.raises(LabError, match=r"step-000004.*; nothing was changed"):
        opened(folder, team)


def test_lines_are_cut_as_a_kill_leaves_them(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run")
    whole = '{"id":"a","step":1,"message":"– one"}\n'
    (folder.path / "alarms.jsonl").write_bytes(f"{whole}{whole.replace('1', '2')}{{–".encode()[:-1])
    folder.truncate_after(1)
    assert (folder.path / "alarms.jsonl").read_text() == whole
    (folder.path / "eval.jsonl").write_text("{}x\n")
    (folder.path / "checkpoints" / "step-000002").mkdir(parents=True)
    with pytest.raises(LabError, match=r"eval\.jsonl line 1 cannot be read"):
        folder.truncate_after(1)
    assert (folder.path / "checkpoints" / "step-000002").exists()


def test_the_best_checkpoint_of_a_fork_is_chosen_by_its_own_score(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "run")
    chosen = [{"metric": "grounding_iou", "value": 0.9}, None, {"metric": "reward", "value": 0.3},
              {"metric": "reward", "value": 0.3}, {"metric": "reward", "value": None}]  # fmt: skip
    lines = [json.dumps({"report": {"step": at, "selection": own}, "rows": []}) for at, own in enumerate(chosen, 1)]
    folder.replace_lines("eval.jsonl", lines)
    for at in range(1, 6):
        (folder.path / "checkpoints" / f"step-00000{at}").mkdir(parents=True)
        (folder.path / "checkpoints" / f"step-00000{at}" / "complete.json").touch()
    assert best_step(folder) == 4
    folder.prune(1, best_step(folder))
    assert folder.checkpoints() == [4, 5]


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_entropy_bonus_is_kept_where_it_follows_a_target(adaptive: bool, tmp_path: Path) -> None:
    folder, team = folder_of(tmp_path / "run", useAdaptiveEntropy=adaptive), Alone()
    run = opened(folder, team)
    train(run, team, 2, threading.Event())  # type: ignore[arg-type]
    state = json.loads((folder.path / "checkpoints" / "step-000002" / "trainer_state.json").read_text())
    kept = state["sa2va_lab"]["trainer"].get("entropy")
    assert kept == ({"1": {"coefficient": 0.5, "lastEntropy": 2}} if adaptive else None)


def test_a_mistake_of_the_program_is_not_a_damaged_checkpoint(tmp_path: Path) -> None:
    team: Any = Alone()
    run = opened(folder_of(tmp_path / "run"), team)
    train(run, team, 4, threading.Event())
    assert opened(RunFolder(tmp_path / "run"), team).step == 4
    wrong: Any = SimpleNamespace(**vars(run.context.model) | {"put": None})
    with pytest.raises(TypeError, match="not callable"):
        _restored(run.folder, wrong, run.context.state, team)


def test_the_judge_of_dropped_steps_stays_counted_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(run: OpenRun, team: Any) -> Outcome:
        found = a_step(run, team)
        return Outcome(found.metrics | {"judge/calls": 3, "judge/cost": 0.5}, *list(vars(found).values())[1:])

    monkeypatch.setattr(sa2va_lab.train, "step_of", judged)
    described = {"model": "m", "place": "a", "version": "v", "prompts": {}}
    folder = folder_of(tmp_path / "run")
    for last in (3, 5):
        run = opened(RunFolder(folder.path), Alone())
        run.context.scorer = SimpleNamespace(judge=SimpleNamespace(described=described))  # type: ignore[assignment]
        train(run, Alone(), last, threading.Event())  # type: ignore[arg-type]
        if last == 3:
            shutil.rmtree(folder.path / "checkpoints" / "step-000003")
    assert RunFolder(folder.path).manifest["judgeDropped"] == {"calls": 3, "cost": 0.5}
    assert spending(RunFolder(folder.path)) == (18, 3.0)
    stored = json.loads((folder.path / "judge.json").read_text())
    assert [(own["fromStep"], own["model"]) for own in stored] == [(1, "m")]
