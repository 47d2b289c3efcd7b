"""
Checks a run's held-out gain in PyTorch.

    python prove_run.py --proof DIR --base DIR
    python prove_run.py --run RUN --base DIR --policy DIR --partner DIR --shards DIR...

--proof is a run's proof export. RUN is a stored run with evaluations; --base the checkpoint it began from, --policy and
--partner the merged exports of its last checkpoint. Prints one JSON object: how many greedy captions are the lab's, how far masks are from the lab's, and the
gain of loop 1 with captions drawn here, which owe nothing to the lab's random numbers.
"""

import argparse
import io
import json
from copy import copy
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import torch
from PIL import Image, ImageOps
from safetensors.torch import load_file

import preprocess
from answers import Speaker, grid_side, look
from folder import Checkpoint


def adapted(base, folder):
    """The checkpoint with the adapter and the other trained tensors of a folder."""
    own = copy(base)
    own.weights = base.weights | {k: v.float() for k, v in load_file(folder / "modules.safetensors").items()}
    settings = json.loads((folder / "adapter_config.json").read_text())
    factors = {k: v.float() for k, v in load_file(folder / "adapter_model.safetensors").items()}
    for name, a in factors.items():
        if name.endswith(".lora_A.weight"):
            layer = name.removesuffix(".lora_A.weight")
            weight = layer.replace("base_model.model.", "language_model.", 1) + ".weight"
            change = factors[layer + ".lora_B.weight"].double() @ a.double() * (settings["lora_alpha"] / settings["r"])
            own.weights[weight] = (own.weights[weight].double() + change).float()
    return own


def proof_rows(folder):
    """Picture, truth and caption by row id."""
    rows = {}
    for line in (folder / "rows.jsonl").read_text().splitlines():
        row = json.loads(line)
        rows[row["rowId"]] = row

    def open_one(row_id):
        row = rows[row_id]
        picture = ImageOps.exif_transpose(Image.open(folder / row["picture"])).convert("RGB")
        return picture, preprocess.rle_decode(row["mask"]), row["caption"]

    return open_one


def open_row(shards, row_id):
    """Picture, truth and caption of the row "file#index"."""
    name, index = row_id.rsplit("#", 1)
    path = next(path for folder in shards for path in [folder / name] if path.exists())
    with pyarrow.memory_map(str(path)) as source:
        row = pyarrow.ipc.open_stream(source).read_all().slice(int(index), 1).to_pylist()[0]
    picture = Image.open(io.BytesIO(row["image"]["bytes"])).convert("RGB")
    rle = row["mask_rle"]
    counts = rle["counts"].decode() if isinstance(rle["counts"], bytes) else rle["counts"]
    return picture, preprocess.rle_decode({"size": rle["size"], "counts": counts}), row["conversations"][1]["value"]


def overlap(a, b):
    union = np.logical_or(a, b).sum()
    return float(np.logical_and(a, b).sum() / union) if union else 0.0


def seed_of(*numbers):
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def score(policy, partner, picture, truth, caption, draws, seed, at):
    """Greedy caption, its mask's overlap, the phrase's, and the mean overlap of drawn captions."""
    side = grid_side(policy.config)
    grid = preprocess.nearest(truth, side, side)
    greedy = policy.describe(picture, grid)
    found = {}

    def found_by(text):
        if text not in found:
            found[text] = overlap(partner.find(picture, text), truth)
        return found[text]

    drawn = []
    for draw in range(draws):
        generator = torch.Generator().manual_seed(seed_of(seed, at, draw))
        drawn.append(found_by(policy.describe(picture, grid, generator)))
    return {
        "caption": greedy,
        "loop1_greedy": found_by(greedy),
        "loop1_sampled": float(np.mean(drawn)),
        "grounding_iou": overlap(policy.find(picture, caption), truth),
    }


def interval(values, seed):
    """Mean and its 95 % bootstrap interval."""
    random = np.random.default_rng(seed)
    means = random.choice(values, (4000, len(values))).mean(1)
    return [float(np.mean(values)), *(float(v) for v in np.quantile(means, (0.025, 0.975)))]


def main(given):
    run = given.proof or given.run
    evaluations = [json.loads(line) for line in (run / "eval.jsonl").read_text().splitlines() if line]
    config = json.loads((run / "run.json").read_text())["config"]
    first, last = evaluations[0], evaluations[-1]
    # Rows that chose the best checkpoint are not reported.
    pairs = zip(first["rows"], last["rows"], strict=True)
    rows = [pair for pair in pairs if pair[0].get("part") != "selection"][: given.rows or None]
    base = Checkpoint(given.base)

    def speaker(checkpoint, limit):
        return Speaker(checkpoint, config["logitGuard"], limit)

    start = speaker(base, config["maxCompletionLength"])
    if given.proof:
        row_of = proof_rows(given.proof)
        trained = [adapted(base, given.proof / side) for side in ("policy", "partner")]
    else:
        row_of = partial(open_row, given.shards)
        trained = [Checkpoint(given.policy), Checkpoint(given.partner)]
    policy, partner = (speaker(checkpoint, config["maxCompletionLength"]) for checkpoint in trained)
    equal, gaps, ours, labs, greedy = 0, [], [], [], []
    for at, pair in enumerate(rows):
        image, truth, caption = row_of(pair[0]["rowId"])
        picture, scores = look(base, image), []
        for speaking, finding, lab in ((start, start, pair[0]), (policy, partner, pair[1])):
            own = score(speaking, finding, picture, truth, caption, given.draws, given.seed, at)
            scores.append(own)
            same = own["caption"] == lab["captionGreedy"]
            equal += same
            gaps += [abs(own["loop1_greedy"] - lab["loop1_greedy"])] if same else []
            gaps.append(abs(own["grounding_iou"] - lab["grounding_iou"]))
        ours.append(scores[1]["loop1_sampled"] - scores[0]["loop1_sampled"])
        labs.append(pair[1]["loop1_sampled"] - pair[0]["loop1_sampled"])
        greedy.append(scores[1]["loop1_greedy"] - scores[0]["loop1_greedy"])
    print(
        json.dumps(
            {
                "steps": [first["report"]["step"], last["report"]["step"]],
                "rows": len(rows),
                "captions_equal": equal,
                "captions": 2 * len(rows),
                "largest_iou_gap": max(gaps),
                "median_iou_gap": float(np.median(gaps)),
                "gain_lab": interval(labs, 1),
                "gain_pytorch": interval(ours, 1),
                "gain_greedy_pytorch": interval(greedy, 1),
                "draws": given.draws,
            }
        )
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    for name in ("proof", "run", "policy", "partner"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--shards", type=Path, nargs="+")
    parser.add_argument("--rows", type=int, default=0, help="number of held-out rows, from the first; 0 for all")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    if not words.proof and not (words.run and words.policy and words.partner and words.shards):
        parser.error("--proof, or all of --run, --policy, --partner and --shards")
    main(words)
