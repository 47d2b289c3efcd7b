"""Small data sets of clips in the published layouts, made from the pocket clips, and an independent count of J and F over them.

usage: python clip_sets.py make --clips public/pocket/clips --seed S --out DIR
       python clip_sets.py check --set refytvos|mevis|revos|refdavis|refsav --data DIR --eval DIR [--split NAME]

`make` writes one folder a set: sizes, lengths, objects, texts, frames without the object and kinds are drawn from the seed.
`check` reads the true masks from the data (Pillow, pycocotools), the answers from rows.jsonl of `npm run eval --out DIR`,
counts J and F as davis2017-evaluation does, A and R as ReVOS's program does, and takes the means of the set. It prints one JSON line and exits with 1 when a
score of report.json differs by more than 1e-9.
"""

import argparse
import io
import json
import math
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
from PIL import Image
from pycocotools import mask as coco

KINDS = {"revos": ("referring", "reasoning"), "refsav": ("long", "short")}


def encoded(mask):
    found = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": [int(side) for side in found["size"]], "counts": found["counts"].decode()}


def decoded(rle):
    return coco.decode({"size": rle["size"], "counts": rle["counts"].encode()}).astype(bool)


# --- making ----------------------------------------------------------------------------------------------------------


def pocket_rows(folder):
    rows = []
    for path in sorted(Path(folder).glob("data-*.arrow")):
        with pa.ipc.open_stream(path) as reader:
            rows += reader.read_all().to_pylist()
    return rows


class Maker:
    """Clips of one data set: two objects each, of which the second lies below the first."""

    def __init__(self, rows, rng, out):
        self.rows, self.rng, self.out = rows, rng, out

    def clip(self):
        """Frames [T, h, w, 3], masks of two objects [T, 2, h, w], their texts."""
        rng = self.rng
        one, other = rng.choice(len(self.rows), 2, replace=False)
        width, height = int(rng.integers(70, 150)), int(rng.integers(60, 130))
        count = int(rng.integers(6, 10))
        order = [t if t < 6 else 11 - t for t in range(count)]
        frames, masks = [], []
        hidden = int(rng.integers(0, count))
        for at, t in enumerate(order):
            picture = Image.open(io.BytesIO(self.rows[one]["frames"][t]["bytes"])).convert("RGB")
            frames.append(np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR)))
            pair = [decoded(self.rows[row]["mask_rle"][t]) for row in (one, other)]
            large = [cv2.resize(mask.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST) > 0 for mask in pair]
            if at == hidden:
                large[0] = np.zeros_like(large[0])
            masks.append(np.stack([large[0], large[1] & ~large[0]]))
        texts = [self.rows[row]["conversations"][-1]["value"] for row in (one, other)]
        return np.stack(frames), np.stack(masks), texts

    def pictures(self, folder, names, frames):
        folder.mkdir(parents=True, exist_ok=True)
        for name, frame in zip(names, frames):
            Image.fromarray(frame).save(folder / f"{name}.jpg", quality=90)

    def palettes(self, folder, names, masks):
        folder.mkdir(parents=True, exist_ok=True)
        for name, pair in zip(names, masks):
            picture = Image.fromarray((pair[0] + 2 * pair[1]).astype(np.uint8), mode="P")
            picture.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0] + [0] * 759)
            picture.save(folder / f"{name}.png")

    def write(self, path, value):
        target = self.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(value))


def make_palette_set(make, split, step, forms):
    """Ref-YouTube-VOS and Ref-DAVIS17: numbers of objects in palettes; four texts an object in the latter."""
    videos, hidden = {}, {}
    for index in range(2):
        frames, masks, texts = make.clip()
        name = f"v{index:03d}"
        names = [f"{step * at:05d}" for at in range(len(frames))]
        make.pictures(make.out / split / "JPEGImages" / name, names, frames)
        make.palettes(make.out / split / "Annotations" / name, names, masks)
        expressions = {
            str(form + forms * place): {"exp": text if form % 2 == 0 else f"find {text}", "obj_id": str(place + 1)}
            for place, text in enumerate(texts)
            for form in range(forms)
        }
        videos[name] = {"expressions": expressions, "frames": names}
        hidden[name] = {"expressions": {key: {"exp": value["exp"]} for key, value in expressions.items()}, "frames": names}
    make.write(f"meta_expressions/{split}/meta_expressions.json", {"videos": videos})
    return hidden


