"""Parts of a run with other sizes or precisions, and backward passes in parts."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_loss import settings
from test_resume import Alone, a_step, folder_of, opened, small_steps

from sa2va_lab.errors import LabError
from sa2va_lab.folder import RunFolder
from sa2va_lab.loss import GroupScores, LossSettings, Spread
from sa2va_lab.play import Live
from sa2va_lab.reading import Reader
from sa2va_lab.run import _changes, _precision
from sa2va_lab.step import _backward
from sa2va_lab.step_metrics import Played
from sa2va_lab.train import train

__all__ = ["a_step", "small_steps"]


@pytest.mark.parametrize("bonus", [0.0, 0.3])
def test_parts_of_a_group_give_its_gradient(bonus: float) -> None:
    s = settings(beta=0.1, lossType="bnpo", topEntropyQuantile=0.5, numGenerations=5)
    found = []
    for size in (5, 2, 1):
        torch.manual_seed(4)
        weights = torch.randn(5, 6, 7, dtype=torch.float64, requires_grad=True)

        def score(rows: slice, weights: torch.Tensor = weights) -> Any:
            logs = weights[rows].log_softmax(-1)
            return logs[..., 0], -(logs.exp() * logs).sum(-1), {}

        grids = [score(slice(None))[0].detach().numpy() + shift for shift in (0.1, -0.2)]
        mask = (np.arange(6) < np.array([[6], [3], [1], [4], [2]])).astype(float)
        played = Played(1, 0, "r", [0.0] * 5, [], None, mask, grids[0], True, [], [], None, [], {}, grids[1])
        played.first = grids[0]
        played.scores = GroupScores(Spread(0, 1, 5, False), [1.0, -1.0, 0.5, 0.0, -0.5])
        live = Live(played, score, tuple(slice(at, at + size) for at in range(0, 5, size)))
        record = _backward(
            SimpleNamespace(settings=s, actor=SimpleNamespace(reader=Reader())),
            live,
            LossSettings(s, 2, 16, 6, bonus),
            (False, False),
        )()  # type: ignore[arg-type]
        found.append((weights.grad, record.loss, record.logps))
    for gradient, loss, logps in found[1:]:
        torch.testing.assert_close(gradient, found[0][0], rtol=1e-12, atol=1e-15)
        assert (loss, logps.tolist()) == (found[0][1], found[0][2].tolist())


def parts(run: RunFolder, last: int, changed: dict[str, Any], dtype: str = "f32") -> list[dict[str, Any]]:
    """Trains to a step with changed settings; returns the segments."""
    team: Any = Alone()
    again = RunFolder(run.path)
    train(replace(opened(again, team), changed=changed, dtype=dtype), team, last, threading.Event())
    found: list[dict[str, Any]] = again.manifest["segments"]
    return found


def test_a_wider_batch_is_recorded_with_its_part_and_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = folder_of(tmp_path / "run")
    parts(run, 2, {})
    wide = {"promptsPerStep": {"from": 1, "to": 8}}
    assert [own.get("changed") for own in parts(run, 4, wide)] == [None, wide]
    assert "continues after step 2 of 5, 1 processes, f32, promptsPerStep 1 → 8" in capsys.readouterr().out
    again = RunFolder(run.path)
    assert again.manifest["config"]["promptsPerStep"] == 8
    state = json.loads((run.path / "checkpoints" / "step-000004" / "trainer_state.json").read_text())
    assert state["sa2va_lab"]["config"]["promptsPerStep"] == 8
    assert (again.earlier_settings(1), again.earlier_settings(2)) == ({"promptsPerStep": 1}, {})
    # A process that torchrun started again says so.
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "2")
    parts(run, 5, {}, "bf16")
    assert "restart 2 after a failure: continues after step 4 of 5, 1 processes, bf16, base f32 → bf16" in (
        capsys.readouterr().out
    )
    monkeypatch.delenv("TORCHELASTIC_RESTART_COUNT")
    shutil.rmtree(run.path / "checkpoints" / "step-000005")
    again = RunFolder(run.path)
    again.update(segments=again.manifest["segments"][:2])
    # A part without a step is none.
    assert len(parts(run, 3, {})) == 2
    # A part that left no checkpoint is replaced, and the change is still known.
    again.update(
        segments=[*again.manifest["segments"], {"fromStep": 4, "changed": {"numGenerations": {"from": 4, "to": 6}}}]
    )
    last = parts(run, 5, {"numGenerations": {"from": 6, "to": 7}})
    assert [own["fromStep"] for own in last] == [0, 2, 4]
    assert last[-1]["changed"] == {"numGenerations": {"from": 4, "to": 7}}
    # What a fork in the lab changed is not changed here, so a return does not take it back.
    shutil.rmtree(run.path / "checkpoints" / "step-000005")
    fork = {"fromStep": 4, "engine": "lab", "changed": {"beta": {"from": 0.1, "to": 0.2}}}
    again.update(segments=[*last[:2], fork])
    kept = parts(run, 5, {})
    assert (kept[2], kept[3]["fromStep"], kept[3].get("changed")) == (fork, 4, None)


def test_another_base_is_asked_for(tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run")
    (tmp_path / "config.json").write_text('{"torch_dtype": "bfloat16"}')
    cpu, gpu = (SimpleNamespace(device=torch.device(name)) for name in ("cpu", "cuda"))

    def chosen(team: Any, dtype: str | None = None, **change: str) -> str:
        given = argparse.Namespace(dtype=dtype, model=tmp_path)
        return _precision(given, run, settings(**{"weightStorage": "f16", "towerStorage": "same"} | change), team)

    assert (chosen(cpu), chosen(gpu), chosen(gpu, "f32")) == ("f32", "bf16", "f32")
    assert chosen(cpu, weightStorage="q4") == "f32"
    parts(run, 2, {})
    run = RunFolder(run.path)
    assert chosen(gpu) == "f32"
    run.update(segments=[])
    assert chosen(cpu) == "f32"
    with pytest.raises(LabError, match=r"weights in f16 \(weightStorage\); add --dtype f32 to keep that base"):
        chosen(gpu)
    with pytest.raises(LabError, match=r"weights in q4 \(weightStorage\).*add --dtype bf16 or --dtype f32"):
        chosen(gpu, weightStorage="q4")
    with pytest.raises(LabError, match=r"weights in q8 \(towerStorage\)"):
        chosen(gpu, towerStorage="q8")
    assert chosen(gpu, "bf16", weightStorage="q4") == "bf16"


def test_a_batch_is_widened_for_the_processes() -> None:
    s = settings(promptsPerStep=1, accumulation=4, numGenerations=4)
    eight: Any = SimpleNamespace(world=8)
    with pytest.raises(LabError, match=r"8 processes are more than the 4 groups .* --prompts-per-step 2"):
        _changes(s, eight, {"numGenerations": 6}, False)
    wide = {"promptsPerStep": {"from": 1, "to": 2}}
    assert _changes(s, eight, {}, True) == _changes(s, eight, {"promptsPerStep": 2}, False) == wide
    assert _changes(s, SimpleNamespace(world=4), {"numGenerations": 4}, True) == {}  # type: ignore[arg-type]
    with pytest.raises(LabError, match="numGenerations 65 is not from 2 to 64"):
        _changes(s, eight, {"numGenerations": 65}, True)


_REFUSED = "import sys\nfrom sa2va_lab.errors import refuse\nrefuse('No step fits.')\nsys.exit(2)\n"


def test_a_refused_run_ends_with_the_sentence_alone(tmp_path: Path) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(_REFUSED)
    words = ["-m", "sa2va_lab.launch", "--standalone", "--nproc_per_node", "2", "--max-restarts", "3", str(worker)]
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (2, "No step fits.\n")
