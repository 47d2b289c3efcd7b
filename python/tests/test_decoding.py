"""Decoding token by token in buffers of fixed length, compared with passes over the whole, on the lab's tiny models."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import init_empty_weights
from torch.nn.functional import pad
from transformers import MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

from sa2va_lab.errors import LabError
from sa2va_lab.language import Slots, Turn
from sa2va_lab.likelihood import likelihoods
from sa2va_lab.masks import Mask, encode_rle
from sa2va_lab.model import Sa2va, load_model, renamed
from sa2va_lab.philox import Address, uniform
from sa2va_lab.policy import Actor, Start
from sa2va_lab.sam2 import SAM2_NAMES, Sam2Model
from sa2va_lab.sampler import Sampler
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
    model.decoding_states(prefix, cache, every, every, torch.ones_like(every, dtype=torch.bool), Turn(PREFIX))
    cache, done = Slots.joined([cache], [rows], PREFIX, length), PREFIX + width
    filled = [pad(x[:, :own], (0, 0, width - own, 0)) for x, own in zip(said, TAILS, strict=True)]
    tails = torch.cat(filled)
    model.decoding_states(tails, cache, keys[:, PREFIX:done], keys, there & (slots < done), Turn(done))
    step = TokenStep(model, cache, keys, there)
    for token in range(MOST):
        x = torch.cat([own[:, start + token : start + token + 1] for own, start in zip(said, TAILS, strict=True)])
        hidden = step(x, done + token, Turn(done + token + 1))
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
        def inside(self, logits: torch.Tensor) -> torch.Tensor:
            return torch.ones_like(logits, dtype=torch.bool)

    unused: Any = None
    model: Any = SimpleNamespace(sam_size=4)
    found = Recorded(model, unused, unused).sized(torch.full((1, 4, 4), -1e-9), 4, 4)()[0]
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
    actor = Scored(unused, words, unused)
    found = likelihoods(actor, unused, [np.ones((2, 2), dtype=np.uint8)], "a", ("bb",))()[0]
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
    assert record.inside(torch.tensor([[[9.0, 1e-7, -9.0]]])).int().tolist() == [[[1, 1, 0]]]
    assert record.pixels == 0
    assert record.inside(torch.tensor([[[9.0, 9.0, 1e-7]]])).int().tolist() == [[[1, 1, 0]]]
    assert record.pixels == 1


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_recomputed_layers_give_the_gradient_of_kept_ones_and_keep_less(folder: Path) -> None:
    found = []
    for recomputed in (False, True):
        model = load_model(folder, torch.float64, torch.float64)
        model.add_adapter(2, 4)
        torch.manual_seed(3)
        for own in model.trained:
            own.data.normal_(std=0.05)
        if recomputed:
            model.recompute()
        size = model.language_model.get_input_embeddings().weight.shape[1]
        prefix = torch.randn(9, size, dtype=torch.float64, requires_grad=True)
        tails = torch.randn(3, 4, size, dtype=torch.float64)
        unused: Any = SimpleNamespace()
        kept: dict[int, int] = {}

        def keep(value: torch.Tensor, kept: dict[int, int] = kept) -> torch.Tensor:
            kept[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
            return value

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
            states = Actor(model, unused, unused)._behind(prefix, tails, Turn(13))
        states.square().sum().backward()  # type: ignore[no-untyped-call]
        weights = {own.untyped_storage().data_ptr() for own in model.parameters()}
        bytes_kept = sum(size for place, size in kept.items() if place not in weights)
        found.append(([prefix.grad, *(own.grad for own in model.trained)], bytes_kept))
    (wanted, whole), (own, small) = found
    for a, b in zip(own, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
    assert small < whole / 2


def kept_bytes(model: Sa2va, run: Any) -> tuple[int, Any]:
    """Bytes that a pass keeps for its backward pass, beside weights, and its result."""
    kept: dict[int, int] = {}

    def keep(value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        kept[storage._cdata] = storage.nbytes()
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        out = run()
    weights = {own.untyped_storage()._cdata for own in model.parameters()}
    return sum(size for place, size in kept.items() if place not in weights), out


def test_a_token_of_the_1b_model_keeps_little_when_layers_are_recomputed() -> None:
    config = read_json(next(path for path in MODELS if path.name.endswith("qwen2")) / "config.json")
    config["llm_config"] |= {
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "vocab_size": 151674, "max_position_embeddings": 32768,
    }  # fmt: skip
    with torch.device("meta"):
        model = Sa2va(config)
        model.add_adapter(128, 256)
        # Tensors without values have no autocast, so adapters are in half as well.
        model.language_model.to(torch.bfloat16)
        model.recompute()
        # Twelve tiles and the thumbnail; a hundred tokens of text.
        whole = torch.empty(13 * 256 + 100, 896).requires_grad_()

    class Prompted(Actor):
        def embedded(self, asked: Any) -> torch.Tensor:
            return whole

    rollouts, tokens = 8, 128
    settings: Any = SimpleNamespace(logit_guard=30.0, gradient_checkpointing=True)
    asked: Any = SimpleNamespace(prompt=SimpleNamespace(ids=[7]), features=SimpleNamespace(grid=(16, 16)))
    words: Any = SimpleNamespace(context=7)
    actor = Prompted(model, words, settings)
    said = [[1] * tokens] * rollouts
    size, (logps, _) = kept_bytes(model, lambda: actor.text_scores(asked, said, tokens, 1.0, tokens))
    assert logps.shape == (rollouts, tokens)
    # Little more than the inputs of the layers.
    kept, inputs = size / (len(whole) + rollouts * tokens), 24 * 896 * 2
    print(f"a token keeps {kept / 1e6:.4f} MB, of which {inputs / 1e6:.4f} MB are the layers' inputs")
    assert inputs < kept < 1.02 * inputs


def test_adapters_compute_in_the_precision_of_a_base_in_half_and_train_in_single() -> None:
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        model = load_model(MODELS[0], dtype)
        model.add_adapter(2, 4)
        torch.manual_seed(3)
        for own in model.trained:
            own.data.normal_(std=0.05)
        width = model.language_model.get_input_embeddings().weight.shape[1]
        x = torch.randn(2, 7, width)
        size, states = kept_bytes(model, lambda model=model, x=x: model.states(x))
        states.float().square().sum().backward()
        with torch.no_grad(), model.sampling():
            sampled = model.states(x)
        gradients = [own.grad for name, own in zip(model.names, model.trained, strict=True) if ".lora_" in name]
        assert {own.dtype for own in gradients if own is not None} == {torch.float32}
        found.append((size, states.detach().float(), sampled.float(), torch.cat([g.flatten() for g in gradients])))
    (whole, states, _, gradient), (half, own, sampled, other) = found
    assert half < 0.8 * whole
    scale = states.abs().max()
    assert (own - sampled).abs().max() < 0.03 * scale
    assert (own - states).abs().max() < 0.05 * scale
    assert torch.nn.functional.cosine_similarity(gradient, other, dim=0) > 0.99


def test_a_published_config_has_the_sizes_of_hiera_l(tmp_path: Path) -> None:
    own = json.loads((MODELS[0] / "config.json").read_text())
    del own["sam2_config"]
    with init_empty_weights(include_buffers=False):
        model = Sa2va(own)
    assert model.sam_size == 1024
    shapes = {model.published(name): list(value.shape) for name, value in model.named_parameters()}
    trunk = "grounding_encoder.sam2_model.image_encoder.trunk."
    assert shapes[f"{trunk}pos_embed"] == [1, 144, 7, 7]
    assert len({name.split(".")[5] for name in shapes if name.startswith(f"{trunk}blocks.")}) == 48
    assert shapes["grounding_encoder.sam2_model.sam_mask_decoder.iou_prediction_head.layers.0.weight"] == [256, 256]
    (tmp_path / "config.json").write_text('{"vision_config": {}}')
    with pytest.raises(LabError, match="lacks llm_config"):
        load_model(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_frozen_tensor_stays_in_the_mapped_file() -> None:
    model = load_model(MODELS[0], torch.float16)
    maps = Path("/proc/self/maps").read_text().splitlines()
    files = [line.split()[0].split("-") for line in maps if line.endswith(str(MODELS[0] / "model.safetensors"))]

    def mapped(value: torch.Tensor) -> bool:
        return any(int(start, 16) <= value.data_ptr() < int(end, 16) for start, end in files)

    assert mapped(model.language_model.get_input_embeddings().weight)
    assert not mapped(model.projector[1].weight)
    wide, halved = load_model(MODELS[1]), load_model(MODELS[1], halves={"language"})
    for name, whole in wide.named_parameters():
        own = dict(halved.named_parameters())[name]
        rounded = whole.dim() == 2 and name.startswith("language_model.")
        assert torch.equal(own, whole.half().float() if rounded else whole)


def one_by_one(
    actor: Actor, start: Start, row: int, sampler: Sampler, one_length: int | None
) -> tuple[list[int], list[float]]:
    """A row by whole passes over what it has, and the filters of transformers for one row."""
    ids: list[int] = []
    logps: list[float] = []
    for position in range(MOST):
        said = actor.model.embed(ids) if ids else start.tails[row][:0]
        whole = torch.cat([start.prefix, start.tails[row], said])
        hidden = actor.model.states(whole[None], turn=Turn(one_length or len(whole), (start.picture,)))
        logits = actor.model.logits(hidden[:, -1]).double()
        scores = logits
        if sampler.penalty != 1:
            penalty = RepetitionPenaltyLogitsProcessor(sampler.penalty)
            scores = penalty(torch.tensor([start.prompt + ids], dtype=torch.long), logits)
        if start.addresses is None:
            token = int(scores.argmax())
        else:
            address = start.addresses[row]
            scores = sampler.guarded(scores)
            for kind, limit in ((TopKLogitsWarper, sampler.top_k), (TopPLogitsWarper, sampler.top_p)):
                scores = kind(limit)(None, scores) if limit not in (0, 1) else scores
            scores = MinPLogitsWarper(sampler.min_p)(None, scores) if sampler.min_p else scores
            shares = scores[0].softmax(-1)
            at = int(torch.searchsorted(shares.cumsum(0), uniform(address.at(address.rollout, position)), right=True))
            token = min(at, int(shares.nonzero()[-1]))
        ids.append(token)
        logps.append(float(sampler.guarded(logits).log_softmax(-1)[0, token]))
    return ids, logps


@pytest.mark.parametrize("one_length", [False, True])
@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
@torch.no_grad()
def test_groups_decoded_together_give_the_rollouts_of_rows_alone(folder: Path, one_length: bool) -> None:
    model = load_model(folder, torch.float64, torch.float64)
    model.add_adapter(2, 4)
    torch.manual_seed(13)
    for own in model.trained:
        if own.dim() == 2:
            own.data.normal_(std=0.2)
    words: Any = SimpleNamespace(ended=lambda ids: False, answer=str)
    unused: Any = None
    actor, size = Actor(model, words, unused), model.embed([0]).shape[-1]

    def random(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes, size, dtype=torch.float64)

    address = Address(3, 1, 1, 0, 0)
    drawn = [
        Start(
            random(length),
            [random(own) for own in tails],
            [replace(address, row=length).at(n) for n in range(2)],
            (1, 1, 2),
            [5, 7],
        )
        for length, tails in ((9, [1, 1]), (4, [3, 2]), (6, [1, 1]))
    ]
    filters = Sampler(1.3, 30.0, 20, 0.8, 0.01, 1.4)
    greedy = [replace(own, addresses=None) for own in drawn]
    for starts, sampler in ((drawn, filters), (drawn, Sampler(0.7)), (greedy, Sampler())):
        found = actor.decode(starts, MOST, sampler, one_length)
        for start, group in zip(starts, found, strict=True):
            length = len(start.prefix) + max(map(len, start.tails)) + MOST if one_length else None
            for row, own in enumerate(group):
                ids, logps = one_by_one(actor, start, row, sampler, length)
                assert own.ids == ids
                assert own.logps == pytest.approx(logps, abs=1e-9)