def make_dictionary_set(make, meta, pictures, masks_path, kind_of):
    """MeViS, ReVOS and Ref-SAV: run lengths by annotation; an expression may name two of them, or none."""
    videos, dictionary = {}, {}
    for index in range(2):
        frames, masks, texts = make.clip()
        name = pictures(index)
        names = [f"{at:05d}" for at in range(len(frames))]
        make.pictures(make.out / name[0], names, frames)
        for place in range(2):
            own = masks[:, place]
            dictionary[str(2 * index + place)] = [encoded(mask) if mask.any() else None for mask in own]
        lists = [([0], texts[0]), ([1], texts[1]), ([0, 1], "both of them")] + ([([], "a ghost")] if kind_of(3) is not None else [])
        expressions = {}
        for key, (objects, text) in enumerate(lists):
            kind = kind_of(key)
            more = {} if kind is None else {"type_id": kind}
            expressions[str(key)] = {"exp": text, "obj_id": objects, "anno_id": [2 * index + place for place in objects], **more}
        height, width = masks.shape[2:]
        videos[name[1]] = {"expressions": expressions, "frames": names, "height": height, "width": width}
    make.write(meta, {"videos": videos})
    make.write(masks_path, dictionary)
    return dictionary


def make_all(clips, seed, out):
    rows = pocket_rows(clips)

    def maker(name, salt):
        return Maker(rows, np.random.default_rng([seed, salt]), Path(out) / name)

    youtube = maker("refytvos", 1)
    hidden = make_palette_set(youtube, "train", 5, 1)
    youtube.write("meta_expressions/valid/meta_expressions.json", {"videos": hidden})
    make_palette_set(maker("refdavis", 2), "valid", 1, 4)
    (Path(out) / "refdavis" / "valid" / "mask_dict.pkl").write_bytes(b"\x80\x04N.")
    make_dictionary_set(
        maker("mevis", 3), "valid_u/meta_expressions.json", lambda at: (f"valid_u/JPEGImages/m{at}", f"m{at}"),
        "valid_u/mask_dict.json", lambda key: None)
    revos = maker("revos", 4)
    masks = make_dictionary_set(
        revos, "meta_expressions_valid_.json", lambda at: (f"JPEGImages/set/r{at}", f"set/r{at}"), "mask_dict.json",
        lambda key: (0, 1, 1, 2)[key])
    # The published file has one mask or a list of masks a frame.
    empty = encoded(np.zeros(next(one for one in masks["0"] if one is not None)["size"]))
    united = [empty if one is None else one for one in masks["0"]]
    listed = [[one for one in pair if one is not None] for pair in zip(masks["2"], masks["3"])]
    revos.write("mask_dict_foreground.json", {"set/r0": {"masks_rle": united}, "set/r1": {"masks_rle": listed}})
    make_dictionary_set(
        maker("refsav", 5), "eval/meta_expressions_valid.json", lambda at: (f"eval/JPEGImages/sav_{at}", f"sav_{at}"),
        "eval/mask_dict.json", lambda key: (0, 1, 0, None)[key] if key < 3 else None)


# --- counting --------------------------------------------------------------------------------------------------------


def boundary(mask):
    """Pixels that differ from the right, the lower or the lower right neighbour; the border counts along itself only."""
    padded = np.pad(mask, ((0, 1), (0, 1)), mode="edge")
    here, right, down, both = padded[:-1, :-1], padded[:-1, 1:], padded[1:, :-1], padded[1:, 1:]
    edge = (here != right) | (here != down) | (here != both)
    edge[-1, :] = (here != right)[-1, :]
    edge[:, -1] = (here != down)[:, -1]
    return edge


def jaccard(truth, found):
    union = np.logical_or(truth, found).sum()
    return 1.0 if union == 0 else float(np.logical_and(truth, found).sum() / union)


def contour(truth, found):
    radius = math.ceil(0.008 * math.hypot(*truth.shape))
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    disk = (x * x + y * y <= radius * radius).astype(np.uint8)
    own, other = boundary(found), boundary(truth)
    if own.sum() == 0 or other.sum() == 0:
        return 1.0 if own.sum() == other.sum() else 0.0
    near = [cv2.dilate(edge.astype(np.uint8), disk) > 0 for edge in (own, other)]
    precision, recall = (own & near[1]).sum() / own.sum(), (other & near[0]).sum() / other.sum()
    return 0.0 if precision + recall == 0 else float(2 * precision * recall / (precision + recall))


def accuracy(truth, found):
    return float(np.mean(truth == found))


def robustness(truth, found, foreground):
    """@param foreground number of pixels of all annotated objects of the frame"""
    return max(1 - float((found & ~truth).sum()) / (foreground + 1e-6), 0.0)


