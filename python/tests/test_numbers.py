"""Random numbers, masks and METEOR, compared with other implementations."""

import io
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from nltk.translate.meteor_score import single_meteor_score
from PIL import Image
from transformers import MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from sa2va_lab.data import Row, pixels_of
from sa2va_lab.draws import penalised
from sa2va_lab.masks import decode_rle, encode_rle, overlap, region_cells
from sa2va_lab.meteor import Meteor, Wordnet, tokens
from sa2va_lab.philox import Address, philox, uniform, uniforms
from sa2va_lab.sampler import Sampler, draw, on_device

TABLE = Path(__file__).parents[2] / "public" / "wordnet" / "wordnet30.txt"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        (0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (0xFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ],
)
def test_philox_gives_the_published_words(word: int, expected: tuple[int, ...]) -> None:
    one = np.full(1, word, np.uint64)
    found = philox((one, one, one, one), (word, word))
    assert tuple(int(part[0]) for part in found) == expected


def test_a_draw_is_a_function_of_its_address() -> None:
    address = Address(seed=7, step=3, loop=1, row=2, stream=0)
    assert uniforms(address, 5)[4] == uniform(address.at(0, 4))
    assert uniforms(address, 3, rows=True)[2] == uniform(Address(7, 3, 1, 4, 0))
    assert len({uniform(address), uniform(address.at(1)), uniform(Address(8, 3, 1, 2, 0))}) == 3


def test_grey_pictures_of_16_bits_keep_their_upper_byte() -> None:
    file = io.BytesIO()
    Image.fromarray(np.array([[0, 255, 0x1234, 0xFFFF]], np.uint16)).save(file, "PNG")
    found = pixels_of(file.getvalue(), 1, 4)
    assert found.tolist() == [[[value] * 3 for value in (0, 0, 0x12, 0xFF)]]


def test_run_lengths_come_back_and_are_those_of_coco() -> None:
    random = np.random.default_rng(3)
    for _ in range(50):
        height, width = random.integers(1, 40, 2)
        mask = (random.random((height, width)) < random.random()).astype(np.uint8)
        rle = encode_rle(mask)
        assert (decode_rle(rle) == mask).all()
    corner = np.zeros((3, 4), np.uint8)
    corner[0, 0] = 1
    assert encode_rle(corner) == {"counts": "01;", "size": [3, 4]}
    assert overlap(corner, 1 - corner) == (0, 12)


def test_a_tiny_region_takes_its_fullest_cell() -> None:
    mask = np.zeros((64, 64), np.uint8)
    mask[33:36, 50:53] = 1
    assert not region_cells(mask, (4, 4), False).any()
    assert np.argwhere(region_cells(mask, (4, 4), True)).tolist() == [[2, 3]]


@pytest.mark.skipif(not TABLE.exists(), reason="the lab's WordNet table is not beside this package")
def test_meteor_is_that_of_nltk() -> None:
    wordnet = Wordnet(TABLE)
    meteor = Meteor(wordnet)
    words = [
        "a",
        "the",
        "big",
        "large",
        "red",
        "ball",
        "globe",
        "running",
        "ran",
        "runs",
        "dog",
        "hound",
        "at",
        "on",
        "left",
        "top",
        "quickly",
        "fast",
        "geese",
        "goose",
        ",",
        ".",
    ]
    random = np.random.default_rng(11)
    scores = set()
    for _ in range(400):
        pair = [" ".join(random.choice(words, random.integers(0, 9))) for _ in range(2)]
        expected = single_meteor_score(tokens(pair[0]), tokens(pair[1]), wordnet=wordnet)
        found = meteor.score(pair[0], pair[1])
        assert found["score"] == expected, pair
        scores.add(round(found["score"], 3))
    assert len(scores) > 50


def test_a_token_is_drawn_in_vocabulary_order() -> None:
    logits = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64).log()
    many = [0.1, 0.19, 0.21, 0.49, 0.51, 0.999]

    def drawn(sampler: Sampler, *us: float, seen: list[int] | None = None) -> list[int]:
        rows, marked = logits.expand(max(1, len(us)), 3), torch.zeros(max(1, len(us)), 3, dtype=torch.bool)
        marked[:, seen or []] = True
        return draw(rows, sampler, torch.tensor(us, dtype=torch.float64) if us else None, marked).ids.tolist()

    assert drawn(Sampler(), *many) == [0, 0, 1, 1, 2, 2]
    assert drawn(Sampler()) == drawn(Sampler(top_k=1), 0.1) == drawn(Sampler(top_p=0.5), 0.1) == [2]
    assert drawn(Sampler(penalty=10), seen=[2]) != [2]
    rows = torch.stack([logits, torch.tensor([0.0, np.nan, 1.0])])
    found = draw(rows, Sampler(), torch.tensor([0.1, 0.5], dtype=torch.float64), None)
    assert found.ids.tolist() == [0, -1]
    assert float(found.logps[0]) == pytest.approx(np.log(0.2))


