"""
python -m sa2va_lab.train RUN --model DIR --shards DIR: continues a run from its newest checkpoint to its last step.

Under torchrun or accelerate every process samples its share of the groups; the first one writes the run folder.
"""

import os
import signal
import sys
import threading
import time
from datetime import datetime, timezone
from functools import partial
from typing import Any

import accelerate
import torch
import transformers

from .errors import LabError, refuse
from .extras import extra
from .folder import RunFolder, step_name
from .records import write_rollouts
from .run import OpenRun, arguments, open_run, step_of
from .step import Outcome
from .team import Team

_NO_COST = {
    "gpu_seconds": None, "dispatches": 0, "submits": 0, "read_backs": 0, "read_bytes": 0, "written_bytes": 0,
    "buffers": 0, "buffer_bytes": 0, "programs": None,
}  # fmt: skip

_MOST_STEPS = 100_000
"""Maximum length of a run in the lab."""


def _segment(run: OpenRun, team: Team, replaced: list[dict[str, Any]]) -> dict[str, object]:
    """Environment of a part of the run; run.json keeps one entry per part. `replaced` parts left no step."""
    changed: dict[str, dict[str, object]] = {}
    for own in (*(part.get("changed", {}) for part in replaced), run.changed):
        changed |= {name: change | {"from": changed.get(name, change)["from"]} for name, change in own.items()}
    versions = {library.__name__: str(library.__version__) for library in (torch, transformers, accelerate)}
    device = torch.cuda.get_device_name() if team.device.type == "cuda" else team.device.type
    return {
        "fromStep": run.step, "engine": "sa2va_lab", "world": team.world, "device": device, "dtype": run.dtype,
        "began": datetime.now(timezone.utc).isoformat(timespec="seconds"), "versions": versions,
    } | ({"changed": changed} if changed else {})  # fmt: skip


def _store(run: OpenRun, step: int, outcome: Outcome, seconds: float, trained: int) -> None:
    """Writes rollouts, then the lines of metrics and costs."""
    s, metrics = run.settings, dict(outcome.metrics)
    if "sft/loss" in metrics:
        metrics["loss"] = metrics["sft/loss"]
    else:
        metrics["loss"] = sum(s.loop_weights[loop] * metrics[f"loop{loop}/loss"] for loop in s.active_loops)
    metrics["epoch"] = run.context.order.before(step + 1) / trained
    metrics |= {f"time/{phase}": own for phase, own in outcome.seconds.items()} | {"step_time": seconds}
    if outcome.groups:
        write_rollouts(run.folder.path / "rollouts" / f"{step_name(step)}.arrow", step, outcome.groups)
    run.folder.append("metrics.jsonl", {"step": step} | metrics)
    phases = {phase: {"seconds": own} | _NO_COST for phase, own in outcome.seconds.items()}
    run.folder.append("phases.jsonl", {"step": step, "phases": phases})


def _line(step: int, outcome: Outcome) -> str:
    shown = ("loop1/reward", "loop2/reward", "sft/loss", "grad_norm")
    parts = [f"{name} {outcome.metrics[name]:.3f}" for name in shown if name in outcome.metrics]
    return "  ".join([f"step {step}", *parts, f"{sum(outcome.seconds.values()):.1f} s"])


def extend(run: OpenRun, team: Team, steps: int) -> None:
    """Changes the run's number of steps, as the lab does. Raises LabError for fewer steps than done."""
    before = run.settings.steps
    if not max(1, run.step) <= steps <= _MOST_STEPS:
        raise LabError(f"The run has {run.step} steps; --steps {steps} is not from {max(1, run.step)} to {_MOST_STEPS}")
    run.context.actor.settings = run.settings.changed(steps=steps)
    if team.first and steps != before:
        length = {"afterStep": run.step, "from": before, "to": steps}
        lengths = [*run.folder.manifest.get("lengths", []), length]
        run.folder.update(config=run.folder.manifest["config"] | {"steps": steps}, lengths=lengths)


