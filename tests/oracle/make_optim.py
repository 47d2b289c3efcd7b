"""python make_optim.py --seed S --out DIR: AdamW, clipping and moving-average cases of random shapes and settings, by torch."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (1, 9)]


def adamw(random, name):
    shape = SHAPES[random.integers(len(SHAPES))] or (1,)
    steps, scale = int(random.integers(1, 12)), 10 ** random.uniform(-4, 2)
    lr, decay = 10 ** random.uniform(-5, -1.5), float(random.choice([0, 0.01, 0.3]))
    betas, eps = [float(random.uniform(0, 0.95)), float(random.uniform(0.5, 0.9999))], 10 ** random.uniform(-10, -5)
    param = torch.from_numpy(random.normal(0, 1, shape).round(6)).requires_grad_()
    optimiser = torch.optim.AdamW([param], lr=lr, betas=betas, eps=eps, weight_decay=decay)
    per_step = (random.uniform(0, lr, steps)).tolist() if random.random() < 0.5 else None
    case = {"name": name, "lr": lr, "lr_per_step": per_step, "betas": betas, "eps": eps, "weight_decay": decay}
    case |= {"initial_param": param.tolist(), "grads": [], "trace": []}
    for step in range(steps):
        grad = torch.from_numpy((random.normal(0, scale, shape)).round(6)) * (random.random() > 0.15)
        case["grads"].append(grad.tolist())
        param.grad = grad
        if per_step:
            optimiser.param_groups[0]["lr"] = per_step[step]
        optimiser.step()
        state = optimiser.state[param]
        entry = {k: state[k].tolist() for k in ("exp_avg", "exp_avg_sq")}
        case["trace"].append({"step": step + 1, "param": param.tolist()} | entry)
    return case


def clip(random, name):
    scale, limit = 10 ** random.uniform(-4, 4), 10 ** random.uniform(-2, 1)
    grads = [torch.from_numpy(random.normal(0, scale, SHAPES[k])) for k in random.integers(0, len(SHAPES), 4)]
    case = {"name": name, "max_norm": limit, "norm_type": 2.0, "grads": [g.tolist() for g in grads]}
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in grads]
    for parameter, grad in zip(parameters, grads, strict=True):
        parameter.grad = grad.clone()
    norm = torch.nn.utils.clip_grad_norm_(parameters, limit)
    return case | {"expected": {"total_norm": norm.item(), "clipped": [p.grad.tolist() for p in parameters]}}


def ema(random):
    decay, size, steps = float(random.uniform(0.5, 0.9999)), int(random.integers(1, 9)), int(random.integers(1, 15))
    value = random.normal(0, 1, size)
    case = {"decay": decay, "decay_ramp": None, "initial": value.tolist(), "student_after_step": [], "trace": []}
    for step in range(1, steps + 1):
        student = random.normal(0, 1, size)
        value = decay * value + (1 - decay) * student
        case["student_after_step"].append(student.tolist())
        case["trace"].append({"step": step, "decay_used": decay, "ema": value.tolist()})
    return case


def main(seed, out):
    out.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    files = {
        "adamw": [adamw(random, f"random {i}") for i in range(20)],
        "clip": [clip(random, f"random {i}") for i in range(20)],
        "ema": [ema(random) for _ in range(10)],
    }
    for name, cases in files.items():
        text = json.dumps({"schema": f"optim-{name}/1", "provenance": f"torch {torch.__version__}", "cases": cases})
        (out / f"{name}.json").write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    main(given.seed, given.out)