def test_of_equal_tokens_top_p_drops_the_first() -> None:
    # The guard makes all scores equal, whatever their logits.
    logits = torch.linspace(60, 31, 1000, dtype=torch.float64)
    assert draw(logits[None], Sampler(top_p=0.4995), torch.full((1,), 1e-9).double(), None).ids.tolist() == [500]


def test_pixels_have_the_lab_s_hash_and_other_ones_name_their_row() -> None:
    row = Row("a#0", "i", "c", {"counts": "", "size": [1, 2]}, np.zeros((1, 2)), np.arange(6, dtype=np.uint8)[None])
    # The lab's `crc32` of the bytes 0 to 5.
    assert row.pixels == "30ebcf4a"
    tool: Any = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "replay.py"))["other_pixels"]
    own = {n: {"row_id": f"r{n}", "pixels": "1"} for n in "abc"}
    stored = {"a": {"row_id": "ra", "pixels": "1"}, "b": {"row_id": "rb", "pixels": "2"}, "c": {"row_id": "rc"}}
    assert tool(stored, own) == {"rb": ("2", "1")}


@pytest.mark.parametrize("rows", [None, []])
def test_a_replay_refuses_a_file_without_rollouts(rows: list[dict[str, str]] | None, tmp_path: Path) -> None:
    path = tmp_path / "step-000001.arrow"
    table = pa.table({"id": pa.array([] if rows is None else rows, pa.string())})
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)
    if rows is None:
        path.write_bytes(b"")
    tool = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "replay.py"))
    with pytest.raises(tool["LabError"], match=r"holds no rollouts|is damaged"):
        tool["stored_rows"](path)


@pytest.mark.parametrize("kept", [{}, {"top_p": 0.9}, {"top_p": 0.3, "temperature": 0.7}, {"top_k": 5}, {"top_k": 40,
                                  "top_p": 0.8, "min_p": 0.05}, {"top_p": 0.6, "penalty": 1.3}])  # fmt: skip
def test_draws_are_those_of_the_filters_of_transformers_and_a_whole_sum(kept: dict[str, Any]) -> None:
    sampler = Sampler(guard=1e6, **kept)
    random = torch.Generator().manual_seed(5)
    for width, spread in ((7, 0.1), (96, 3), (512, 1), (3000, 8)):
        logits = spread * torch.randn(200, width, generator=random)
        u = torch.rand(200, dtype=torch.float64, generator=random)
        seen = torch.rand(200, width, generator=random) < 0.2
        whole = logits.double()
        scores = torch.where(seen & (sampler.penalty != 1), torch.where(whole < 0, whole * 1.3, whole / 1.3), whole)
        scores = scores / sampler.temperature
        if sampler.top_k:
            scores = TopKLogitsWarper(sampler.top_k)(None, scores)
        if sampler.top_p < 1:
            scores = TopPLogitsWarper(sampler.top_p)(None, scores)
        if sampler.min_p:
            scores = MinPLogitsWarper(sampler.min_p)(None, scores)
        found = draw(logits, sampler, u, seen)
        own = logits if sampler.penalty == 1 else penalised(sampler, logits, seen)
        for one, other in zip(found, on_device(logits, own, sampler, u), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
        ids = (scores.softmax(-1).cumsum(-1) <= u[:, None]).sum(-1).clamp(max=width - 1)
        assert found.ids.tolist() == ids.tolist()
        logps = (whole / sampler.temperature).log_softmax(-1).gather(-1, ids[:, None])[:, 0]
        torch.testing.assert_close(found.logps, logps, rtol=0, atol=1e-11)


@pytest.mark.parametrize("kept", [{}, {"top_p": 0.9}, {"top_p": 0.02}, {"top_p": 0.999}, {"top_k": 400, "top_p": 0.7}])
@pytest.mark.parametrize("spread", [0.01, 3.0, 40.0])
def test_long_rows_are_drawn_as_if_they_were_sorted(kept: dict[str, Any], spread: float) -> None:
    # With the largest spread the guard makes thousands of tokens equal.
    random = torch.Generator().manual_seed(6)
    logits = spread * torch.randn(6, 40_000, generator=random)
    logits[3:, 1000:1020] += 12 * spread
    u = torch.rand(6, dtype=torch.float64, generator=random)
    own = Sampler(**kept)
    assert draw(logits, own, u, None).ids.tolist() == on_device(logits, logits, own, u).ids.tolist()


def test_a_row_with_a_number_that_is_none_is_broken_and_clips_are_counted() -> None:
    logits = torch.zeros(3, 600)
    logits[0, 3], logits[1, :2] = torch.nan, torch.tensor([31.0, -40.0])
    for u in (torch.full((3,), 0.5).double(), None):
        found = draw(logits, Sampler(top_p=0.9), u, None)
        assert (found.ids[0].item(), found.clips.tolist()) == (-1, [0, 2, 0])
        assert (found.ids[1:] >= 0).all()
