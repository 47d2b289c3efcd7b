"""Recomputes the scores of an evaluation of masks from its folder alone (items.jsonl, rows.jsonl, report.json).

usage: python check_evaluation.py DIR

Prints one JSON line: how many scores were compared, the largest difference, and per metric the linearised standard error
over pictures beside the half width of the reported interval. Exit 1 when a value differs by more than 1e-9.
"""

import json
import sys
from pathlib import Path

import torch

from preprocess import rle_decode

NO_TARGET_PIXELS = 50


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def union(masks, size):
    pixels = torch.zeros(size, dtype=torch.bool)
    for mask in masks:
        pixels |= torch.from_numpy(rle_decode(mask)).bool()
    return pixels


def sums(suite, item, row):
    """Numerator and denominator of each metric for a row; a metric that does not count it is absent."""
    counted = ~union([item["ignore"]] if "ignore" in item else [], item["size"])
    target, found = union(item["masks"], item["size"]) & counted, union(row.get("masks") or [], item["size"]) & counted
    both, either = int((target & found).sum()), int((target | found).sum())
    iou = both / either if either else None
    if suite != "grefcoco":
        reached = {f"P@{bound}": (float(iou is not None and iou >= bound), 1) for bound in (0.5, 0.6, 0.7, 0.8, 0.9)}
        return {"cIoU": (both, either), "gIoU": (1.0 if iou is None else iou, 1), **reached}
    declared = int(found.sum()) < NO_TARGET_PIXELS
    if not item["masks"]:
        pixels = (0, 0) if declared else (0, either)
        return {"gIoU": (float(declared), 1), "cIoU": pixels, "N-acc": (float(declared), 1)}
    own = 0.0 if declared or iou is None else iou
    reached = {f"Pr@{bound}": (float(own >= bound), 1) for bound in (0.7, 0.8, 0.9)}
    return {"gIoU": (own, 1), "cIoU": (0 if declared else both, either), "T-acc": (float(not declared), 1), **reached}


def clusters(items, parts, metric):
    """Sums per picture, as a tensor [pictures, 2] in double precision."""
    names = {name: at for at, name in enumerate(dict.fromkeys(item["imageId"] for item in items))}
    table = torch.zeros(len(names), 2, dtype=torch.float64)
    for item, part in zip(items, parts):
        if metric in part:
            table[names[item["imageId"]]] += torch.tensor(part[metric], dtype=torch.float64)
    return table


def estimate(table):
    """The ratio of sums, and each picture's contribution to its error."""
    total = table.sum(0)
    ratio = total[0] / total[1]
    return float(ratio), (table[:, 0] - ratio * table[:, 1]) / total[1]


def main(folder):
    report = json.loads((folder / "report.json").read_text())
    items = lines(folder / "items.jsonl")
    answers = {(row["system"], row["rowId"]): row for row in lines(folder / "rows.jsonl")}
    parts = {
        system: [sums(report["suite"], item, answers[system, item["id"]]) for item in items]
        for system in report["systems"]
    }
    largest, compared, errors = 0.0, 0, {}
    for system, scores in report["systems"].items():
        for score in scores:
            value, _ = estimate(clusters(items, parts[system], score["metric"]))
            largest, compared = max(largest, abs(value - score["value"])), compared + 1
    for score in report["difference"] or []:
        pair = [estimate(clusters(items, parts[system], score["metric"])) for system in ("base", "adapter")]
        largest, compared = max(largest, abs(pair[1][0] - pair[0][0] - score["value"])), compared + 1
        spread = pair[1][1] - pair[0][1]
        count = len(spread)
        error = float((spread.square().sum() * count / (count - 1)).sqrt()) if count > 1 else None
        errors[score["metric"]] = {"error": error, "halfWidth": (score["high"] - score["low"]) / 2}
    print(json.dumps({"compared": compared, "largest": largest, "difference": errors}))
    return 0 if largest <= 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
