"""python check_folder.py DIR: recomputes a golden folder from its checkpoint and prints the largest error of each file."""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

import training
from folder import Folder
from golden import Run


def worst(name, expected, got):
    """Largest error over the largest element; gradients that are mathematically zero may differ by 2e-6."""
    missing = sorted(set(expected) ^ set(got))
    if missing:
        raise SystemExit(f"{name}: not on both sides: {missing[:6]}")
    top, where = 0.0, ""
    for key, value in expected.items():
        other = got[key]
        if value.shape != other.shape:
            raise SystemExit(f"{name} {key}: {tuple(value.shape)} and {tuple(other.shape)}")
        gap = (value.double() - other.double()).abs().max()
        if key.startswith("grad.") and gap < 2e-6:
            continue
        error = float(gap / value.double().abs().max().clamp_min(1e-30)) if gap > 0 else 0.0
        if error > top:
            top, where = error, key
    return top, where


def numbers(expected, got, path=""):
    """Largest relative difference of two JSON values; anything but numbers has to be equal."""
    if isinstance(expected, dict):
        return max((numbers(v, got[k], f"{path}.{k}") for k, v in expected.items()), default=0.0)
    if isinstance(expected, float):
        return abs(expected - got) / max(abs(expected), 1e-12)
    if isinstance(expected, list) and expected and isinstance(expected[0], float):
        return max(numbers(a, b, path) for a, b in zip(expected, got, strict=True))
    if path.endswith("zero_gradient_parameters"):
        expected, got = sorted(expected), sorted(got)
    if expected != got:
        raise SystemExit(f"{path}: {str(expected)[:200]} is not {str(got)[:200]}")
    return 0.0


def main(path):
    folder = Folder(path)
    stored = folder.json("cases.json")
    cases = [
        {"name": c["name"], "text": c["text"], "answer": c["answer"], "marks": c["vp_overall_mask"] is not None}
        for c in stored["cases"]
    ]
    run = Run(folder, stored["regions"], cases)
    # Releases of PyTorch differ by a little over 1e-5 in the last digits of sums.
    limit, report = 2e-5, {}
    for expected, case in zip(stored["cases"], cases, strict=True):
        report["case " + case["name"]] = numbers(expected, run.language_case(case)), ""
    greedy = {name: run.greedy(run.cases[name]) for name in stored["greedy"]}
    for name, (entry, _) in greedy.items():
        margin = stored["greedy"][name].pop("min_top1_margin")
        entry.pop("min_top1_margin")
        if margin < 1e-3:
            raise SystemExit(f"greedy {name}: a margin of {margin} decides nothing")
        report["greedy " + name] = numbers(stored["greedy"][name], entry), ""
    main_case = run.segmenting()["name"]
    run.segmentation(*greedy[main_case])
    seg = load_file(Path(path) / "golden_train_seg.safetensors")
    adamw = stored["train"]["adamw"]
    kept = {k: adamw[k] for k in ("lr", "betas", "eps", "weight_decay", "max_grad_norm", "ema_decay")}
    points = seg["points.rand_oversample"], seg["points.rand_uniform"]
    run.arrays["golden_train_seg"], entry, after = training.segmentation_step(
        run, seg["advantages"], *points, kept, adamw["tensors"]
    )
    report["train.seg"] = numbers(stored["train"]["seg"], entry), ""
    report["train.adamw"] = numbers(adamw, after), ""
    grpo = load_file(Path(path) / "golden_train_grpo.safetensors")
    settings = stored["train"]["grpo"]
    marked = next(c for c in cases if run.ids(c)[0] == grpo["prompt_ids"].tolist())
    run.arrays["golden_train_grpo"], entry = training.grpo_step(
        run,
        marked,
        settings["completions"],
        grpo["rewards"],
        grpo["old_logprobs"],
        settings["clip_eps"],
        settings["beta"],
    )
    report["train.grpo"] = numbers(settings, entry), ""
    for name, arrays in run.arrays.items():
        report[name] = worst(name, load_file(Path(path) / f"{name}.safetensors"), arrays)
    failed = 0
    for name, (error, where) in report.items():
        # A step of Adam is nearly a sign: where a gradient is noise, so is the step.
        allowed = 1e-4 if "train" in name else limit
        failed += error > allowed
        print(f"{'ok  ' if error <= allowed else 'MISS'} {name}: {error:.2e} {where}")
    return failed


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(1 if main(sys.argv[1]) else 0)
