"""Sa2VA on Qwen-VL, compared with the whole models of transformers that read picture and text by themselves."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from test_loss import settings
from tiny_qwen import tiny_config, tiny_qwen

from sa2va_lab.errors import LabError
from sa2va_lab.families import family_of
from sa2va_lab.language import Turn
from sa2va_lab.model import Sa2va, load_model
from sa2va_lab.philox import Address
from sa2va_lab.policy import Actor, Asked, Start
from sa2va_lab.qwen_vl import resized
from sa2va_lab.regions import marked
from sa2va_lab.rotation import rows
from sa2va_lab.sampler import Sampler
from sa2va_lab.sft import answer_loss
from sa2va_lab.text import Prompt

KINDS = ("qwen3_vl", "qwen2_5_vl")
HEIGHT, WIDTH, CONTEXT, FIRST = 90, 131, 300, 4


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_qwen(tmp_path_factory.mktemp("models") / request.param, request.param)


@pytest.fixture(scope="module")
def model(folder: Path) -> Sa2va:
    found = load_model(folder)
    found.add_adapter(2, 4)
    torch.manual_seed(7)
    for name, own in zip(found.names, found.trained, strict=True):
        if ".lora_B" in name:
            own.data.zero_()
    return found


def actor_of(model: Sa2va) -> Actor:
    words: Any = SimpleNamespace(context=CONTEXT, ended=lambda ids: False, answer=str)
    return Actor(model, words, settings(logitGuard=100, gradientCheckpointing=False, regionPrompt="auto"))


def picture() -> Any:
    return np.random.default_rng(3).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)


def whole_model(folder: Path) -> Any:
    """The model of transformers with the folder's weights; its head and its parts have the published names."""
    config = json.loads((folder / "config.json").read_text())
    kind = config["vision_config"]["model_type"]
    name = {"qwen3_vl": "Qwen3VL", "qwen2_5_vl": "Qwen2_5_VL"}[kind]
    text = {key: value for key, value in config["text_config"].items() if key not in ("rope_scaling", "rope_theta")}
    text["rope_parameters"] = config["text_config"]["rope_scaling"] | {"rope_theta": 1e6}
    made = getattr(transformers, f"{name}Config")(
        text_config=text, vision_config=config["vision_config"], image_token_id=CONTEXT, vision_start_token_id=1,
        tie_word_embeddings=False,
    )  # fmt: skip
    own = getattr(transformers, f"{name}ForConditionalGeneration")._from_config(made, attn_implementation="sdpa")
    weights = load_file(folder / "model.safetensors")
    known = {name.removeprefix("model."): value for name, value in weights.items() if name.startswith("model.")}
    own.load_state_dict(known)
    return own.eval()


@torch.no_grad()
def test_picture_and_text_have_the_logits_of_the_whole_model(folder: Path, model: Sa2va) -> None:
    actor, rgb = actor_of(model), picture()
    features = model.look(model.preparation(1, False)(rgb), HEIGHT, WIDTH)
    rows, cols = features.grid
    assert features.tokens == rows * cols
    prompt, answer = [5, 6, 7, 1, *[CONTEXT] * features.tokens, 2, 8, 9], [10, 11, 12]
    ids = prompt + answer
    theirs = whole_model(folder)
    pixels, patch = model.family.pixels(rgb, 1, False), json.loads((folder / "config.json").read_text())
    p = patch["vision_config"]["patch_size"]
    cut = pixels.reshape(3, rows, 2, p, cols, 2, p).permute(1, 4, 2, 5, 0, 3, 6).reshape(-1, 3, 1, p * p)
    expected = theirs(
        input_ids=torch.tensor([ids]), pixel_values=cut.expand(-1, -1, 2, -1).reshape(len(cut), -1),
        image_grid_thw=torch.tensor([[1, 2 * rows, 2 * cols]]),
        mm_token_type_ids=(torch.tensor([ids]) == CONTEXT).int(),
    ).logits[0]  # fmt: skip
    x, turn = actor._spliced(ids, features, None), Turn(pictures=((FIRST, rows, cols),))
    logits = model.logits(model.states(x[None], turn=turn))[0]
    torch.testing.assert_close(logits, expected, rtol=0, atol=2e-4 * float(expected.abs().max()))
    # In parts, as captions are scored.
    asked = Asked(Prompt(prompt, ""), features, None)
    logps, _ = actor.text_scores(asked, [answer, answer], len(answer), 1.0, len(answer))
    wanted = expected.log_softmax(-1)[len(prompt) - 1 : -1].gather(-1, torch.tensor(answer)[:, None])[:, 0]
    for row in logps:
        torch.testing.assert_close(row, wanted, rtol=0, atol=2e-3)


