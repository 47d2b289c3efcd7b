"""
python check_step.py --run RUN --model DIR --shard FILE: loss and gradients of a run's first step in PyTorch.

RUN is a run of one step from the published weights whose settings are those of `npm run step-1b`: both loops with one
group, loss type grpo, mask policy candidates, anchor to the truth, gradients clipped by loop. What was sampled and earned is read from the record.
The gradient of the lab is read from AdamW's first moments. Prints one JSON object; errors of gradients are norms of the
difference, relative to the norm of the gradient.
"""

import argparse
import io
import json
from pathlib import Path

import pyarrow
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import load_file

import model
import preprocess
import sam2
import training
from answers import grid_side, look
from folder import Checkpoint


def table(path):
    with pyarrow.memory_map(str(path)) as source:
        return pyarrow.ipc.open_stream(source).read_all().to_pylist()


def from_runs(runs):
    """Token ids from pairs (id, count)."""
    return [own for at in range(0, len(runs), 2) for own in [runs[at]] * runs[at + 1]]


def text_loss(w, base, picture, adapter, grid, rows, guard):
    """Group-relative policy loss of captions, and their log-probabilities; one at a time behind the same prompt."""
    losses, found = [], []
    visual = model.projector(w, picture.visual)
    for row in rows:
        prompt, said = from_runs(row["prompt_runs"]), [action["id"] for action in row["actions"]]
        x = model.embed(w, base.config, prompt + said, base.ids["<IMG_CONTEXT>"], visual, [grid])
        hidden = model.language(w, base.config, x, adapter)[len(prompt) - 1 : -1]
        logits = model.head(w, base.config, hidden).clamp(-guard, guard)
        logps = logits.log_softmax(-1).gather(1, torch.tensor(said)[:, None])[:, 0]
        losses.append(-(logps - logps.detach()).exp().mean() * row["advantage"])
        found += logps.tolist()
    return torch.stack(losses).mean(), found


def mask_loss(w, base, picture, adapter, truth, rows, settings):
    """Policy loss over all three candidates, weighted by their probabilities, and the anchor to the true mask."""
    first = rows[0]
    ids = from_runs(first["prompt_runs"]) + first["answer_ids"]
    seg = base.ids["[SEG]"]
    ids = ids[: len(ids) - ids[::-1].index(seg)]
    visual = model.projector(w, picture.visual)
    x = model.embed(w, base.config, ids, base.ids["<IMG_CONTEXT>"], visual, [])
    lang = model.seg_prompt(w, model.language(w, base.config, x, adapter)[-1:])
    masks, iou = sam2.decode(w, base.config["sam2_config"], picture.levels, lang)[:2]
    logps = (iou[0, 1:] / settings["candidateTemperature"]).log_softmax(-1)
    advantages = torch.tensor([row["advantage"] for row in rows])
    policy = -(logps.detach().exp() * (logps - logps.detach()).exp() * advantages).sum()
    low, _ = sam2.choose(masks, iou)
    target = preprocess.nearest(truth, *low.shape[2:]).float()[None]
    bce = F.binary_cross_entropy_with_logits(low[:, 0], target)
    dice = training.dice(low[:, 0].sigmoid(), target).mean()
    anchor = training.BCE_WEIGHT * bce + training.DICE_WEIGHT * dice
    return policy + settings["maskAnchorWeight"] * anchor, logps.tolist()


def add_clipped(sums, named, loss, most):
    """Adds the loss's gradient, clipped by its own norm, to `sums`; the norm before."""
    names = list(sums)
    grads = torch.autograd.grad(loss, [named[name] for name in names], allow_unused=True)
    norm = float(torch.stack([g.double().pow(2).sum() for g in grads if g is not None]).sum().sqrt())
    for name, grad in zip(names, grads, strict=True):
        if grad is not None:
            sums[name] += grad * min(1.0, most / (norm + 1e-6))
    return norm


