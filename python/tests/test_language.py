"""Rotary angles against the modules of transformers, which go by the length of a pass."""

from typing import Any

import pytest
import torch
from transformers import LlamaConfig, Phi3Config
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding

from sa2va_lab.errors import LabError
from sa2va_lab.language import Rotation, window_of

SIZES = {"hidden_size": 24, "num_attention_heads": 4, "max_position_embeddings": 64, "rope_theta": 500.0}
LISTS = {"short_factor": [1.0, 1.2, 1.5], "long_factor": [1.5, 3.0, 6.0]}
LONG = SIZES | {"original_max_position_embeddings": 16, "rope_scaling": {"type": "su", **LISTS}}
GROWING = SIZES | {"rope_scaling": {"type": "dynamic", "factor": 3.0}, "max_position_embeddings": 16}


def _theirs(config: dict[str, Any]) -> torch.nn.Module:
    scaling = config["rope_scaling"]
    kind = "longrope" if scaling["type"] == "su" else scaling["type"]
    given = {**config, "pad_token_id": 0, "rope_scaling": {**scaling, "type": kind, "rope_type": kind}}
    if kind == "dynamic":
        return LlamaRotaryEmbedding(LlamaConfig(**given))
    given["rope_scaling"]["original_max_position_embeddings"] = config["original_max_position_embeddings"]
    return Phi3RotaryEmbedding(Phi3Config(**given))


@pytest.mark.parametrize("config", [LONG, GROWING])
@pytest.mark.parametrize("length", [1, 16, 17, 40])
def test_angles_are_those_of_a_whole_pass(config: dict[str, Any], length: int) -> None:
    x, places = torch.zeros(1, length, 24), torch.arange(length)[None]
    own = Rotation(config)
    for mine, theirs in zip(own(x, places), _theirs(config)(x, places), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)


def test_a_part_turns_as_the_whole_does() -> None:
    own, x, places = Rotation(LONG), torch.zeros(1, 40, 24), torch.arange(40)[None]
    whole = own(x, places)
    own.length = 40
    assert torch.equal(own(x[:, :9], places[:, :9])[0], whole[0][:, :9])
    own.length = None
    assert not torch.equal(own(x[:, :9], places[:, :9])[0], whole[0][:, :9])


def test_lengths_on_both_sides_of_the_limit_are_not_alike() -> None:
    assert Rotation(LONG).alike([3, 16])
    assert Rotation(LONG).alike([17, 40])
    assert not Rotation(LONG).alike([16, 17])
    assert not Rotation(GROWING).alike([17, 40])
    assert Rotation(SIZES).alike([3, 4000])


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(LabError, match="rope_scaling of type ntk"):
        Rotation(SIZES | {"rope_scaling": {"type": "ntk"}})
    with pytest.raises(LabError, match="use_sliding_window"):
        window_of({"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True})
