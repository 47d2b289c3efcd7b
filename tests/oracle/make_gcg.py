"""Grounded conversations and scores of objects: make_gcg.py OUT SEED [numbers].

Writes gcg/{mask_gt,caption_gt,predictions}.json, dlc/scores.json and stats/cluster.json in the form of tests/golden/evaluation.
AP comes from COCOeval of pycocotools; mIoU, recall, means and standard errors are written from docs/spec/evaluation.md (2.2,
3.3, 6.1) with numpy. With "numbers", ids of pictures are numbers of different lengths, in no order.
"""

import contextlib
import io
import itertools
import json
import sys
from pathlib import Path

import numpy as np
from make_evaluation import blob, near, rle
from pycocotools import mask as coco
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def filled(draw, height, width):
    while not (pixels := blob(draw, height, width)).any():
        pass
    return pixels


def greedy_mean(matrix):
    """Mean IoU of pairs taken from the largest on, by deletion as the original does."""
    left, taken = matrix.copy(), []
    while left.size > 0 and left.max() > 0:
        row, column = np.unravel_index(np.argmax(left), left.shape)
        taken.append(left[row, column])
        left = np.delete(np.delete(left, row, 0), column, 1)
    return float(np.mean(taken)) if taken else 0.0


def matches(matrix, texts):
    """Pairs by largest IoU until one fails; None for a winner beyond the phrases."""
    left, found = matrix.copy(), []
    while left.size > 0:
        row, column = np.unravel_index(np.argmax(left), left.shape)
        if left[row, column] < 0.5:
            break
        if column >= texts.shape[1]:
            return None
        if texts[row, column] < 0.5:
            break
        found.append([int(row), int(column)])
        left[row, :], left[:, column] = 0, 0
    return found


def precision(truth, detections):
    """AP50 and AP75 of COCOeval."""
    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO()
        data.dataset = truth
        data.createIndex()
        scores = COCOeval(data, data.loadRes(detections), "segm")
        scores.evaluate()
        scores.accumulate()
        scores.summarize()
    return {"AP": float(scores.stats[0]), "AP50": float(scores.stats[1]), "AP75": float(scores.stats[2])}


def grounded(draw, numbers):
    names = [f"{draw.choice(['sa', 'A', 'b'])}_{n}" for n in range(draw.integers(15, 30))]
    if numbers:
        names = list(dict.fromkeys(int(10 ** draw.uniform(0, 6)) for _ in names))
    similarity, images, sizes, truth, captions, detections = {}, [], [], [], [], []
    for image in names:
        height, width = (int(side) for side in draw.integers(12, 60, 2))
        sizes.append({"id": image, "height": height, "width": width})
        masks = [filled(draw, height, width) for _ in range(draw.integers(1, 6))]
        predicted = [near(draw, masks[draw.integers(len(masks))]) for _ in range(draw.integers(0, 7))]
        predicted = [one for one in predicted if one.any()]
        labels = [f"label {draw.integers(5)} of {image}" for _ in masks]
        # Sometimes fewer or more phrases than masks.
        phrases = [f"phrase {at}" for at in range(max(0, len(predicted) + int(draw.choice([0, 0, 0, 0, -1, 1]))))]
        for label in labels:
            for phrase in phrases:
                similarity.setdefault(f"{label}|{phrase}", float(draw.choice([0.49, 0.5, 0.7, 0.8, 1.0])))
        texts = np.array([[similarity[f"{a}|{b}"] for b in phrases] for a in labels]).reshape(len(labels), len(phrases))
        iou = np.array([[(a & b).sum() / (a | b).sum() for b in predicted] for a in masks]).reshape(len(masks), len(predicted))
        found = matches(iou, texts)
        expected = {"mIoU": greedy_mean(iou), "iou": iou.tolist(), "matches": found or []}
        prediction = {"image_id": image, "caption": "", "phrases": phrases, "pred_masks": [rle(one) for one in predicted]}
        images.append({"id": image, "name": str(image), "prediction": prediction, "expected": expected})
        captions.append({"id": len(captions) + 1, "image_id": image, "caption": "", "labels": labels})
        for mask in masks:
            area = int(mask.sum())
            box = [float(side) for side in coco.toBbox(rle(mask))]
            extra = {"category_id": 1, "area": area, "bbox": box, "iscrowd": 0}
            truth.append({"id": len(truth) + 1, "image_id": image, "segmentation": rle(mask), **extra})
        detections += [{"image_id": image, "category_id": 1, "segmentation": rle(one), "score": 1.0} for one in predicted]
    truths = {"info": {}, "images": sizes, "annotations": truth, "categories": [{"id": 1, "name": "object"}]}
    count = sum(len(one["expected"]["matches"]) for one in images)
    expected = {
        "coco": precision(truths, detections),
        "mIoU": float(np.mean([one["expected"]["mIoU"] for one in images])),
        "truePositives": count,
        "groundTruthPhrases": len(truth),
        "recall": count / len(truth),
    }
    return {
        "gcg/mask_gt.json": truths,
        "gcg/caption_gt.json": {"images": sizes, "annotations": captions},
        "gcg/predictions.json": {"imageIds": names, "textSimilarity": similarity, "images": images, "expected": expected},
    }