def main(given):
    manifest = json.loads((given.run / "run.json").read_text())
    settings = manifest["config"]
    lab = json.loads((given.run / "metrics.jsonl").read_text().splitlines()[0])
    after = given.run / "checkpoints" / "step-000001"
    rows = table(given.run / "rollouts" / "step-000001.arrow")
    loops = {loop: [row for row in rows if row["loop"] == loop] for loop in (1, 2)}
    base = Checkpoint(given.model)
    stored = table(given.shard)[0]
    image = Image.open(io.BytesIO(stored["image"]["bytes"])).convert("RGB")
    mask = stored["mask_rle"]
    truth = preprocess.rle_decode({"size": mask["size"], "counts": mask["counts"]})
    base.config["max_dynamic_patch"] = settings["maxTiles"]
    picture = look(base, image)
    side = grid_side(base.config)

    moments = {
        name.removeprefix("exp_avg."): value
        for name, value in load_file(after / "optimizer.safetensors").items()
        if name.startswith("exp_avg.")
    }
    prefix, factors = "base_model.model.", {}
    for name, value in load_file(after / "adapter_model.safetensors").items():
        # The first factor has no gradient while the second one is 0, so it is unchanged.
        start = torch.zeros_like(value) if ".lora_B." in name else value.clone()
        factors[name.removeprefix(prefix).removesuffix(".weight")] = start.float().requires_grad_()
    own = {name: base.weights[name].clone().requires_grad_() for name in moments if "lora_" not in name}
    w = base.weights | own
    adapter = model.Adapter(factors, settings["loraAlpha"] / settings["loraR"])
    grid = preprocess.nearest(truth, side, side)

    named = own | {f"language_model.{path}.weight": value for path, value in factors.items()}
    mine = {name: torch.zeros_like(named[name]) for name in moments}
    loss1, logps1 = text_loss(w, base, picture, adapter, grid, loops[1], settings["logitGuard"])
    norms = [add_clipped(mine, named, settings["loop1Weight"] * loss1, settings["maxGradNorm"])]
    loss2, logps2 = mask_loss(w, base, picture, adapter, truth, loops[2], settings)
    norms.append(add_clipped(mine, named, settings["loop2Weight"] * loss2, settings["maxGradNorm"]))
    theirs = {name: value / (1 - settings["adamBeta1"]) for name, value in moments.items()}
    top = max(float(g.norm()) for g in mine.values())
    worst, blocks = {}, {}
    for name, value in theirs.items():
        gap, size = float((value - mine[name]).norm()), float(mine[name].norm())
        block = "lora" if "lora_" in name else name.split(".")[2 if name.startswith("grounding") else 0]
        kept = blocks.setdefault(block, [0.0, 0.0, 0])
        blocks[block] = [kept[0] + gap**2, kept[1] + size**2, kept[2] + 1]
        # Tensors whose gradient is only rounding beside the others are not compared.
        if size > 1e-6 * top:
            worst[name] = gap / size
    last = max(worst, key=worst.get)
    seen = [action["logp"] for row in loops[1] for action in row["actions"]]
    seen2 = [row["actions"][0]["logp"] for row in loops[2]]
    print(
        json.dumps(
            {
                "loss": {"lab": [lab["loop1/loss"], lab["loop2/loss"]], "pytorch": [loss1.item(), loss2.item()]},
                "grad_norm": {"lab": [lab["loop1/grad_norm"], lab["loop2/grad_norm"]], "pytorch": norms},
                "largest_logp_gap": max(abs(a - b) for a, b in zip(seen + seen2, logps1 + logps2, strict=True)),
                "gradient": {name: (gap / size) ** 0.5 if size else None for name, (gap, size, _) in blocks.items()},
                "tensors": {name: count for name, (_, _, count) in blocks.items()},
                "compared": len(worst),
                "worst_tensor": {"name": last, "norm": worst[last]},
            }
        )
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("run", "model", "shard"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    main(arguments)
