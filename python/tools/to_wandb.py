"""Logs a run folder to Weights & Biases on this machine; nothing is sent until `wandb sync` is called.

    python tools/to_wandb.py RUN --dir DIR [--project NAME]

Metrics and held-out scores are logged at their steps, settings in the configuration, notes, tags and alarms
with the run.
"""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from sa2va_lab.errors import LabError
from sa2va_lab.folder import RunFolder
from sa2va_lab.settings import read_json

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def metric_values(row: dict[str, Any]) -> dict[str, float]:
    """Values of a line of metrics.jsonl without its step; texts are the numbers that JSON lacks."""
    return {name: _WORDS[value] if isinstance(value, str) else value for name, value in row.items() if name != "step"}


def evaluation_values(report: dict[str, Any]) -> dict[str, float]:
    """Means of an evaluation with the ends of their intervals, all under "eval/"; missing scores are left out."""
    values: dict[str, Any] = {}
    for name, mean in report["means"].items():
        values[f"eval/{name}"] = mean
        values[f"eval/{name}/low"], values[f"eval/{name}/high"] = report["ci"][name]
    for name, score in ((report.get("reward") or {}).get("scores") or {}).items():
        if score is not None:
            values[f"eval/{name}"] = score["mean"]
            values[f"eval/{name}/low"], values[f"eval/{name}/high"] = score["low"], score["high"]
    for name, score in (report.get("segmentation") or {}).items():
        values[f"eval/{name}"] = score["value"]
    values["eval/selection"] = (report.get("selection") or {}).get("value")
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def rows_of(run: RunFolder) -> dict[int, dict[str, float]]:
    """All logged values by step, ascending; an evaluation is logged with the metrics of its step."""
    rows: dict[int, dict[str, float]] = {}
    for line in run.lines("metrics.jsonl"):
        rows[line["step"]] = metric_values(line)
    for stored in run.lines("eval.jsonl"):
        report = stored["report"]
        rows.setdefault(report["step"], {}).update(evaluation_values(report))
    return dict(sorted(rows.items()))


def log_run(path: Path, directory: Path, project: str) -> Path:
    """
    Writes the run as W&B records one offline; returns its folder for `wandb sync`.

    Raises LabError when there is no run, or wandb is not installed.
    """
    try:
        import wandb  # noqa: PLC0415 - optional
    except ImportError as cause:
        raise LabError("wandb is not installed; pip install './python[wandb]'") from cause
    run = RunFolder(path)
    manifest = run.manifest
    notes = read_json(path / "notes.json") if (path / "notes.json").exists() else {}
    facts = {name: manifest[name] for name in ("model", "data", "adapter", "version", "created")}
    directory.mkdir(parents=True, exist_ok=True)
    quiet = wandb.Settings(
        console="off", silent=True, save_code=False, disable_git=True, x_disable_meta=True, x_disable_stats=True
    )
    logged = wandb.init(
        mode="offline", dir=str(directory), project=project, id=manifest["id"], name=manifest["title"],
        notes=notes.get("text") or None, tags=notes.get("tags") or None, config={**manifest["config"], "run": facts},
        settings=quiet,
    )  # fmt: skip
    for step, values in rows_of(run).items():
        logged.log(values, step=step)
    alarms = run.lines("alarms.jsonl")
    if alarms:
        columns = ["step", "severity", "id", "message"]
        logged.summary["alarms"] = wandb.Table(columns, [[alarm[name] for name in columns] for alarm in alarms])
    folder = Path(logged.dir).parent
    logged.finish(exit_code=1 if manifest["state"] == "failed" else 0)
    return folder


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--dir", type=Path, required=True, help="parent of the folder wandb/")
    parser.add_argument("--project", default="sa2va-lab")
    given = parser.parse_args()
    try:
        folder = log_run(given.run, given.dir, given.project)
    except LabError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    print(f"wandb sync {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
