"""
python make_optim.py --seed S --out DIR: AdamW, clipping and moving-average cases of random shapes and settings, and whole
runs of updates, by torch.
"""

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


RUN = {
    "lora_A.weight": ("lora", (2, 3)), "lora_B.weight": ("lora", (3, 2)), "mlp1.weight": ("projector", (2, 2)),
    "mlp1.bias": ("projector", (3,)), "decoder.weight": ("mask-decoder", (2, 4)), "decoder.norm": ("mask-decoder", (4,)),
}  # fmt: skip
RUNS = [
    {"lrSchedulerType": "cosine", "warmupSteps": 2, "weightDecay": 0.1, "projectorRateFactor": 0.5, "maskRateFactor": 0.1,
     "loops": [1]},
    {"lrSchedulerType": "linear-then-cosine", "warmupSteps": 3, "loops": [1, 2], "clipScope": "loop", "maxGradNorm": 0.5,
     "broken": {2: "nan", 4: "inf"}, "maskRateFactor": 3, "weightDecay": 0.3},
    {"lrSchedulerType": "cosine", "warmupSteps": 1, "loops": [1, 2], "clipScope": "sum", "emaRamp": True, "numIterations": 2,
     "adamEpsilon": 0.01, "adamBeta1": 0.5, "adamBeta2": 0.9},
    {"lrSchedulerType": "constant", "warmupSteps": 4, "loops": [1], "maxGradNorm": 0,
     "unreached": ["decoder.weight", "decoder.norm"], "emaDecay": 0.5, "weightDecay": 0.5, "broken": {0: "nan"}},
]  # fmt: skip
DEFAULTS = {
    "learningRate": 0.02, "steps": 6, "numIterations": 1, "weightDecay": 0, "projectorRateFactor": 1, "maskRateFactor": 1,
    "maxGradNorm": 1, "clipScope": "sum", "emaDecay": 0.999, "emaRamp": False, "adamBeta1": 0.9, "adamBeta2": 0.999,
    "adamEpsilon": 1e-8,
}  # fmt: skip


def rates(optimiser, s, total):
    """transformers' cosine with warm-up, torch's own two schedulers in a row, or none."""
    warm, lib = s["warmupSteps"], torch.optim.lr_scheduler
    if s["lrSchedulerType"] == "constant":
        return lib.LambdaLR(optimiser, lambda _: 1.0)
    if s["lrSchedulerType"] == "cosine":
        half = lambda i: 0.5 * (1 + np.cos(np.pi * (i - warm) / max(1, total - warm)))
        return lib.LambdaLR(optimiser, lambda i: i / max(1, warm) if i < warm else max(0.0, half(i)))
    parts = [lib.LinearLR(optimiser, 1 / warm, total_iters=warm), lib.CosineAnnealingLR(optimiser, total - warm)]
    return lib.SequentialLR(optimiser, parts, milestones=[warm])


def whole_run(random, name, about):
    """Micro-batches of the loops are summed, clipped and applied; a broken gradient skips update, schedule and average."""
    s = DEFAULTS | {key: value for key, value in about.items() if key not in ("loops", "broken", "unreached")}
    start = {key: torch.from_numpy(random.normal(0, 1, shape).round(6)) for key, (_, shape) in RUN.items()}
    weights = {key: value.clone().requires_grad_() for key, value in start.items()}
    average = {key: value.clone() for key, value in start.items()}
    factor = {"lora": 1, "projector": s["projectorRateFactor"], "mask-decoder": s["maskRateFactor"]}
    groups = [{"params": [weights[key]], "lr": s["learningRate"] * factor[block],
               "weight_decay": s["weightDecay"] if len(shape) > 1 else 0} for key, (block, shape) in RUN.items()]  # fmt: skip
    adam = torch.optim.AdamW(groups, lr=s["learningRate"], betas=(s["adamBeta1"], s["adamBeta2"]), eps=s["adamEpsilon"])
    total = s["steps"] * s["numIterations"]
    schedule, taken = rates(adam, s, total), 0
    tensors = [{"name": key, "block": block, "values": start[key].tolist()} for key, (block, _) in RUN.items()]
    case = {"name": name, "settings": s, "tensors": tensors, "updates": []}
    for turn in range(total):
        batches, loops = [], {}
        for loop in about["loops"]:
            for _ in range(2):
                reached = [key for key in RUN if key not in about.get("unreached", [])]
                drawn = {key: random.normal(0, 10 ** random.uniform(-2, 1), RUN[key][1]).round(6) for key in reached}
                own = {key: torch.from_numpy(values) for key, values in drawn.items()}
                if turn in about.get("broken", {}):
                    own["mlp1.weight"][1, 0] = float(about["broken"][turn])
                for key, gradient in own.items():
                    (weights[key] * gradient).sum().backward()
                batches.append({"loop": loop, "gradients": {key: plain(value) for key, value in own.items()}})
            loops[loop] = {key: w.grad.clone() for key, w in weights.items() if w.grad is not None}
            adam.zero_grad()
        found = {"rate": adam.param_groups[0]["lr"], "stepped": turn not in about.get("broken", {})}
        if found["stepped"]:
            sums = {key: sum(own[key] for own in loops.values()) for key in next(iter(loops.values()))}
            found["norm"] = float(torch.cat([value.flatten() for value in sums.values()]).norm())
            apart = len(loops) > 1 and s["clipScope"] == "loop"
            for own in loops.values() if apart else [sums]:
                for key, gradient in own.items():
                    weights[key].grad = gradient.clone()
                if s["maxGradNorm"] > 0:
                    torch.nn.utils.clip_grad_norm_(weights.values(), s["maxGradNorm"])
                for key in own:
                    own[key] = weights[key].grad
            for key in sums:
                weights[key].grad = sum(own[key] for own in loops.values()) if apart else sums[key]
            adam.step()
            schedule.step()
            adam.zero_grad()
            taken += 1
            decay = min(s["emaDecay"], (1 + taken) / (10 + taken)) if s["emaRamp"] else s["emaDecay"]
            for key, value in weights.items():
                average[key].mul_(decay).add_(value.detach(), alpha=1 - decay)
            found["distance"] = torch.cat([(weights[key].detach() - average[key]).flatten() for key in RUN]).norm().item()
        for key, values in (("params", weights), ("ema", average)):
            found[key] = [round(x, 9) for own in values.values() for x in own.detach().flatten().tolist()]
        case["updates"].append({"batches": batches, "expected": found})
    return case


def plain(values):
    """Numbers, with null for NaN and "inf" for infinity."""
    return [None if x != x else "inf" if x == float("inf") else x for x in values.flatten().tolist()]


def main(seed, out):
    out.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    files = {
        "adamw": [adamw(random, f"random {i}") for i in range(20)],
        "clip": [clip(random, f"random {i}") for i in range(20)],
        "ema": [ema(random) for _ in range(10)],
        "run": [whole_run(random, f"run {i}", about) for i, about in enumerate(RUNS)],
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
