"""Rows of ReasonSeg painted by OpenCV: make_reasonseg.py OUT SEED.

Writes OUT/reasonseg/*.json and expected.json in the form of tests/golden/evaluation: random shapes, some outside the picture, painted
after docs/spec/evaluation.md#17-reasonseg-lisa-reasonseg, in UTF-8 and Windows-1252, and one answer counted by numpy.
"""

import json
import sys
from pathlib import Path

import cv2
import numpy as np

from make_evaluation import blob, rle


def painted(shapes, height, width):
    """0 background, 1 target, 255 to be ignored."""

    def paint(canvas, shape, value):
        points = np.array([shape["points"]], dtype=np.int32)
        cv2.polylines(canvas, points, True, value, 1)
        cv2.fillPoly(canvas, points, value)

    kept = [shape for shape in shapes if shape["label"] != "flag"]
    areas = []
    for shape in kept:
        alone = np.zeros((height, width), np.uint8)
        paint(alone, shape, 1)
        areas.append(int(alone.sum()))
    canvas = np.zeros((height, width), np.uint8)
    for at in np.argsort(areas, kind="stable")[::-1]:
        paint(canvas, kept[at], 255 if "ignore" in kept[at]["label"].lower() else 1)
    return canvas


def shape(draw, height, width):
    label = str(draw.choice(["target", "target", "target", "ignore", "Ignored part", "flag"]))
    reach = draw.choice([0.0, 0.3, 2.0])
    points = draw.uniform([-reach * width, -reach * height], [(1 + reach) * width, (1 + reach) * height], (draw.integers(1, 12), 2))
    return {"label": label, "points": [[round(float(x), 3), round(float(y), 3)] for x, y in points], "shape_type": "polygon"}


def main(out, seed):
    draw = np.random.default_rng(seed)
    out.mkdir(parents=True)
    files = []
    for at in range(200):
        height, width = (int(side) for side in draw.integers(10, 120, 2))
        text = ["what keeps the café’s guests dry?", "umbrella"][: draw.integers(1, 3)]
        row = {"text": text, "is_sentence": bool(draw.random() < 0.5), "shapes": []}
        row["shapes"] = [shape(draw, height, width) for _ in range(draw.integers(1, 6))]
        encoding = str(draw.choice(["utf-8", "cp1252"]))
        (out / f"{at}.json").write_bytes(json.dumps(row, ensure_ascii=False).encode(encoding))
        canvas = painted(row["shapes"], height, width)
        parts = {"target": rle(canvas == 1), "ignore": rle(canvas == 255)}
        files.append({"file": f"{at}.json", "size": [height, width], **parts, "text": text, "isSentence": row["is_sentence"]})
    target, ignore, prediction = (blob(draw, 40, 50) for _ in range(3))
    target &= ~ignore
    counted = prediction & ~ignore
    counting = {"target": rle(target), "ignore": rle(ignore), "prediction": rle(prediction)}
    counting |= {"i": int((target & counted).sum()), "u": int((target | counted).sum())}
    (out / "expected.json").write_text(json.dumps({"files": files, "counting": counting}))


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "reasonseg", int(sys.argv[2]))