def foreground_of(folder):
    """Pixels by video and frame; None where no file has them."""
    path = next(Path(folder).rglob("mask_dict_foreground.json"), None)
    if path is None:
        return None
    videos = json.loads(path.read_text())
    lists = {video: [one if isinstance(one, list) else [one] for one in entry["masks_rle"]] for video, entry in videos.items()}
    return {video: [sum(int(decoded(one).sum()) for one in frame) for frame in frames] for video, frames in lists.items()}


def expressions_of(folder, name, split):
    """Row id, kind and true masks [T, h, w] of every expression that has public masks."""
    folder = Path(folder)
    if name in ("refytvos", "refdavis"):
        videos = json.loads((folder / f"meta_expressions/{split}/meta_expressions.json").read_text())["videos"]
        for video, entry in videos.items():
            for key, expression in entry["expressions"].items():
                if "obj_id" not in expression:
                    continue
                files = [folder / split / "Annotations" / video / f"{frame}.png" for frame in sorted(entry["frames"])]
                yield f"{video}#{key}", None, [np.asarray(Image.open(file)) == int(expression["obj_id"]) for file in files]
        return
    meta = next(folder.rglob("meta_expressions*.json"))
    masks = json.loads(next(folder.rglob("mask_dict.json")).read_text())
    for video, entry in json.loads(meta.read_text())["videos"].items():
        empty = np.zeros((entry["height"], entry["width"]), bool)
        for key, expression in entry["expressions"].items():
            truth = [empty.copy() for _ in entry["frames"]]
            for anno in expression["anno_id"]:
                for at, rle in enumerate(masks[str(anno)]):
                    truth[at] |= empty if rle is None else decoded(rle)
            yield f"{video}#{key}", expression.get("type_id"), truth


def check(name, data, folder, split):
    folder = Path(folder)
    report = json.loads((folder / "report.json").read_text())
    answers = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    base = {row["rowId"]: row.get("masks") or [] for row in answers if row["system"] == "base"}
    foreground = foreground_of(data)
    scores = []
    for row, kind, truth in expressions_of(data, name, split):
        found = [decoded(rle) for rle in base[row]] or [np.zeros_like(mask) for mask in truth]
        assert len(found) == len(truth), f"{row} has {len(found)} masks for {len(truth)} frames"
        j = float(np.mean([jaccard(*pair) for pair in zip(truth, found)]))
        f = float(np.mean([contour(*pair) for pair in zip(truth, found)]))
        more = {} if name not in KINDS else {"A": float(np.mean([accuracy(*pair) for pair in zip(truth, found)]))}
        if foreground is not None:
            pixels = foreground[row.split("#")[0]]
            more["R"] = float(np.mean([robustness(*three) for three in zip(truth, found, pixels)]))
        scores.append((kind, {"J": j, "F": f, "J&F": (j + f) / 2, **more}))
    expected = {}
    for metric in scores[0][1]:
        if name not in KINDS:
            expected[metric] = float(np.mean([score[metric] for _, score in scores]))
            continue
        for at, kind in enumerate(KINDS[name]):
            own = [round(100 * score[metric], 2) for of, score in scores if of == at]
            # J&F of a kind is made of its means of J and F.
            both = [expected.get(f"{one} {kind}", 0) for one in ("J", "F")]
            expected[f"{metric} {kind}"] = sum(both) / 2 if metric == "J&F" else float(np.mean(own)) / 100
        expected[metric] = sum(expected[f"{metric} {kind}"] for kind in KINDS[name]) / 2
    reported = {score["metric"]: score["value"] for score in report["systems"]["base"]}
    largest = max(abs(value - reported.get(metric, math.inf)) for metric, value in expected.items())
    same = set(expected) == set(reported) and report["rows"] == len(scores)
    print(json.dumps({"set": name, "rows": len(scores), "scores": expected, "largest": largest, "same": same}))
    return 0 if same and largest <= 1e-9 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("make")
    one.add_argument("--clips", required=True)
    one.add_argument("--seed", type=int, required=True)
    one.add_argument("--out", required=True)
    two = commands.add_parser("check")
    two.add_argument("--set", required=True)
    two.add_argument("--data", required=True)
    two.add_argument("--eval", required=True)
    two.add_argument("--split", default="valid")
    given = parser.parse_args()
    if given.command == "make":
        make_all(given.clips, given.seed, given.out)
    else:
        raise SystemExit(check(given.set, given.data, given.eval, given.split))