@torch.no_grad()
def test_rows_with_different_pictures_are_decoded_as_each_alone(folder: Path) -> None:
    model = load_model(folder, torch.float64, torch.float64)
    model.add_adapter(2, 4)
    actor, width = actor_of(model), model.embed([0]).shape[-1]
    torch.manual_seed(4)

    def start(length: int, tails: list[int], grid: tuple[int, int]) -> Start:
        address = Address(3, 1, 1, length, 0)
        parts = [torch.randn(own, width, dtype=torch.float64) for own in (length, *tails)]
        return Start(parts[0], parts[1:], [address.at(n) for n in range(len(tails))], (2, *grid))

    starts = [start(9, [1, 1], (2, 3)), start(20, [3, 2], (4, 2)), start(7, [2, 4], (1, 2))]
    together = actor.decode(starts, 6, Sampler(top_k=40))
    for own, found in zip(starts, together, strict=True):
        for row, said in zip(rows(own), found, strict=True):
            (alone,) = actor.decode([row], 6, Sampler(top_k=40))[0]
            assert alone.ids == said.ids
            assert alone.logps == pytest.approx(said.logps, abs=1e-9)


def test_names_are_the_published_ones(folder: Path) -> None:
    model = Sa2va(json.loads((folder / "config.json").read_text()))
    model.add_adapter(2, 4, "yes")
    layer = "model.model.language_model.layers.0.self_attn.q_proj"
    assert f"{layer}.lora_A.weight" in model.names
    assert model.peft_name(f"{layer}.lora_A.weight") == f"base_model.model.{layer[6:]}.lora_A.weight"
    pattern = r"model\.language_model\..*\.(down_proj|gate_proj|k_proj|o_proj|q_proj|up_proj|v_proj)"
    assert model.adapted() == [pattern]
    assert {model.block_of(name) for name in model.names[:2]} == {"projector"}
    assert model.names[0].startswith("model.model.visual.")
    model = Sa2va(model.config)
    model.add_adapter(2, 4)
    # The merger is frozen, as in the published training, and stored like the tower.
    assert "projector" not in {model.block_of(name) for name in model.names}


def test_mergers_are_rounded_with_the_tower(folder: Path) -> None:
    whole, rounded = load_model(folder), load_model(folder, halves={"vision"})
    for (name, own), other in zip(whole.projector.named_parameters(), rounded.projector.parameters(), strict=True):
        assert torch.equal(other, own.half().float() if own.dim() == 2 else own), name
    rounded.add_adapter(2, 4, "yes")
    assert {own.dtype for own in rounded.trained} == {torch.float32}


@pytest.mark.parametrize("recomputed", [False, True])
def test_gradients_reach_the_merger_through_every_layer_that_adds(folder: Path, recomputed: bool) -> None:
    model = load_model(folder, torch.float64, torch.float64)
    model.add_adapter(2, 4, "yes")
    if recomputed:
        model.recompute()
    actor = actor_of(model)
    features = model.look(model.preparation(1, False)(picture()), HEIGHT, WIDTH)
    asked = Asked(Prompt([5, 1, *[CONTEXT] * features.tokens, 2, 8], ""), features, None)
    answer_loss(actor, asked, [10, 11]).backward()  # type: ignore[no-untyped-call]
    for name, own in zip(model.names, model.trained, strict=True):
        if model.block_of(name) == "projector":
            assert own.grad is not None and float(own.grad.abs().max()) > 0, name


@pytest.mark.parametrize(("size", "factor", "grid"), [
    ((480, 640), 32, (18, 23)), ((427, 640), 32, (17, 25)), ((360, 640), 32, (15, 27)), ((768, 1024), 32, (24, 32)),
    ((1080, 1920), 32, (29, 52)), ((480, 640), 28, (20, 27)), ((1080, 1920), 28, (33, 60)),
    # A half goes to the even neighbour.
    ((80, 40000 // 10), 32, (2, 125)),
])  # fmt: skip
def test_pictures_have_the_published_sizes(size: tuple[int, int], factor: int, grid: tuple[int, int]) -> None:
    least, most = (0 if size[0] == 80 else 512 * 28**2), 2048 * 28**2
    assert tuple(side // factor for side in resized(*size, factor, least, most)) == grid


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    config = tiny_config("qwen3_vl")
    del config["vision_config"]["deepstack_visual_indexes"]
    with pytest.raises(LabError, match=r"lacks vision_config.deepstack_visual_indexes"):
        family_of(config)
    with pytest.raises(LabError, match="the vision tower sam3; this package runs Sa2VA on InternVL, Qwen2"):
        family_of({"vision_config": {"model_type": "sam3"}})
    with pytest.raises(LabError, match="more than 200 times as long as wide"):
        resized(10, 2001, 28, 1, 10**9)


def test_regions_are_drawn_into_the_picture() -> None:
    rgb, mask = np.full((40, 60, 3), 200, np.uint8), np.zeros((40, 60), np.uint8)
    mask[10:20, 0:30] = 1
    dim = marked(rgb, mask, "dim")
    assert (dim[mask != 0] == 200).all() and (dim[mask == 0] == 70).all()
    red = (marked(rgb, mask, "outline") == (255, 0, 0)).all(-1)
    # One pixel on each side of the edge, and none along the picture's border.
    assert red[9, :31].all() and red[10, :31].all() and not red[11, :29].any() and not red[8].any()
    assert red[9:21, 30].all() and red[9:21, 29].all() and not red[12:18, :29].any()
