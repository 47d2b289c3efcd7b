"""What a judge costs and is called in a run folder, and its metrics of a step."""

from typing import Any

from ..folder import RunFolder
from ..settings import read_json

_PRICES = ("calls", "cost")


def spending(folder: RunFolder) -> tuple[float, float]:
    """Calls and cost of the judge in the run's own steps and evaluations, including those that resumes dropped."""
    manifest = folder.manifest
    since = (manifest.get("forkedFrom") or {}).get("step", -1)
    steps = [row for row in folder.lines("metrics.jsonl") if row["step"] > since]
    evaluations = [own for own in folder.lines("eval.jsonl") if own["report"]["step"] > since]
    taken = [{name: row.get(f"judge/{name}", 0) for name in _PRICES} for row in steps]
    taken += [row["judge"] for own in evaluations for row in own.get("rows", []) if "judge" in row]
    taken.append(manifest.get("judgeDropped") or dict.fromkeys(_PRICES, 0))
    calls, cost = (sum(own[name] for own in taken) for name in _PRICES)
    return calls, cost


def drop_after(folder: RunFolder, step: int) -> None:
    """Removes everything after a step from the folder; what the judge took for it stays counted in run.json."""
    calls, cost = spending(folder)
    folder.truncate_after(step)
    logged = spending(folder)
    if calls > logged[0]:
        folder.update(judgeDropped={"calls": calls - logged[0], "cost": cost - logged[1]})


def record(folder: RunFolder, step: int, judge: dict[str, Any]) -> None:
    """Adds the judge of the steps after this one to judge.json, unless it is the last one; drops later ones."""
    path = folder.path / "judge.json"
    stored = read_json(path) if path.exists() else []
    kept = [own for own in stored if own["fromStep"] <= step]
    # An address matters only where the server chooses the model.
    same = judge.keys() - {"prompts"} - ({"place"} if judge["model"] != "default" else set())
    if not kept or any(kept[-1].get(name) != judge[name] for name in same):
        kept.append({"fromStep": step + 1} | judge)
    if kept != stored:
        folder.replace_json(path.name, kept)


def judge_metrics(terms: list[dict[str, Any]]) -> dict[str, float]:
    """Metrics of one step over the reward terms of all loops; none if no term asked the judge."""
    own = [term for term in terms if term["name"] == "judge" and "judge" in term]
    if not own:
        return {}
    details = [term["judge"] for term in own]
    calls = sum(detail["calls"] for detail in details)
    found = {
        "judge/verdicts": sum(term["value"] is not None for term in own),
        "judge/failures": sum(term["value"] is None for term in own),
        "judge/calls": calls,
        "judge/cache_hits": sum(detail["cached"] for detail in details),
        "judge/cost": sum(detail["cost"] for detail in details),
    }
    return found | ({"judge/latency_ms": sum(detail["latencyMs"] for detail in details) / calls} if calls else {})