def train(run: OpenRun, team: Team, last: int, stop: threading.Event) -> None:
    """
    Runs to step `last`; after `stop` the current step is finished and stored.

    Raises LabError, with the run marked as failed, if a step cannot continue.
    """
    folder = run.folder
    judge = run.context.scorer.judge
    asked: Any = None if judge is None else extra("judge", f"judge {run.settings.judge}")
    if team.first:
        (folder.truncate_after if asked is None else partial(asked.drop_after, folder))(run.step)
        if run.step < last:
            # A part of the lab without a step is a fork with other settings.
            parts: list[dict[str, Any]] = folder.manifest.get("segments", [])
            kept = [own for own in parts if own["fromStep"] < run.step + (own.get("engine") == "lab")]
            segment = _segment(run, team, parts[len(kept) :])
            config = folder.manifest["config"] | {name: change["to"] for name, change in run.changed.items()}
            folder.update(state="running", segments=[*kept, segment], config=config)
            words = [f"{name} {change['from']} → {change['to']}" for name, change in run.changed.items()]
            earlier = [own["dtype"] for own in kept if own.get("dtype") not in (None, run.dtype)][-1:]
            words += [f"base {name} → {run.dtype}" for name in earlier]
            attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
            begins = "continues" if attempt == "0" else f"restart {attempt} after a failure: continues"
            shown = [f"{begins} after step {run.step} of {run.settings.steps}", f"{team.world} processes", run.dtype]
            print(", ".join([*shown, *words]), flush=True)
        if judge is not None:
            asked.record(folder, run.step, judge.described)
    team.wait()
    try:
        _steps(run, team, last, stop)
        _checkpoint(run, team)
    except LabError:
        if team.first:
            folder.update(state="failed")
        raise
    if team.first:
        state = "finished" if run.step >= run.settings.steps else "paused"
        folder.update(state=state)
        print(f"{state} at step {run.step} of {run.settings.steps}", flush=True)


def _steps(run: OpenRun, team: Team, last: int, stop: threading.Event) -> None:
    s, folder, context = run.settings, run.folder, run.context
    evaluates = s.eval_steps > 0 and len(context.data.report) > 0
    held_out: Any = extra("evaluation", f"evalSteps {s.eval_steps}") if evaluates else None
    if held_out is not None:
        held_out.evaluate_due(context, folder, team, run.step, new=False)
    while run.step < last and not any(team.all_of([stop.is_set()])):
        context.step = step = run.step + 1
        began = time.monotonic()
        outcome = step_of(run, team)
        run.step = step
        if team.first:
            _store(run, step, outcome, time.monotonic() - began, len(context.data.train))
            print(_line(step, outcome), flush=True)
        if s.save_steps > 0 and step % s.save_steps == 0:
            _checkpoint(run, team)
        if held_out is not None:
            held_out.evaluate_due(context, folder, team, step)


def _checkpoint(run: OpenRun, team: Team) -> None:
    """
    Writes the checkpoint of this step unless it exists, then removes old ones. Only the first process checks, because
    another disk may lag.
    """
    folder = run.folder
    if team.first and run.step > 0:
        if run.step not in folder.checkpoints():
            folder.write_checkpoint(run.step, run.context.model, run.context.state)
        folder.prune(run.settings.save_total_limit, best_step(folder))
    team.wait()


def best_step(folder: RunFolder) -> int | None:
    """Step with a checkpoint and the highest selection value of the newest score; the newest if several are equal."""
    steps = folder.checkpoints()
    chosen = [(own["report"]["step"], own["report"].get("selection")) for own in folder.lines("eval.jsonl")]
    found = [(step, own) for step, own in chosen if own]
    # Before a fork another score may have chosen the checkpoint.
    values = [
        (own["value"], step)
        for step, own in found
        if own["metric"] == found[-1][1]["metric"] and own["value"] is not None and step in steps
    ]
    return max(values)[1] if values else None


def stopping() -> threading.Event:
    """Set by a signal that ends the run after its step; a second Ctrl+C ends the process at once."""
    stop = threading.Event()

    def told(name: int, _frame: object) -> None:
        stop.set()
        if name == signal.SIGINT:
            signal.signal(name, signal.SIG_DFL)

    for name in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
        signal.signal(name, told)
    return stop


def main() -> int:
    """Command line; exit code 2 with one sentence for a wrong argument or input."""
    parser = arguments(__doc__)
    parser.add_argument("--until", type=int, help="stops after this step with a checkpoint")
    parser.add_argument("--steps", type=int, help="changes the run's number of steps")
    parser.add_argument("--prompts-per-step", type=int, help="changes promptsPerStep until the lab continues")
    parser.add_argument("--widen", action="store_true", help="raises promptsPerStep until each process has a group")
    parser.add_argument(
        "--num-generations", "--group-size", type=int, help="changes numGenerations until the lab continues"
    )
    given = parser.parse_args()
    team, stop = Team(), stopping()
    try:
        sizes = {"promptsPerStep": given.prompts_per_step, "numGenerations": given.num_generations}
        asked = {name: size for name, size in sizes.items() if size is not None}
        run = open_run(given, team, change=asked, widen=given.widen)
        if given.steps is not None:
            extend(run, team, given.steps)
        last = run.settings.steps if given.until is None else min(given.until, run.settings.steps)
        if team.first and run.step >= last:
            print(f"The run has {run.step} steps already; no step is left up to step {last}", flush=True)
        train(run, team, last, stop)
    except LabError as wrong:
        refuse(str(wrong))
        return 2
    team.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