def linearised(rows):
    """Ratio of sums with its variance over clusters; rows of (cluster, sum, weight), or of two systems side by side."""
    keys = sorted({row[0] for row in rows})
    values = np.array([np.sum([row[1:] for row in rows if row[0] == key], axis=0) for key in keys], float)
    sums, weights = values[:, 0::2], values[:, 1::2]
    ratio = sums.sum(0) / weights.sum(0)
    errors = (sums - ratio * weights) / weights.sum(0)
    if errors.shape[1] == 2:
        ratio, errors = ratio[1] - ratio[0], errors[:, 1] - errors[:, 0]
    count = len(keys)
    return float(np.squeeze(ratio)), float(count / (count - 1) * np.sum(errors**2))


def estimate(rows):
    """Ratio of sums with mean and variance over all draws of as many clusters, each counted by its position."""
    keys = sorted({row[0] for row in rows})
    draws = itertools.product(keys, repeat=len(keys))
    ratios = [linearised([[at, *row[1:]] for at, key in enumerate(draw) for row in rows if row[0] == key])[0] for draw in draws]
    exact = {"mean": float(np.mean(ratios)), "variance": float(np.var(ratios))}
    return {"estimate": linearised(rows)[0], "exactBootstrap": exact}


def objects(draw):
    count = int(draw.integers(30, 120))
    images = [int(one) for one in draw.integers(0, count // 2, count)]
    runs = {}
    for name in ["one", "two", "three"]:
        positive, negative = ((draw.integers(0, 11, count) / 10).tolist() for _ in range(2))
        runs[name] = {"positive": positive, "negative": negative}

    def errors(names, by):
        halves = [(np.array(runs[name]["positive"]) + np.array(runs[name]["negative"])) / 2 for name in names]
        rows = [[by[at]] + [value for half in halves for value in (half[at], 1)] for at in range(count)]
        return linearised(rows)

    def summary(names):
        value, clustered = errors(names, images)
        return {"estimate": value, "clusterStandardError": clustered**0.5, "objectStandardError": errors(names, range(count))[1] ** 0.5}

    for name, run in runs.items():
        means = [float(np.mean(run[part])) for part in ("positive", "negative")]
        scores = {"positive": means[0], "negative": means[1], "benchmark": sum(means) / 2}
        run["expected"] = {**scores, "benchmarkError": summary([name])}
    pairs = [{"a": a, "b": b, "bMinusA": summary([a, b])} for a, b in [("one", "two"), ("two", "three")]]
    return {"images": images, "runs": runs, "pairs": pairs}


def clusters(draw):
    cases = []
    for number in range(6):
        rows = [f"i{image}" for image in range(draw.integers(3, 6)) for _ in range(draw.integers(1, 6))]
        if number % 2 == 0:
            scores = draw.random((len(rows), 2)).round(6)
            pairs = [[image, a, 1, b, 1] for image, (a, b) in zip(rows, scores, strict=True)]
            items = [{"image": row[0], "a": row[1], "b": row[3]} for row in pairs]
            cases.append({"name": f"mean {number}", "kind": "mean", "rows": items, "expected": estimate(pairs)})
            continue
        unions = draw.integers(50, 9000, (len(rows), 2))
        inside = (unions * draw.random((len(rows), 2))).astype(int)
        pairs = [[image, *map(int, (i[0], u[0], i[1], u[1]))] for image, i, u in zip(rows, inside, unions, strict=True)]
        items = [{"image": r[0], "a": {"i": r[1], "u": r[2]}, "b": {"i": r[3], "u": r[4]}} for r in pairs]
        one, two = [[row[:3] for row in pairs], [[row[0], *row[3:]] for row in pairs]]
        expected = {"a": estimate(one), "b": estimate(two), "difference": estimate(pairs)}
        cases.append({"name": f"ratio {number}", "kind": "ratio", "rows": items, "expected": expected})
    return {"cases": cases}


def main(out, seed, numbers=False):
    draw = np.random.default_rng(seed)
    files = {**grounded(draw, numbers), "dlc/scores.json": objects(draw), "stats/cluster.json": clusters(draw)}
    for name, value in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(json.dumps(value, default=float))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["numbers"])
