"""Counted operations, compared with those of the matrices."""

import argparse
import runpy
from pathlib import Path
from typing import Any

from sa2va_lab.settings import read_json

ROOT = Path(__file__).parents[2]


def test_a_token_costs_its_matrices_and_a_recomputed_pass_one_forward_pass_more() -> None:
    step: Any = runpy.run_path(str(ROOT / "python" / "tools" / "forecast.py"))["Step"]
    config = read_json(ROOT / "public" / "pocket" / "model" / "config.json")
    sizes = {"tiles": 1, "groups": 2, "rollouts": 3, "tokens": 5, "rank": 4}
    kept, again = (step(config, argparse.Namespace(gradient_checkpointing=on, **sizes)).parts() for on in (False, True))
    language = config["llm_config"]
    wide, inner, heads = language["hidden_size"], language["intermediate_size"], language["num_attention_heads"]
    keys = wide // heads * language["num_key_value_heads"]
    pairs = [(wide, wide), (wide, keys), (wide, keys), (wide, wide), (wide, inner), (wide, inner), (inner, wide)]
    layers = language["num_hidden_layers"]
    matrices = layers * sum(a * b + 4 * (a + b) for a, b in pairs) + wide * language["vocab_size"]
    rows, slots = 6, (config["force_image_size"] // config["vision_config"]["patch_size"] // 2) ** 2 + 100 + 5
    attention = layers * 2 * wide * slots
    assert kept["token"]["flop"] == 2 * rows * (matrices + attention)
    assert kept["token"]["times"] == 10
    forward = 1 / 3
    assert 1 + 0.5 * forward < again["captions"]["flop"] / kept["captions"]["flop"] < 1 + 1.2 * forward * 1.5
    for name in ("picture", "prefill", "token"):
        assert again[name] == kept[name]
    assert all(part["launches"] > 0 and part["flop"] > 0 for part in kept.values())
