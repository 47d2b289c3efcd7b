"""Rotary angles that depend on the length of a sequence, compared with their formulas."""

import math
from typing import Any

import pytest
import torch

from sa2va_lab.errors import LabError
from sa2va_lab.language import WHOLE, Turn, _scaling, language_model, window_of
from sa2va_lab.rotation import ByLength

SIZES = {"hidden_size": 24, "num_attention_heads": 4, "max_position_embeddings": 64, "rope_theta": 500.0,
         "intermediate_size": 8, "num_hidden_layers": 1, "num_key_value_heads": 4, "vocab_size": 9, "pad_token_id": 0,
         "bos_token_id": 1, "eos_token_id": 2, "rms_norm_eps": 1e-6}  # fmt: skip
LISTS = {"short_factor": [1.0, 1.2, 1.5], "long_factor": [1.5, 3.0, 6.0]}
LONG = SIZES | {"original_max_position_embeddings": 16, "rope_scaling": {"type": "su", **LISTS}}
GROWING = SIZES | {"rope_scaling": {"type": "dynamic", "factor": 3.0}, "max_position_embeddings": 16}
FAMILIES = {"su": "Phi3ForCausalLM", "dynamic": "InternLM2ForCausalLM"}


def rotation(config: dict[str, Any]) -> ByLength:
    """The rotary module of a configuration's language model."""
    model = language_model(config | {"architectures": [FAMILIES[config["rope_scaling"]["type"]]]})
    return next(own for own in model.modules() if isinstance(own, ByLength))


def angles(config: dict[str, Any], length: int) -> torch.Tensor:
    """Frequencies by the formulas of the papers, in double precision, [length, 3]."""
    powers, scaling = torch.arange(0, 6, 2, dtype=torch.float64) / 6, config["rope_scaling"]
    if scaling["type"] == "su":
        turns = 500.0**-powers / torch.tensor(scaling["long_factor" if length > 16 else "short_factor"])
    else:
        turns = (500.0 * max(1.0, 3.0 * length / 16 - 2) ** (6 / 4)) ** -powers
    return torch.arange(length, dtype=torch.float64)[:, None] * turns


@pytest.mark.parametrize("config", [LONG, GROWING])
def test_angles_go_by_the_length(config: dict[str, Any]) -> None:
    own = rotation(config)
    # Longer ones before shorter ones, so that nothing of them may remain.
    for length in (40, 17, 16, 1, 30):
        cos, sin = own(torch.zeros(1, length, 24), torch.arange(length)[None])
        size = math.sqrt(1 + math.log(4) / math.log(16)) if config is LONG else 1.0
        expected = angles(config, length)
        torch.testing.assert_close(cos[0, :, :3].double(), expected.cos() * size, rtol=0, atol=1e-5)
        torch.testing.assert_close(sin[0, :, :3].double(), expected.sin() * size, rtol=0, atol=1e-5)


def test_an_older_name_has_its_own_size() -> None:
    config = LONG | {"rope_scaling": {"type": "yarn", **LISTS}, "architectures": ["Phi3ForCausalLM"]}
    own = next(part for part in language_model(config).modules() if isinstance(part, ByLength))
    cos, _ = own(torch.zeros(1, 1, 24), torch.zeros(1, 1, dtype=torch.long))
    assert float(cos[0, 0, 0]) == pytest.approx(0.1 * math.log(4) + 1)


@pytest.mark.parametrize("config", [LONG, GROWING])
def test_a_part_turns_as_the_whole_does(config: dict[str, Any]) -> None:
    own, x, places = rotation(config), torch.zeros(1, 40, 24), torch.arange(40)[None]
    whole = own(x, places)
    own.turn = Turn(40)
    assert torch.equal(own(x[:, :9], places[:, :9])[0], whole[0][:, :9])
    own.turn = WHOLE
    assert not torch.equal(own(x[:, :9], places[:, :9])[0], whole[0][:, :9])


def test_lengths_on_both_sides_of_the_limit_are_not_alike() -> None:
    assert rotation(LONG).alike([3, 16])
    assert rotation(LONG).alike([17, 40])
    assert not rotation(LONG).alike([16, 17])
    assert not rotation(GROWING).alike([17, 40])


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(LabError, match="rope_scaling of type ntk"):
        language_model(SIZES | {"rope_scaling": {"type": "ntk"}, "architectures": ["LlamaForCausalLM"]})
    with pytest.raises(LabError, match="use_sliding_window"):
        window_of({"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True})


@pytest.mark.parametrize(("beside", "inside", "family", "trained"), [
    (None, None, "Phi3ForCausalLM", 4096), (None, 2048, "Phi3ForCausalLM", 4096), (1024, 2048, "Phi3ForCausalLM", 1024),
    (None, 2048, "LlamaForCausalLM", 2048), (None, None, "LlamaForCausalLM", 131_072),
])  # fmt: skip
def test_the_length_before_rescaling_is_that_of_transformers(
    beside: int | None, inside: int | None, family: str, trained: int
) -> None:
    name = "original_max_position_embeddings"
    config = SIZES | {"max_position_embeddings": 131_072, "rope_scaling": {"type": "longrope", **LISTS}}
    config |= {"architectures": [family]} | ({name: beside} if beside else {})
    config["rope_scaling"] |= {name: inside} if inside else {}
    found = _scaling(config)
    assert (found[name], found["factor"]) == (trained, 131_072 / trained)
