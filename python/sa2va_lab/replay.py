"""
python -m sa2va_lab.replay RUN --model DIR --shards DIR --step N: repeats a stored step and compares it with the record.

What was drawn, said, found and earned must be equal; the gradient, read from the stored moments, and the weights after
the update must be near. A first check of a machine, before a run goes on there.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from .errors import LabError
from .folder import step_name
from .masks import Rle, decode_rle
from .model import Values
from .records import rollout_rows
from .run import DTYPES, OpenRun, open_run, step_of
from .state import average, copies, learning_rate, move
from .step import Outcome
from .team import Team

_EQUAL = ("completion", "caption", "caption_prime", "predicted_mask", "greedy_mask", "given_mask", "prompt_runs",
          "answer_ids", "truncated")  # fmt: skip


def _stored_rows(path: Path) -> dict[str, dict[str, Any]]:
    with pa.memory_map(str(path)) as source:
        return {row["id"]: row for row in pa.ipc.open_stream(source).read_all().to_pylist()}


def compare_rollouts(stored: dict[str, dict[str, Any]], own: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """How many rollouts differ in each field, and the largest difference of numbers."""
    if stored.keys() != own.keys():
        raise LabError("The step has other rollouts than were stored; was the data set changed?")
    out: dict[str, Any] = {"rollouts": len(stored), "actions": 0, "actions_differ": 0}
    out |= {f"{name}_differ": 0 for name in _EQUAL}
    out |= {
        "mask_pixels": 0,
        "reward": 0.0,
        "advantage": 0.0,
        "logp": 0.0,
        "ref_logp": 0.0,
        "entropy": 0.0,
        "terms": 0.0,
    }
    for key, before in stored.items():
        now = own[key]
        for name in _EQUAL:
            out[f"{name}_differ"] += before[name] != now[name]
        for name in ("predicted_mask", "greedy_mask"):
            if before[name] and now[name] and before[name] != now[name]:
                a, b = (decode_rle(Rle(own[name]["counts"], tuple(own[name]["size"]))) for own in (before, now))
                out["mask_pixels"] = max(out["mask_pixels"], int((a != b).sum()))
        for name in ("reward", "advantage"):
            out[name] = max(out[name], abs((before[name] or 0) - (now[name] or 0)))
        out["actions"] += len(before["actions"])
        ids = [[action["id"] for action in row["actions"]] for row in (before, now)]
        out["actions_differ"] += sum(a != b for a, b in zip(*ids, strict=False)) + abs(len(ids[0]) - len(ids[1]))
        for a, b in zip(before["actions"], now["actions"], strict=False):
            for name in ("logp", "ref_logp", "entropy"):
                out[name] = max(out[name], abs((a[name] or 0) - (b[name] or 0)))
        terms = [{t["name"]: t["value"] for t in json.loads(row["terms_json"])} for row in (before, now)]
        gaps = [abs((terms[0][name] or 0) - (terms[1][name] or 0)) for name in ("iou", "meteor")]
        out["terms"] = max(out["terms"], *gaps)
    return out


def _check_moments(run: OpenRun, after: dict[str, Values], start: dict[str, Values]) -> dict[str, float]:
    """What AdamW and the average make of the stored moments, relative to the largest weight: rounding alone."""
    model, state = run.context.model, run.context.state
    mine = [parameter.data for parameter in model.trained], state.first, state.second, state.ema
    for parameter, value in zip(model.trained, start["policy"], strict=True):
        parameter.data = value.clone()
    state.first, state.second, state.ema = after["first"], after["second"], copies(start["ema"])
    move(model, state, run.settings, learning_rate(run.settings, state.optimiser_steps - 1))
    average(model, state, run.settings)
    largest = max(float(value.abs().max()) for value in after["policy"])
    found = {}
    for name, own in (("policy", [p.data for p in model.trained]), ("ema", state.ema)):
        gaps = (float((a - b).abs().max()) for a, b in zip(own, after[name], strict=True))
        found[f"{name}_update"] = max(gaps) / largest
    weights, state.first, state.second, state.ema = mine
    for parameter, value in zip(model.trained, weights, strict=True):
        parameter.data = value
    return found


def _compare_update(run: OpenRun, outcome: Outcome, step: int, start: dict[str, Values]) -> dict[str, float]:
    """
    Gradient out of the stored moments, weights and averages; differences relative to the largest value.

    The moments of several updates hold the sum of their gradients, each decayed by the updates behind it.
    """
    s, model = run.settings, run.context.model
    stepped = [own for own in outcome.updates if own.stepped]
    if not stepped:
        return {}
    after = run.folder.read_values(step, model)
    decays = [s.adamBeta1 ** (len(stepped) - 1 - at) * own.factor for at, own in enumerate(stepped)]
    gap = square = whole = largest = 0.0
    for at, (m, earlier) in enumerate(zip(after["first"], start["first"], strict=True)):
        mine = sum(own.gradient[at].double() * decay for own, decay in zip(stepped, decays, strict=True))
        theirs = (m.double() - s.adamBeta1 ** len(stepped) * earlier.double()) / (1 - s.adamBeta1)
        difference = mine - theirs
        largest = max(largest, float(theirs.abs().max()))
        gap = max(gap, float(difference.abs().max()))
        square, whole = square + float(difference.square().sum()), whole + float(theirs.square().sum())
    found = {"gradient": gap / largest, "gradient_l2": (square / whole) ** 0.5}
    if len(stepped) == 1:
        found |= _check_moments(run, after, start)
    for name, own in (("policy", [p.data for p in model.trained]), ("ema", run.context.state.ema)):
        gaps = torch.cat([(a.double() - b.double()).abs().flatten() for a, b in zip(own, after[name], strict=True)])
        rate = float(outcome.metrics["learning_rate"])
        found[f"{name}_p99_rates"] = float(gaps.sort().values[int(0.99 * (len(gaps) - 1))]) / max(rate, 1e-30)
        found[f"{name}_norm"] = float(gaps.norm() / torch.cat([v.double().flatten() for v in after[name]]).norm())
    return found


def _compare_metrics(run: OpenRun, outcome: Outcome, step: int) -> float:
    """Largest difference of a metric, relative to the larger of the metric and 1."""
    stored = next((row for row in run.folder.lines("metrics.jsonl") if row["step"] == step), {})
    gaps = [0.0]
    for name, value in outcome.metrics.items():
        before = float(stored.get(name, "nan"))
        # How far training is from sampling is rounding itself, as is the angle to a loop whose gradient vanishes.
        if not math.isnan(before) and "logp_train" not in name and name not in ("grad_cosine", "judge/latency_ms"):
            gaps.append(abs(before - value) / max(1.0, abs(before)))
    return max(gaps)


def replay(run: OpenRun, step: int, team: Team) -> tuple[dict[str, Any], Outcome]:
    """Plays the step after the run's own and compares it."""
    model, state = run.context.model, run.context.state
    start = {"policy": copies(model.trained), "ema": copies(state.ema), "first": copies(state.first)}
    outcome = step_of(run, team)
    rows = {row["id"]: row for record in outcome.groups for row in rollout_rows(step, record)}
    path = run.folder.path / "rollouts" / f"{step_name(step)}.arrow"
    report = compare_rollouts(_stored_rows(path), rows) if path.exists() else {}
    report["metrics"] = _compare_metrics(run, outcome, step)
    if step in run.folder.checkpoints():
        report |= _compare_update(run, outcome, step, start)
    return report, outcome


def main() -> int:
    """Command line; exit code 1 where something that must be equal is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--shards", type=Path, nargs="+", required=True)
    parser.add_argument("--step", type=int, required=True, help="a stored step whose predecessor has a checkpoint")
    parser.add_argument("--dtype", choices=list(DTYPES), default="f32")
    parser.add_argument("--save", type=Path, help="writes the summed gradient there")
    parser.add_argument("--shard", choices=["fsdp2"], help="splits the frozen language model over the processes")
    parser.add_argument(
        "--reward", type=Path, help="Python file with a function reward(rollout) in place of the custom reward"
    )
    given = parser.parse_args()
    team = Team()
    try:
        run = open_run(
            given.run,
            given.model,
            given.shards,
            given.dtype,
            team,
            given.step - 1,
            given.reward,
            shard=given.shard == "fsdp2",
        )
        report, outcome = replay(run, given.step, team)
    except LabError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    if team.first:
        if given.save:
            torch.save(torch.cat([g.flatten() for g in outcome.updates[-1].gradient]), given.save)
        print(json.dumps(report))
    team.leave()
    return int(any(report.get(f"{name}_differ", 0) for name in ("actions", *_EQUAL)))


if __name__ == "__main__":
    sys.exit(main())
