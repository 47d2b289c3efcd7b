"""Memory of the host while a model is opened, of which bases of many cards have little; printed with `pytest -rP`."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from sa2va_lab.model import Sa2va, _places
from sa2va_lab.records import exact_json
from sa2va_lab.settings import read_json

TINY = Path(__file__).parents[2] / "tests" / "golden" / "sa2va-tiny-qwen2"
OPENS = """
import re, sys, torch
from pathlib import Path
from sa2va_lab.model import load_model
def size(field):
    return 1024 * int(re.search(field + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
load_model(Path(sys.argv[1]))
before = size("VmRSS")
model = load_model(Path(sys.argv[2]), getattr(torch, sys.argv[3]))
print(size("VmHWM") - before, sum(own.nbytes for own in (*model.parameters(), *model.buffers())))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells the size of a process")
@pytest.mark.parametrize(("frozen", "most"), [("float32", 0.1), ("bfloat16", 1.1)])
def test_opening_a_model_holds_its_weights_at_most_once(frozen: str, most: float, tmp_path: Path) -> None:
    config = read_json(TINY / "config.json")
    config["llm_config"] |= {"hidden_size": 512, "intermediate_size": 4096, "num_hidden_layers": 8, "vocab_size": 8192}
    model = Sa2va(config)
    named = {name: torch.cat([own for own, *_ in targets]) if len(targets) > 1 else targets[0][0].detach().clone()
             for name, targets in _places(model).items()}  # fmt: skip
    save_file({name: own.detach() for name, own in named.items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(exact_json(config, 1))
    words = [sys.executable, "-c", OPENS, str(TINY), str(tmp_path), frozen]
    peak, weights = map(int, subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())
    print(f"from float32 in {frozen}: {peak / weights:.2f} of the weights' {weights / 1e6:.0f} MB")
    assert weights > 1e8
    # Tensors of the file's type stay in the file; those of another are copied, and the file's pages given back.
    assert peak < most * weights
