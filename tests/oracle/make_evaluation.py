"""Sentences with counts as evaluators of referring segmentation have them: make_evaluation.py OUT SEED.

Writes OUT/iou/res.json and OUT/iou/gref.json in the form of tests/golden/evaluation: random masks of random sizes through
pycocotools, counted by numpy after docs/spec/evaluation.md#15-counting and #16-grefcoco-rela-evaluator-iougrefjson.
"""

import json
import sys
from pathlib import Path

import numpy as np
from pycocotools import mask as coco

BOUNDS = [0.5, 0.6, 0.7, 0.8, 0.9]


def rle(pixels):
    found = coco.encode(np.asfortranarray(pixels.astype(np.uint8)))
    return {"size": [int(side) for side in found["size"]], "counts": found["counts"].decode()}


def blob(draw, height, width):
    """A box or an ellipse that may be empty, full or cut by the border."""
    y, x = np.mgrid[:height, :width]
    cy, cx, ry, rx = draw.uniform(0, [height, width, height / 1.5, width / 1.5])
    if draw.random() < 0.5:
        return (abs(y - cy) < ry) & (abs(x - cx) < rx)
    return ((y - cy) / (ry + 1e-9)) ** 2 + ((x - cx) / (rx + 1e-9)) ** 2 < 1


def near(draw, target):
    """The target moved by some pixels, or another blob."""
    if draw.random() < 0.3:
        return blob(draw, *target.shape)
    return np.roll(target, draw.integers(-3, 4, 2), (0, 1))


def overlap(a, b):
    return {"i": int((a & b).sum()), "u": int((a | b).sum())}


def share(count):
    return 1.0 if count["u"] == 0 else count["i"] / count["u"]


def totals(counts):
    """Counts of sentences, None for one without a mask that is skipped."""
    kept = [count for count in counts if count is not None]
    inside, union = sum(count["i"] for count in kept), sum(count["u"] for count in kept)
    giou = sum(share(count) for count in kept) / len(counts)
    loose = [np.float32(count["i"]) / np.float32(count["u"] + 1e-5) + np.float32(count["u"] == 0) for count in kept]
    printed = {"cIoU": float(inside / (union + 1e-10)), "gIoU": float(sum(loose) / len(counts))}
    return {"intersection": inside, "union": union, "cIoU": inside / union, "gIoU": giou, "asPrinted": printed}


def referring(draw):
    images = []
    for image in range(draw.integers(20, 40)):
        height, width = (int(side) for side in draw.integers(5, 90, 2))
        sentences = []
        for _ in range(draw.integers(1, 9)):
            target = blob(draw, height, width)
            masks = [near(draw, target) for _ in range(draw.integers(0, 4))]
            none = np.zeros_like(target)
            first = overlap(target, masks[0] if masks else none)
            merged = overlap(target, np.logical_or.reduce(masks) if masks else none)
            prediction = [rle(one) for one in masks] if masks else None
            sentences.append({"target": rle(target), "prediction": prediction, "first": first, "merged": merged})
        images.append({"image": image, "size": [height, width], "sentences": sentences})
    kept = [image for image in images if any(one["prediction"] for one in image["sentences"])]
    old = totals([one["first"] if one["prediction"] else None for image in kept for one in image["sentences"]])
    merged = [one["merged"] for image in images for one in image["sentences"]]
    # A sentence with two empty masks has no overlap that could reach a bound.
    counts = {str(bound): {"ge": sum(one["u"] > 0 and share(one) >= bound for one in merged)} for bound in BOUNDS}
    expected = {
        "sentences": len(merged),
        "sa2vaOld": {"images": [image["image"] for image in kept], **old},
        "sa2vaNew": totals(merged),
        "precisionAt": {"denominator": len(merged), "counts": counts},
    }
    return {"images": images, "expected": expected}


def gres(items, declared):
    """Scores of ReLA; `declared` marks the items answered with "no target"."""
    ious, inside, union, found = [], 0, 0, {"TP": 0, "FN": 0, "FP": 0, "TN": 0}
    for item, said in zip(items, declared, strict=True):
        count = item["counts"]
        if item["noTarget"]:
            found["TP" if said else "FN"] += 1
            ious.append(1.0 if said else 0.0)
            union += 0 if said else count["u"]
        else:
            found["FP" if said else "TN"] += 1
            ious.append(0.0 if said or count["u"] == 0 else count["i"] / count["u"])
            inside, union = inside + (0 if said else count["i"]), union + count["u"]
    target = [iou for iou, item in zip(ious, items, strict=True) if not item["noTarget"]]
    return {
        "gIoU": 100 * sum(ious) / len(ious),
        "cIoU": 100 * inside / union,
        "T_acc": found["TN"] / (found["TN"] + found["FP"]),
        "N_acc": found["TP"] / (found["TP"] + found["FN"]),
        **{f"Pr@{bound}": 100 * sum(iou >= bound for iou in target) / len(target) for bound in [0.7, 0.8, 0.9]},
    }


def generalised(draw):
    items = []
    for _ in range(draw.integers(100, 200)):
        height, width = (int(side) for side in draw.integers(8, 70, 2))
        none = bool(draw.random() < 0.3)
        target = np.zeros((height, width), bool) if none else blob(draw, height, width)
        prediction = blob(draw, height, width) & (draw.random() < 0.6) if none else near(draw, target)
        said, counts = bool(draw.random() < 0.4), overlap(target, prediction)
        seen = {"i": 0, "u": 0 if none else counts["u"]} if said else counts
        # As in ReLA, an answer of no target is right or wrong whatever the mask.
        iou = float(none) if said else 0.0 if none or counts["u"] == 0 else counts["i"] / counts["u"]
        area = int(prediction.sum())
        masks = {"target": rle(target), "prediction": rle(prediction)}
        expected = {**seen, "iou": iou}
        items.append({"noTarget": none, "declaredNoTarget": said, **masks, "expected": expected, "counts": counts, "area": area})
    expected = {
        "reLA": gres(items, [item["declaredNoTarget"] for item in items]),
        "reLAUnder50PixelsIsNoTarget": gres(items, [item["area"] < 50 for item in items]),
        "sa2vaNew": totals([item["counts"] for item in items])["asPrinted"],
    }
    return {"items": items, "expected": expected}


def main(out, seed):
    (out / "iou").mkdir(parents=True)
    draw = np.random.default_rng(seed)
    (out / "iou" / "res.json").write_text(json.dumps(referring(draw)))
    (out / "iou" / "gref.json").write_text(json.dumps(generalised(draw)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
