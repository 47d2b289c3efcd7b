"""
python tools/forecast.py CONFIG.json [--groups 8 --rollouts 8 …]: operations of a step, counted by the package itself.

Every part runs once on meta tensors, which have shapes and no values; torch counts its multiplications, this tool its
kernel launches. Nothing is measured. A part takes about max(flop / (share · rate), launches · launch) seconds, with the
card's published rate, the share of it that is reached (0.3 to 0.5), and 4 to 8 µs a launch; measure both on your card.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from sa2va_lab.language import Slots, Turn
from sa2va_lab.model import Features, Sa2va
from sa2va_lab.policy import Actor
from sa2va_lab.settings import read_json

Counted = dict[str, int]
_WORDS = 100
"""Text tokens of a prompt."""


class _Launches(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operations that compute; views need no kernel."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            # transformers asks whether a row holds one sequence only; a meta tensor has no answer.
            return True
        aliases = [own.alias_info for own in func._schema.returns]
        self.count += not aliases or any(own is None or own.is_write for own in aliases)
        return func(*args, **(kwargs or {}))


def counted(part: Callable[[], object]) -> Counted:
    """Floating-point operations, two per multiplication and sum, and launches of a part."""
    with FlopCounterMode(display=False) as flops, _Launches() as launches:
        part()
    return {"flop": flops.get_total_flops(), "launches": launches.count}


class Step:
    """The parts of a dual-loop step of a model without values."""

    def __init__(self, config: dict[str, Any], given: argparse.Namespace) -> None:
        """`config` is the checkpoint's config.json."""
        with torch.device("meta"):
            self.model = Sa2va(config)
            self.model.add_adapter(given.rank, 2 * given.rank)
        self.model.language_model.to(torch.bfloat16)
        self.model.vision_model.to(torch.bfloat16)
        if given.gradient_checkpointing:
            self.model.recompute()
        unused: Any = SimpleNamespace()
        self.actor, self.given = Actor(self.model, unused, unused), given
        rows, cols = self.model.family.grid(1, 1)
        self.width, self.prompt = self.model.width, given.tiles * rows * cols + _WORDS

    def _empty(self, *sizes: int, like: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(*sizes, dtype=like, device="meta")

    def picture(self) -> None:
        """Both towers."""
        side = self.model.config["force_image_size"]
        with torch.no_grad():
            self.model.vision_model(self._empty(self.given.tiles, 3, side, side, like=torch.bfloat16))
            self.model.sam2.image_encoder(self._empty(1, 3, self.model.sam_size, self.model.sam_size))

    def prefill(self) -> None:
        """A prompt, whose keys all rollouts of a group share."""
        with torch.no_grad():
            places = torch.arange(self.prompt, device="meta")[None]
            real = torch.ones_like(places, dtype=torch.bool)
            x = self._empty(1, self.prompt, self.width)
            self.model.decoding_states(x, Slots(1, self.prompt), places, places, real, Turn(self.prompt))

    def token(self) -> None:
        """One token of every rollout of the process's groups."""
        rows, length = self.given.groups * self.given.rollouts, self.prompt + self.given.tokens
        with torch.no_grad(), self.model.sampling():
            slots = torch.arange(length, device="meta").expand(rows, length)
            cache = Slots(rows, length)
            cache.places = torch.zeros(1, dtype=torch.long, device="meta")
            real = torch.ones_like(slots, dtype=torch.bool)
            states = self.model.decoding_states(
                self._empty(rows, 1, self.width), cache, slots[:, :1], slots, real, Turn(length)
            )
            self.model.logits(states)

    def captions(self) -> None:
        """A group's captions with gradient, forward and backward."""
        tails = self._empty(self.given.rollouts, self.given.tokens, self.width)
        prefix = self._empty(self.prompt, self.width).requires_grad_()
        logits = self.model.logits(self.actor._behind(prefix, tails, Turn(self.prompt + self.given.tokens)))
        torch.autograd.backward(logits.log_softmax(-1).sum())

    def mask(self) -> None:
        """A phrase and its mask with gradient, forward and backward."""
        channels = self.model.text_hidden_fcs[2].weight.shape[0]
        cells = self.model.sam_size // 16
        sizes = [(channels, 4 * cells), (channels, 2 * cells), (channels, cells)]
        levels = [self._empty(1, wide, side, side) for wide, side in sizes]
        features = Features(self._empty(1, 1, 1), levels, (1, 1), 1)
        states = self.model.states(self._empty(1, self.prompt, self.width).requires_grad_())
        masks = self.actor.decoded(features, self.model.seg_prompt(states[:, -1])).masks
        torch.autograd.backward(masks.sum())

    def parts(self) -> dict[str, dict[str, int]]:
        """Operations of each part, and how often a process runs it in a step of both loops."""
        groups, rollouts = self.given.groups, self.given.rollouts
        times = {
            "picture": 2 * groups, "prefill": 2 * groups, "token": 2 * self.given.tokens, "captions": groups,
            # The partner's mask of each caption, and the policy's own with its gradient: counted as the latter.
            "mask": groups * (rollouts + 1),
        }  # fmt: skip
        found = {name: counted(getattr(self, name)) for name in times}
        return {name: found[name] | {"times": count} for name, count in times.items()}


def main() -> int:
    """Command line; prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="config.json of a checkpoint")
    sizes = {"tiles": 13, "groups": 2, "rollouts": 8, "tokens": 64, "rank": 128}
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=f"of a process; default: {size}")
    parser.add_argument("--gradient-checkpointing", "--recompute", action="store_true", help="as the setting does")
    given = parser.parse_args()
    print(json.dumps(Step(read_json(given.config), given).parts(), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
