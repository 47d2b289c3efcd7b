"""A step of both loops on a tiny model, from rows in memory."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from test_loss import settings
from torch.overrides import TorchFunctionMode

from sa2va_lab.data import Row
from sa2va_lab.masks import encode_rle
from sa2va_lab.meteor import Meteor, Wordnet
from sa2va_lab.model import load_model
from sa2va_lab.order import Known, RowOrder
from sa2va_lab.play import Context
from sa2va_lab.policy import Actor
from sa2va_lab.rewards import Scorer
from sa2va_lab.settings import Contract
from sa2va_lab.state import fresh_state, init_adapter
from sa2va_lab.text import Words

ROOT = Path(__file__).parents[2]
STREAMS = dict.fromkeys(("token", "mask", "data", "init", "shuffle", "curriculum"), 0)
STREAMS = {name: at for at, name in enumerate(STREAMS)}
CONTRACT = Contract(
    wordings={
        "caption": "<image>\nPlease give me a short description of the region in the picture marked by region1.",
        "segment": "<image>\nPlease segment {phrase} in this image.", "question": "<image>\n{phrase}",
        "answer": "Sure, [SEG].",
    },
    templates={
        "qwen_chat": {"before": "<|im_start|>user\n", "after": "<|im_end|>\n<|im_start|>assistant\n", "bos": False,
                      "stopWords": ["<|im_end|>", "<|endoftext|>"]},
    },
    streams=STREAMS, evaluation={}, judge={}, defaults={},
)  # fmt: skip
SIZES = {
    "steps": 4, "promptsPerStep": 2, "numGenerations": 3, "temperature": 1.0, "maxCompletionLength": 5,
    "partnerMaxTokens": 4,
    "logitGuard": 30, "topP": 1, "loop1Iou": 1, "loop2Meteor": 1, "loop1Confidence": 0.5, "loop2Confidence": 0.5,
    "loop1Weight": 1, "loop2Weight": 1, "loraR": 2, "loraAlpha": 4, "maxTiles": 2, "fieldGrid": 4, "fieldSigma": 1,
    "beta": 0.04, "learningRate": 1e-3, "adamBeta1": 0.9, "adamBeta2": 0.999, "adamEpsilon": 1e-8, "emaDecay": 0.9,
    "repetitionPenalty": 1, "stepsPerGeneration": 1, "maskRateFactor": 1, "projectorRateFactor": 1, "repetitionGram": 2,
    "maxGradNorm": 1, "mixSources": "", "entropyCoefMax": 1,
}  # fmt: skip
"""Settings of a small run."""


class Alone:
    """A team of one process."""

    world, rank, first, device = 1, 0, True, torch.device("cpu")

    def own(self, groups: int) -> list[int]:
        return list(range(groups))

    def all_of(self, items: list[Any]) -> list[Any]:
        return items


def rows(count: int) -> list[Row]:
    random = np.random.default_rng(4)
    found = []
    for at in range(count):
        mask = np.zeros((64, 64), np.uint8)
        mask[8 * at : 8 * at + 24, 10:40] = 1
        rgb = random.integers(0, 256, (64, 64, 3), dtype=np.uint8)
        found.append(
            Row(
                f"rows#{at}",
                f"picture{at}",
                "the red cup",
                encode_rle(mask),
                mask,
                rgb,
                (),
                (("What is it?", "a cup"),),
            )
        )
    return found


def context(folder: Path | None = None, **change: object) -> Context:
    """Inputs of a first step; `change` are settings."""
    folder = folder or ROOT / "tests" / "golden" / "sa2va-tiny-qwen2"
    s = settings(**SIZES | change)
    model = load_model(folder)
    model.add_adapter(s.lora_r, s.lora_alpha, s.train_projector)
    init_adapter(model, 1, 3)
    if s.gradient_checkpointing:
        model.recompute()
    given = rows(4)
    data: Any = SimpleNamespace(row=lambda at: given[at], train=list(range(4)))
    order = RowOrder(Known(data.train, [row.id for row in given], [3] * 4, [], STREAMS), s)
    scorer = Scorer(Meteor(Wordnet(ROOT / "public" / "wordnet" / "wordnet30.txt")))
    actor = Actor(model, Words(folder, model.config, CONTRACT), s)
    return Context(actor, CONTRACT, data, fresh_state(model, s), scorer, order, 1)


READS = {"item", "tolist", "cpu", "numpy", "__float__", "__int__", "__bool__", "__index__", "nonzero", "equal",
         "masked_select", "unique", "__contains__"}  # fmt: skip


class Reads(TorchFunctionMode):
    """
    Counts the calls that read values, and indexing by a mask, which asks how many there are.

    With `of`, a model, only its tensors count and what is computed from them, as if they were on a device.
    """

    def __init__(self, of: torch.nn.Module | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []
        self._all = of is None
        for module in of.modules() if of is not None else ():
            for name, own in (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)):
                there = own.detach().as_subclass(There)
                whole = torch.nn.Parameter(there, own.requires_grad) if isinstance(own, torch.nn.Parameter) else there
                setattr(module, name, whole)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        masked = name in ("__getitem__", "__setitem__") and any(
            isinstance(own, torch.Tensor) and own.dtype == torch.bool
            for own in (args[1] if isinstance(args[1], tuple) else (args[1],))
        )
        read = (name in READS or masked) and (self._all or isinstance(args[0], There))
        found = func(*args, **(kwargs or {}))
        if read:
            self.found.append(name)
            return found.as_subclass(torch.Tensor) if isinstance(found, torch.Tensor) and not masked else found
        return found


class There(torch.Tensor):
    """A tensor that counts as one on a device, and so does what is computed from it."""
