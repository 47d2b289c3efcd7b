"""Decoding token by token in buffers of fixed length, compared with passes over the whole, on the lab's tiny models."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import pad

from sa2va_lab.language import Slots
from sa2va_lab.masks import Mask, encode_rle
from sa2va_lab.model import load_model, renamed
from sa2va_lab.policy import Actor
from sa2va_lab.sam2 import SAM2_NAMES, Sam2Model
from sa2va_lab.settings import read_json
from sa2va_lab.token_step import TokenStep

MODELS = sorted((Path(__file__).parents[2] / "tests" / "golden").glob("sa2va-tiny-*"))
PREFIX, TAILS, MOST = 5, [3, 1, 2], 6
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
@torch.no_grad()
def test_a_token_sees_what_a_whole_pass_sees(folder: Path, device: str) -> None:
    model = load_model(folder, torch.float64, torch.float64).to(device)
    model.graphs = True
    rows, width, length = len(TAILS), max(TAILS), PREFIX + max(TAILS) + MOST
    size = model.language_model.get_input_embeddings().weight.shape[1]
    torch.manual_seed(11)
    prefix = torch.randn(1, PREFIX, size, dtype=torch.float64, device=device)
    said = [torch.randn(1, own + MOST, size, dtype=torch.float64, device=device) for own in TAILS]
    wholes = [model.states(torch.cat([prefix, own], 1)) for own in said]

    short = torch.tensor([[width - own] for own in TAILS], device=device)
    slots = torch.arange(length, device=device)[None]
    keys = torch.where(slots < PREFIX, slots, (slots - short).clamp_min(0))
    there = (slots < PREFIX) | (slots >= PREFIX + short)
    every = slots[:, :PREFIX]
    cache = Slots(1, PREFIX)
    model.decoding_states(prefix, cache, every, every, torch.ones_like(every, dtype=torch.bool), PREFIX)
    cache, done = cache.spread(rows, length), PREFIX + width
    filled = [pad(x[:, :own], (0, 0, width - own, 0)) for x, own in zip(said, TAILS, strict=True)]
    tails = torch.cat(filled)
    model.decoding_states(tails, cache, keys[:, PREFIX:done], keys, there & (slots < done), done)
    step = TokenStep(model, cache, keys, there)
    for token in range(MOST):
        x = torch.cat([own[:, start + token : start + token + 1] for own, start in zip(said, TAILS, strict=True)])
        hidden = step(x, done + token, done + token + 1)
        for row, start in enumerate(TAILS):
            expected = wholes[row][0, PREFIX + start + token]
            torch.testing.assert_close(hidden[row, 0], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_half_precision_leaves_the_rotary_frequencies(folder: Path) -> None:
    model = load_model(folder, torch.bfloat16)
    assert {own.dtype for own in model.language_model.parameters()} == {torch.bfloat16}
    frequencies = [own for name, own in model.language_model.named_buffers() if name.endswith("inv_freq")]
    assert {own.dtype for own in frequencies} == {torch.float32}


def test_a_mask_decoder_of_any_depth_has_the_published_layers() -> None:
    config = read_json(MODELS[0] / "config.json")["sam2_config"]
    names = [renamed(name, SAM2_NAMES) for name, _ in Sam2Model(config | {"decoder_depth": 3}).named_parameters()]
    own = [name.split("transformer.layers.")[1] for name in names if "transformer.layers" in name and ".mlp." in name]
    expected = [f"{n}.mlp.layers.{at}.{kind}" for n in range(3) for at in (0, 1) for kind in ("bias", "weight")]
    assert sorted(own) == expected


def test_a_confidence_is_that_of_the_mask_which_a_replay_takes_from_the_record() -> None:
    class Recorded(Actor):
        def inside(self, logits: torch.Tensor) -> Mask:
            return np.ones(logits.shape, dtype=np.uint8)

    unused: Any = None
    model: Any = SimpleNamespace(sam_size=4)
    found = Recorded(model, unused, unused).sized(torch.full((1, 4, 4), -1e-9), 4, 4)[0]
    assert found.confidence == pytest.approx(0.5)


def test_a_caption_has_no_contrast_beside_one_that_is_far_likelier() -> None:
    class Scored(Actor):
        def seen(self, mask: Mask) -> Mask | None:
            return mask

        def asked(self, *_: Any) -> Any:
            return SimpleNamespace(prompt=SimpleNamespace(ids=[1]))

        def text_scores(self, *_: Any) -> Any:
            return torch.tensor([[-900.0], [-10.0]]), None

    unused: Any = None
    words: Any = SimpleNamespace(caption_answer=lambda text, _: ([len(text)], False))
    found = Scored(unused, words, unused).likelihoods(unused, [np.ones((2, 2), dtype=np.uint8)], "a", ("bb",))[0]
    assert found is not None
    assert found.contrast == 0


def test_a_replay_takes_the_nearest_recorded_mask() -> None:
    recorded: Any = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "replay.py"))["Recorded"]
    masks = [encode_rle(np.array([own], dtype=np.uint8)) for own in ([1, 0, 0], [1, 1, 0])]
    rows = [
        {"loop": 1, "group": 0, "index": at, "actions": [], "predicted_mask": mask, "greedy_mask": None}
        for at, mask in enumerate(masks)
    ]
    record = recorded(SimpleNamespace(model=None, words=None, settings=None), rows)
    # Both records differ from the first logits at most where these are near 0; the second is equal.
    assert record.inside(torch.tensor([[9.0, 1e-7, -9.0]])).tolist() == [[1, 1, 0]]
    assert record.pixels == 0
    assert record.inside(torch.tensor([[9.0, 9.0, 1e-7]])).tolist() == [[1, 1, 0]]
    assert record.pixels == 1
