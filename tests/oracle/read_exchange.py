"""Reads exports of the plug-in `exchange` with the programs that they are for; prints what it found as JSON.

    python read_exchange.py coco|completions|trackio DIR
"""

import json
import os
import sys
from pathlib import Path

KIND, PLACE = sys.argv[1], Path(sys.argv[2])


def coco() -> dict:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth = COCO(PLACE / "held-out/instances.json")
    scores = COCOeval(truth, truth.loadRes(str(PLACE / "held-out/mask-results.json")), "segm")
    scores.evaluate()
    scores.accumulate()
    scores.summarize()
    captions = COCO(PLACE / "held-out/captions.json").loadRes(str(PLACE / "held-out/caption-results.json"))
    rollouts = COCO(PLACE / "rollouts/instances.json").loadRes(str(PLACE / "rollouts/mask-results.json"))
    return {
        "ap50": round(float(scores.stats[1]), 2),
        "captions": len(captions.anns),
        "rollouts": len(rollouts.anns),
    }


def completions() -> dict:
    import pandas
    from datasets import load_dataset

    files = sorted(str(path) for path in (PLACE / "completions").glob("*.parquet"))
    rows = load_dataset("parquet", data_files=files, split="train", cache_dir=str(PLACE / "cache"))
    assert len(pandas.concat(pandas.read_parquet(path) for path in files)) == len(rows)
    # The lines of GRPOTrainer.log of TRL 1.16, with a conversation and a reward function that returned None.
    (PLACE / "trl").mkdir()
    said = ["a hat", "a red hat"]
    table = {
        "step": [5, 5],
        "prompt": [[{"role": "user", "content": "Describe it"}]] * 2,
        "completion": [[{"role": "assistant", "content": text}] for text in said],
        "accuracy_reward": [0.5, float("nan")],
        "advantage": [1.0, -1.0],
    }
    pandas.DataFrame(table).to_parquet(PLACE / "trl/completions_00005.parquet")
    names = rows.column_names
    types = {name: feature.dtype for name, feature in rows.features.items()}
    return {"rows": len(rows), "types": types, "first": names[:3], "last": names[-1]}


def read_trackio() -> dict:
    os.environ["TRACKIO_DIR"] = str(PLACE)
    from trackio.fragments import import_inbox_dir
    from trackio.sqlite_storage import SQLiteStorage

    import_inbox_dir()
    project, run = "sa2va-lab", "brave-otter"
    logs = SQLiteStorage.get_logs(project, run)
    pictures = [
        value
        for line in logs
        for value in line.values()
        if isinstance(value, dict) and value.get("_type") == "trackio.image"
    ]
    assert all((PLACE / "media" / value["file_path"]).is_file() for value in pictures)
    table = next(line["loop1/rollouts"]["_value"] for line in logs if "loop1/rollouts" in line)
    losses = [line["loss"] for line in logs if "loss" in line]
    nan = [line["loop1/kl"] for line in logs if "loop1/kl" in line]
    return {
        "left": len(list((PLACE / "inbox").rglob("*.jsonl"))),
        "runs": SQLiteStorage.get_runs(project),
        "title": (SQLiteStorage.get_run_config(project, run) or {}).get("title"),
        "losses": losses,
        "nan": len(nan) == 1 and nan[0] != nan[0],
        "pictures": len(pictures),
        "captions": [row["caption"] for row in table],
        "alerts": [alert["title"] for alert in SQLiteStorage.get_alerts(project, run)],
    }


print(json.dumps({"coco": coco, "completions": completions, "trackio": read_trackio}[KIND]()))
